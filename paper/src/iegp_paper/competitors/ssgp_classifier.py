"""SSGP for two classes: the same memory, a probit likelihood, and a posterior that is optimised too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import ndtr

from iegp.typing import Float
from iegp_paper.competitors.base import Expected
from iegp_paper.competitors.base_classifier import ClassificationBaseline
from iegp_paper.competitors.positive import free_of_log, log_of_free
from iegp_paper.competitors.ssgp_base import StreamingSparse
from iegp_paper.competitors.streaming_bound import Hyper, Whitened, factor_of, latent, project, remembered, uncollapsed
from iegp_paper.competitors.torch_fit import differentiated, maximise


@dataclass(eq=False, repr=False, kw_only=True)
class SSGPClassifier(ClassificationBaseline, StreamingSparse):
    """Streaming sparse GP classification of Bui, Nguyen and Turner (2017): two classes, probit likelihood.

    Parameters are those of :class:`~iegp_paper.competitors.SSGP`, with ``batch_size=40`` and ``n_inducing=30`` (IE-GP
    paper); there the first 20 % of a stream were the initial model: pass them to ``warm_up``.
    """

    batch_size: int = 40
    n_inducing: int = 30

    def _absorb(self, points: Any, x: Any, y: Any) -> None:
        memory, jitter, log_noise = self._memory, self.jitter, self._hyper.log_noise
        below = np.tril_indices(len(points))

        def unpack(entries: Any) -> Any:
            factor = torch.zeros((len(points), len(points)), dtype=torch.float64)
            factor[below] = entries
            return factor

        def bound(points: Any, scales: Any, signal: Any, mean: Any, entries: Any) -> Any:
            hyper = Hyper(log_of_free(scales), log_of_free(signal), log_noise)
            return uncollapsed(points, hyper, mean, unpack(entries), x, y, memory, jitter)

        mean, entries = self._begin_posterior(points, below)
        free = [free_of_log(self._hyper.log_scales), free_of_log(self._hyper.log_signal)]
        moves = [self.optimise_points, True, True, True, True]
        if self.n_steps == 0:
            # Without hyperparameters to move there is still a posterior to find.
            moves[:3] = [False, False, False]
        begin = [points, *free, mean, entries]
        points, scales, signal, mean, entries = maximise(differentiated(bound), begin, moves, self.n_steps or 1000)
        self._hyper = Hyper(log_of_free(scales), log_of_free(signal), log_noise)
        factor = unpack(entries)
        self._posterior = Whitened(points, factor_of(points, self._hyper, jitter), mean, factor)
        self._memory = remembered(self._posterior, factor @ (factor.T @ mean))

    def _begin_posterior(self, points: Any, below: Any) -> tuple[Any, Any]:
        """Start the optimiser at the posterior of the new inducing variables given the memory alone."""
        factor, mean = torch.eye(len(points), dtype=torch.float64), torch.zeros(len(points), dtype=torch.float64)
        if self._memory is not None:
            old = project(factor_of(points, self._hyper, self.jitter), points, self._memory.points, self._hyper)
            precision = factor + old @ self._memory.precision @ old.T
            known, failed = torch.linalg.cholesky_ex(precision)
            if not failed:
                factor, mean = known, torch.cholesky_solve((old @ self._memory.shift)[:, None], known)[:, 0]
        return mean, factor[below]

    def _expect(self, x: Float) -> Expected:
        weights = np.ones((len(x), 1))
        if self._posterior is None:
            return Expected(np.full(len(x), 0.5), np.full(len(x), np.nan), weights)
        mean, variance = (part.numpy() for part in latent(self._posterior, self._hyper, torch.tensor(x)))
        return Expected(np.asarray(ndtr(mean / np.sqrt(1.0 + variance))), np.full(len(x), np.nan), weights)
