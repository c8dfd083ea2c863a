"""What a test-then-train pass returns: for every row, the prediction made before its label was used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from iegp.core.state import Trace
from iegp.evaluate.metrics import coverage, nmse, pnll
from iegp.typing import Float

LEVEL = 0.95


@dataclass(frozen=True, repr=False)
class PrequentialRun:
    """One entry per row, in the units of the target.

    ``mean``, ``std``, ``lower`` and ``upper`` (ends of the central interval, 95 % unless another ``level`` was asked
    for) have the shape of y; ``log_score`` (n,) is the log predictive density of the label, summed over outputs;
    ``weights`` (n, n_experts) are those used for the prediction of that row; ``y`` are the labels.

    ``nmse``, ``pnll`` and ``coverage`` sum the run up. They leave out ``n_blind`` rows at its start: the very first row
    of a fresh model is predicted before anything is known, not even the units of y.
    """

    mean: Float
    std: Float
    lower: Float
    upper: Float
    log_score: Float
    weights: Float
    y: Float
    level: float = LEVEL
    n_blind: int = 0

    @classmethod
    def concatenate(cls, runs: Sequence[PrequentialRun]) -> PrequentialRun:
        """One run out of consecutive ones, such as those of a live loop."""
        names = [field.name for field in fields(cls) if field.name not in ("level", "n_blind")]
        arrays = {name: np.concatenate([getattr(run, name) for run in runs]) for name in names}
        return cls(**arrays, level=runs[0].level, n_blind=runs[0].n_blind)

    def __len__(self) -> int:
        return len(self.log_score)

    @property
    def nmse(self) -> float:
        """Mean squared error over the variance of y."""
        return nmse(self.y[self.n_blind :], self.mean[self.n_blind :])

    @property
    def pnll(self) -> float:
        """Mean predictive negative log-likelihood."""
        return pnll(self.log_score[self.n_blind :])

    @property
    def coverage(self) -> float:
        """Share of labels inside the interval."""
        rows = slice(self.n_blind, None)
        return coverage(self.y[rows], self.lower[rows], self.upper[rows])

    def __repr__(self) -> str:
        count = f"{len(self)} row" + ("" if len(self) == 1 else "s")
        if len(self) <= self.n_blind:
            return f"PrequentialRun({count}, predicted before anything was known)"
        parts = [f"mean log score {-self.pnll:.4g}", f"{100 * self.level:g} % coverage {100 * self.coverage:.1f} %"]
        if np.isnan(self.log_score[self.n_blind :]).all():
            parts = ["no uncertainty"]
        # One label, or labels all alike, have no variance to compare with.
        if np.ptp(self.y[self.n_blind :], axis=0).min() > 0.0:
            parts.insert(0, f"nMSE {self.nmse:.4g}")
        return f"PrequentialRun({count}: {', '.join(parts)})"


def from_trace(trace: Trace, y: Float, single_output: bool, level: float, n_blind: int) -> PrequentialRun:
    """A run out of the core's trace, outputs in the shape the caller gave them."""
    mean, std, lower, upper = trace.mean, trace.std, trace.lower, trace.upper
    if single_output:
        mean, std, lower, upper, y = (part[:, 0] for part in (mean, std, lower, upper, y))
    # The caller's y may be a buffer that is about to be overwritten.
    return PrequentialRun(mean, std, lower, upper, trace.log_score, trace.weights, y.copy(), level, n_blind)
