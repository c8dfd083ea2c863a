"""What a pass over rows gives: every row's prediction, made before its label was used, and its score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.likelihoods import GAUSSIAN
from iegp.core.scaling import Scaling
from iegp.core.state import Ensemble
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
    discrete (counts, ordered classes). No rows for unordered classes, and for numbers and counts without a level."""
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


def allocate_predictions(ensemble: Ensemble, n: int) -> Predictions:
    """Arrays for the predictions of n rows; intervals, and the pit of numbers and counts, have no rows yet."""
    n_classes = ensemble.n_classes
    n_outputs = 0 if n_classes else ensemble.noise_var.shape[1]
    none = np.empty((0, n_outputs))
    return Predictions(
        mean=np.empty((n, n_outputs)),
        std=np.empty((n, n_outputs)),
        lower=none,
        upper=none,
        pit=np.empty((n if ensemble.is_ordinal else 0, n_outputs or 1)),
        proba=np.empty((n, n_classes)),
        log_score=np.empty(n),
        weights=np.empty((n, ensemble.n_experts)),
    )


@compiled
def allocate_like(predictions: Predictions, n: int) -> Predictions:
    """Arrays for n of as many rows, or fewer; what has no rows stays without."""
    return Predictions(
        predictions.mean[:n].copy(),
        predictions.std[:n].copy(),
        predictions.lower[:n].copy(),
        predictions.upper[:n].copy(),
        predictions.pit[:n].copy(),
        predictions.proba[:n].copy(),
        predictions.log_score[:n].copy(),
        predictions.weights[:n].copy(),
    )


@compiled
def some_rows(predictions: Predictions, begin: int, stop: int) -> Predictions:
    """Rows ``begin`` to ``stop`` as views; what has no rows stays without."""
    return Predictions(
        predictions.mean[begin:stop],
        predictions.std[begin:stop],
        predictions.lower[begin:stop],
        predictions.upper[begin:stop],
        predictions.pit[begin:stop],
        predictions.proba[begin:stop],
        predictions.log_score[begin:stop],
        predictions.weights[begin:stop],
    )


def in_user_units(predictions: Predictions, ensemble: Ensemble, scaling: Scaling) -> Predictions:
    """Predictions of standardised labels in the units of y; classes and counts have no other units."""
    if ensemble.likelihood != GAUSSIAN:
        return predictions
    return predictions._replace(
        mean=scaling.y_mean + scaling.y_scale * predictions.mean,
        std=scaling.y_scale * predictions.std,
        lower=scaling.y_mean + scaling.y_scale * predictions.lower,
        upper=scaling.y_mean + scaling.y_scale * predictions.upper,
        log_score=predictions.log_score - np.log(scaling.y_scale).sum(),
    )
