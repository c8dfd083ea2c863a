"""What a stream run answers: predictions of consecutive rows, the currency between runner, output files and report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from iegp.typing import Float, Int


@dataclass(frozen=True)
class Answers:
    """Predictions of consecutive rows, each made before its label was used; (n,) unless said otherwise."""

    row: Int
    """Number of the row in the stream, from 0."""
    label: NDArray[Any]
    """float64 with NaN = not known yet for numbers; object with None = not known yet for classes."""
    log_score: Float
    """NaN where the label is not known."""
    mean: Float | None = None
    std: Float | None = None
    lower: Float | None = None
    upper: Float | None = None
    pit: Float | None = None
    """P(y' <= y) under the prediction, NaN where the label is not known; regression only."""
    proba: Float | None = None
    """(n, K), for classes."""
    classes: tuple[Any, ...] = ()
    """K labels in the order of ``proba``."""
    weights: Float | None = None
    """(n, n_experts), those used for the prediction."""

    def __len__(self) -> int:
        return len(self.row)
