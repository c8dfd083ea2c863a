"""What a pass over rows gives: every row's prediction, made before its label was used, and its score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from iegp.typing import Float


class Predictions(NamedTuple):
    """Predictions of n consecutive rows, from the compiled core to the report.

    Everything is an array, so that compiled code can fill it. What does not apply has no columns (``proba`` of numbers,
    ``mean`` of classes); what was not asked for has no rows (intervals without a level).
    """

    mean: Float
    """(n, D): predictive mean of each output, or of the count; (n, 0) for classes."""
    std: Float
    """(n, D): standard deviation of the label, observation noise included; (n, 0) for classes."""
    lower: Float
    """(n, D): lower end of the central interval; no rows if no level was given, or for classes."""
    upper: Float
    """(n, D): upper end of the central interval."""
    pit: Float
    """(n, D): predicted probability of a smaller label, half of the label's own probability added where labels are
    discrete (counts, ordered classes); no rows if no level was given, or for unordered classes."""
    proba: Float
    """(n, K): class probabilities; (n, 0) for numbers and counts."""
    log_score: Float
    """(n,): log predictive density or probability of the label, summed over outputs."""
    weights: Float
    """(n, n_experts): weights of the experts in the prediction of that row."""

    @property
    def n_rows(self) -> int:
        """Number of rows (``len`` is the number of fields)."""
        return len(self.log_score)

    @classmethod
    def concatenate(cls, parts: Sequence[Predictions]) -> Predictions:
        """Join predictions of consecutive rows.

        Parameters
        ----------
        parts : sequence of Predictions
            At least one, all of the same kind.
        """
        if len(parts) == 1:
            return parts[0]
        return cls(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
