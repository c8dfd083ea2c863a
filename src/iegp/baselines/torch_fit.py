"""Maximising a PyTorch objective over several tensors with SciPy's L-BFGS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize

from iegp.typing import Float

# What the optimiser is told where a covariance is numerically singular: step back.
_TOO_BAD = 1e25


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Matrices of a few hundred rows: a second thread makes them several times slower."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def maximise(objective: Callable[..., Any], begin: Sequence[Any], moves: Sequence[bool], n_steps: int) -> list[Any]:
    """The tensors, one for each of ``begin``, at which ``objective(*tensors)`` is largest.

    The i-th tensor stays where it begins unless ``moves[i]``. At most ``n_steps`` steps.
    """
    sizes = [tensor.numel() for tensor in begin]
    start = np.concatenate([tensor.detach().numpy().ravel() for tensor in begin])
    reach = np.repeat(np.where(moves, np.inf, 0.0), sizes)

    def unpack(flat: Float) -> list[Any]:
        parts = np.split(flat, np.cumsum(sizes)[:-1])
        return [torch.tensor(part.reshape(tuple(t.shape))) for part, t in zip(parts, begin, strict=True)]

    def value_and_gradient(flat: Float) -> tuple[float, Float]:
        tensors = [tensor.requires_grad_() for tensor in unpack(flat)]
        try:
            loss = -objective(*tensors)
        except torch.linalg.LinAlgError:
            return _TOO_BAD, np.zeros(len(flat))
        if not torch.isfinite(loss):
            return _TOO_BAD, np.zeros(len(flat))
        gradients = torch.autograd.grad(loss, tensors, allow_unused=True)
        parts = [
            np.zeros(size) if own is None else own.numpy().ravel() for own, size in zip(gradients, sizes, strict=True)
        ]
        return float(loss.detach()), np.concatenate(parts)

    limits = list(zip(start - reach, start + reach, strict=True))
    with one_torch_thread():
        found = minimize(
            value_and_gradient, start, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": n_steps}
        )
    return unpack(found.x)
