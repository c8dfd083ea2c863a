"""Base class of both streaming sparse GPs: batches, inducing points, and when a batch is learned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from iegp.core.compute.threads import one_blas_thread
from iegp.errors import InputError
from iegp.typing import Float
from iegp_paper.competitors import rows
from iegp_paper.competitors.base import Baseline, Expected
from iegp_paper.competitors.streaming_bound import Hyper, Memory, Whitened
from iegp_paper.competitors.torch_fit import one_torch_thread

# Where hyperparameters begin: length scale sqrt(d), signal 1, noise 0.1.
START_NOISE = 0.1


@dataclass(eq=False, repr=False, kw_only=True)
class StreamingSparse(Baseline):
    """Learns in batches; every row of a batch is predicted by the model before the batch."""

    batch_size: int = 300
    n_inducing: int = 100
    n_steps: int = 100
    optimise_points: bool = True
    keep_share: float = 1.0
    jitter: float = 1e-6
    keep_warmup: bool = True  # the warm-up is learned as the first batch
    random_state: int | None = None

    _hyper: Hyper = field(init=False)
    _memory: Memory | None = field(init=False)
    _posterior: Whitened | None = field(init=False)
    _rng: np.random.Generator = field(init=False)
    _batch_x: Float = field(init=False)
    _batch_y: Float = field(init=False)

    def _start(self, x: Float, y: Float) -> None:
        rows.whole(self.batch_size, "batch_size")
        rows.whole(self.n_inducing, "n_inducing")
        rows.whole(self.n_steps, "n_steps", 0)
        self._rng = np.random.default_rng(rows.seed_of(self.random_state))
        n_columns = x.shape[1]
        scales = torch.full((n_columns,), 0.5 * np.log(n_columns), dtype=torch.float64)
        start = torch.tensor([0.0, np.log(START_NOISE)], dtype=torch.float64)
        self._hyper = Hyper(scales, start[0], start[1])
        self._memory = self._posterior = None
        self._batch_x, self._batch_y = x[:0], y[:0]
        if len(x):
            self._learn_batch(x, y)
        if not self.keep_warmup:
            self._memory = self._posterior = None

    def _step(self, x: Float, y: Float) -> Expected:
        seen = []
        while len(x):
            free = self.batch_size - len(self._batch_x)
            seen.append(self._expect(x[:free]))
            self._batch_x = np.concatenate([self._batch_x, x[:free]])
            self._batch_y = np.concatenate([self._batch_y, y[:free]])
            if len(self._batch_x) == self.batch_size:
                batch_x, batch_y = self._batch_x, self._batch_y
                # Removed before it is learned: a batch that cannot be learned must not be tried again.
                self._batch_x, self._batch_y = batch_x[:0], batch_y[:0]
                self._learn_batch(batch_x, batch_y)
            x, y = x[free:], y[free:]
        if not seen:
            return self._expect(x)
        return Expected(*(np.concatenate(parts) for parts in zip(*seen, strict=True)))

    def _learn_batch(self, x: Float, y: Float) -> None:
        try:
            with one_blas_thread(), one_torch_thread():
                self._absorb(torch.tensor(self._inducing(x)), torch.tensor(x), torch.tensor(y))
        except torch.linalg.LinAlgError as error:
            raise InputError(
                f"a batch of {len(x)} rows cannot be learned, its matrices have no factors: labels or columns that are "
                f"far from all others (largest label {np.abs(y).max():.3g} standard deviations), or too little jitter. "
                "The batch is left out"
            ) from error

    def _absorb(self, points: Any, x: Any, y: Any) -> None:
        raise NotImplementedError

    def _inducing(self, x: Float) -> Float:
        """Choose initial inducing points: some of the old ones and some rows of the batch, as in the authors' code."""
        n_old = 0
        chosen = np.zeros((0, x.shape[1]))
        if self._memory is not None:
            old = self._memory.points.numpy()
            n_old = min(len(old), max(round(self.keep_share * self.n_inducing), self.n_inducing - len(x)))
            chosen = old[self._rng.permutation(len(old))[:n_old]]
        fresh = x[self._rng.permutation(len(x))[: self.n_inducing - n_old]]
        return np.concatenate([chosen, fresh])
