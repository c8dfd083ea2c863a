"""Maximising a PyTorch objective over several tensors with SciPy's L-BFGS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize

from iegp.typing import Float

# Value for the optimiser where a covariance is numerically singular, so that it steps back.
_TOO_BAD = 1e25


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Limit PyTorch to one thread: a second one makes matrices of a few hundred rows several times slower."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def differentiated(objective: Callable[..., Any]) -> Callable[..., tuple[Any, Sequence[Any]]]:
    """``objective(*tensors)`` together with its gradient in every tensor."""

    def value_and_gradients(*tensors: Any) -> tuple[Any, Sequence[Any]]:
        leaves = [tensor.requires_grad_() for tensor in tensors]
        value = objective(*leaves)
        gradients = torch.autograd.grad(value, leaves, allow_unused=True)
        return value.detach(), [torch.zeros_like(t) if g is None else g for t, g in zip(leaves, gradients, strict=True)]

    return value_and_gradients


def maximise(
    objective: Callable[..., tuple[Any, Sequence[Any]]], begin: Sequence[Any], moves: Sequence[bool], n_steps: int
) -> list[Any]:
    """The tensors, one for each of ``begin``, at which the value of ``objective(*tensors)`` is largest.

    ``objective`` returns value and gradients. The i-th tensor stays where it begins unless ``moves[i]``. At most
    ``n_steps`` steps.
    """
    sizes = [tensor.numel() for tensor in begin]
    start = np.concatenate([tensor.detach().numpy().ravel() for tensor in begin])
    reach = np.repeat(np.where(moves, np.inf, 0.0), sizes)

    def unpack(flat: Float) -> list[Any]:
        parts = np.split(flat, np.cumsum(sizes)[:-1])
        return [torch.tensor(part.reshape(tuple(t.shape))) for part, t in zip(parts, begin, strict=True)]

    def loss_and_gradient(flat: Float) -> tuple[float, Float]:
        try:
            value, gradients = objective(*unpack(flat))
        except torch.linalg.LinAlgError:
            return _TOO_BAD, np.zeros(len(flat))
        if not torch.isfinite(value):
            return _TOO_BAD, np.zeros(len(flat))
        return -float(value), -np.concatenate([own.numpy().ravel() for own in gradients])

    limits = list(zip(start - reach, start + reach, strict=True))
    with one_torch_thread():
        found = minimize(
            loss_and_gradient, start, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": n_steps}
        )
    return unpack(found.x)
