"""Rows of a fit whose order is no order of time: which rows that are predicted lie among them, not after them.

The rows of a stream come in order of time, and after a fit later ones are predicted. But rows of a table may have been
sorted, by their class or by an input such as a grid of points. Then the last labels say nothing of the next row, and
errors of later rows say little of rows between those that were learned. Experts that neither drift nor see lags predict
such rows: they have learned the same whatever the order was.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp.core.compute.tolerances import FARTHEST_INPUT, LEAST_SORTED_SHARE
from iegp.core.likelihoods import GAUSSIAN
from iegp.core.state import Ensemble
from iegp.typing import Bool, Float, Int


class PastRows(NamedTuple):
    """Which rows lie among those of the fit, and the weights and noise levels that predict them."""

    low: Float
    """(d,): the range of each column, standardised; of columns that do not tell, all numbers."""
    high: Float
    noise_scale: Float
    log_weights: Float

    def among(self, x: Float) -> Bool:
        """(n,): whether standardised rows ``x`` (n, d) lie among those of the fit."""
        return np.asarray(np.all((x >= self.low) & (x <= self.high), axis=1))


def sorted_ranges(ensemble: Ensemble, x: Float, y: Float) -> tuple[Float, Float] | None:
    """Least and largest values (d,) of the rows among those of a fit; None if its rows may be in order of time.

    A column that grows, or falls, from every row to the next tells by its value whether a row comes after the last one.
    If rows are sorted by their class, every row counts as one among them.
    """
    steps = np.diff(x, axis=0)
    is_sorted = np.all(steps > 0.0, axis=0) | np.all(steps < 0.0, axis=0)
    has_classes = ensemble.likelihood != GAUSSIAN and y.shape[1] == 1
    if ensemble.likelihood != GAUSSIAN and not has_classes:
        return None
    if has_classes and _are_sorted(y[:, 0]):
        is_sorted[:] = False
    elif not is_sorted.any():
        return None
    low, high = np.full(x.shape[1], -FARTHEST_INPUT), np.full(x.shape[1], FARTHEST_INPUT)
    low[is_sorted], high[is_sorted] = x[:, is_sorted].min(axis=0), x[:, is_sorted].max(axis=0)
    return low, high


def _are_sorted(labels: Float) -> bool:
    """Whether rows of each class follow one another, and are not just a few, as where a class has only just begun."""
    counts = np.unique(labels, return_counts=True)[1]
    n_runs = 1 + np.count_nonzero(np.diff(labels))
    least = LEAST_SORTED_SHARE * len(labels) / len(counts)
    return len(counts) > 1 and n_runs == len(counts) and bool(counts.min() >= least)


def spread_order(n: int) -> Int:
    """(n,): the rows in an order in which any that follow one another are spread evenly over all of them."""
    golden = 0.5 * (math.sqrt(5.0) - 1.0)
    return np.argsort(np.arange(n) * golden % 1.0, kind="stable")
