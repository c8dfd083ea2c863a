"""Growth of regret with the number of rows, judged from the mean over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from iegp.typing import Float


def growth(sizes: Sequence[float], regret: ArrayLike) -> Float:
    """Compute how much faster than log T regret (..., k) grew over the last three of k - 1 doublings of T.

    1 is log T, about 2 the square root of T, about 5.5 T. Regret that ends at or below zero has not grown: 0.
    """
    values = np.asarray(regret, dtype=np.float64)
    begin, end = values[..., -4], values[..., -1]
    expected = np.log(sizes[-1]) / np.log(sizes[-4])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(begin > 0.0, end / begin / expected, np.inf)
    return np.where(end <= 0.0, 0.0, ratio)


def left(regret: ArrayLike) -> Float:
    """Compute the last value of a curve (..., k) over its largest."""
    values = np.asarray(regret, dtype=np.float64)
    return np.asarray(values[..., -1] / values.max(axis=-1))
