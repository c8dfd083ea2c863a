"""What a test-then-train pass returns: for every row, the prediction made before its label was used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from iegp.core.ensemble import Trace
from iegp.evaluate.metrics import coverage, nmse, pnll
from iegp.typing import Float

LEVEL = 0.95


@dataclass(frozen=True, repr=False)
class PrequentialRun:
    """One entry per row, in the units of the target.

    ``mean``, ``std``, ``lower`` and ``upper`` (ends of the central 95 % interval) have the shape of y; ``log_score``
    (n,) is the log predictive density of the label, summed over outputs; ``weights`` (n, n_experts) are those used
    for the prediction of that row.
    """

    mean: Float
    std: Float
    lower: Float
    upper: Float
    log_score: Float
    weights: Float
    y: Float

    @classmethod
    def concatenate(cls, runs: Sequence[PrequentialRun]) -> PrequentialRun:
        """One run out of consecutive ones."""
        return cls(*(np.concatenate([getattr(run, field.name) for run in runs]) for field in fields(cls)))

    def __len__(self) -> int:
        return len(self.log_score)

    @property
    def nmse(self) -> float:
        """Mean squared error over the variance of y."""
        return nmse(self.y, self.mean)

    @property
    def pnll(self) -> float:
        """Mean predictive negative log-likelihood."""
        return pnll(self.log_score)

    @property
    def coverage(self) -> float:
        """Share of labels inside the 95 % interval."""
        return coverage(self.y, self.lower, self.upper)

    def __repr__(self) -> str:
        return (
            f"PrequentialRun({len(self)} rows: nMSE {self.nmse:.4g}, mean log score {-self.pnll:.4g}, "
            f"95 % coverage {100 * self.coverage:.1f} %)"
        )


def from_trace(trace: Trace, y: Float, single_output: bool) -> PrequentialRun:
    """A run out of the core's trace, outputs in the shape the caller gave them."""
    mean, std, lower, upper = trace.mean, trace.std, trace.lower, trace.upper
    if single_output:
        mean, std, lower, upper, y = (part[:, 0] for part in (mean, std, lower, upper, y))
    # The caller's y may be a buffer that is about to be overwritten.
    return PrequentialRun(mean, std, lower, upper, trace.log_score, trace.weights, y.copy())
