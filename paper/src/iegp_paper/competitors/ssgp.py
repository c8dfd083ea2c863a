"""SSGP for regression: a sparse variational GP that learns batch by batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from iegp.typing import Float
from iegp_paper.competitors.base import Expected, RegressionBaseline
from iegp_paper.competitors.positive import free_of_log, log_of_free, slope_of_log
from iegp_paper.competitors.ssgp_base import StreamingSparse
from iegp_paper.competitors.streaming_bound import Hyper, collapsed, latent, remembered
from iegp_paper.competitors.streaming_gradient import collapsed_with_gradient
from iegp_paper.competitors.torch_fit import maximise


@dataclass(eq=False, repr=False, kw_only=True)
class SSGP(RegressionBaseline, StreamingSparse):
    """Streaming sparse GP regression of Bui, Nguyen and Turner (2017).

    A variational GP with inducing points. With each batch the old posterior replaces the prior, and inducing
    inputs, ARD length scales, signal and noise variance are optimised again on the collapsed bound. All rows of a batch
    are predicted before any of them is learned. A batch of n rows costs O((n + M) M²) for every step of the optimiser.

    Parameters
    ----------
    batch_size : int, default=300
        Rows learned at once (IE-GP paper, after the original work).
    n_inducing : int, default=100
        Inducing points M (IE-GP paper, after the original work).
    n_steps : int, default=100
        Steps of L-BFGS per batch.
    optimise_points : bool, default=True
        Whether inducing inputs move too.
    keep_share : float, default=1.0
        Share of the inducing points that a batch takes over to begin with; the rest are rows of the batch. The
        authors' code has both 1 and 0.7; a point that is dropped takes with it what was learned there.
    jitter : float, default=1e-6
        Added to the diagonal of the covariance of inducing variables, relative to the signal variance.
    warmup : int, default=1000
        Rows that set the scaling and are learned as the first batch: the initial model of the IE-GP paper.
    standardize : bool, default=True
        Whether columns and targets are brought to mean 0 and variance 1 by the warm-up rows.
    keep_warmup : bool, default=True
        Whether the posterior of the warm-up rows is kept; without it only their hyperparameters are.
    random_state : int or None
        Which rows become inducing points.
    """

    def _absorb(self, points: Any, x: Any, y: Any) -> None:
        memory, jitter = self._memory, self.jitter

        def bound(points: Any, *free: Any) -> tuple[Any, list[Any]]:
            hyper = Hyper(*map(log_of_free, free))
            value, d_points, d_logs = collapsed_with_gradient(points, hyper, x, y, memory, jitter)
            return value, [d_points, *(d * slope_of_log(own) for d, own in zip(d_logs, free, strict=True))]

        if self.n_steps:
            begin = [points, *map(free_of_log, self._hyper)]
            moves = [self.optimise_points, True, True, True]
            points, *free = maximise(bound, begin, moves, self.n_steps)
            self._hyper = Hyper(*map(log_of_free, free))
        _, self._posterior, shift = collapsed(points, self._hyper, x, y, memory, jitter)
        self._memory = remembered(self._posterior, shift)

    def _expect(self, x: Float) -> Expected:
        signal, noise = float(torch.exp(self._hyper.log_signal)), float(torch.exp(self._hyper.log_noise))
        weights = np.ones((len(x), 1))
        if self._posterior is None:
            return Expected(np.zeros(len(x)), np.full(len(x), signal + noise), weights)
        mean, variance = latent(self._posterior, self._hyper, torch.tensor(x))
        return Expected(mean.numpy(), variance.numpy() + noise, weights)
