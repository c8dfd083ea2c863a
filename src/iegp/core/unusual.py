"""Rows far from what the others lead one to expect, which are left out where numbers are fitted, if they are few."""

from __future__ import annotations

import numpy as np

from iegp.core.compute.tolerances import LARGEST_SQUARE, MEDIAN_SQUARE, MOST_UNUSUAL
from iegp.typing import Bool, Float, Int


def are_few(n_unusual: Int, n_rows: int, most: float = MOST_UNUSUAL) -> Bool:
    """Whether so many of the rows, or of those of each column, are at most this share of them: one always is.

    >>> are_few(np.array([0, 1, 2]), 40).tolist(), are_few(np.array([20, 21]), 1000).tolist()
    ([True, True, False], [True, False])
    """
    return np.asarray(n_unusual <= max(1.0, most * n_rows))


def usual_rows(errors: Float, variances: Float, limit: float, most: float = MOST_UNUSUAL) -> Bool:
    """(n,): rows whose labels some belief predicts within so many robust standard deviations of its errors.

    ``errors`` (beliefs, n, D) and ``variances`` (beliefs, n) are those of the predictions. All rows, if others are more
    than a few.
    """
    squares = np.minimum(errors**2 / variances[:, :, None], LARGEST_SQUARE)
    typical = np.median(squares, axis=1, keepdims=True) / MEDIAN_SQUARE
    usual = np.any(np.all(squares <= limit**2 * typical, axis=2), axis=0)
    return usual if are_few((~usual).sum(), len(usual), most) else np.ones(len(usual), dtype=bool)
