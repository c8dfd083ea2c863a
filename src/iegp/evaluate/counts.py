"""Score of predicted counts from plain arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import kl_div

from iegp.errors import InputError
from iegp.typing import Float


def poisson_deviance(y: ArrayLike, mean: ArrayLike) -> float:
    """Compute the mean unit deviance ``2 (y log(y / mean) - y + mean)`` of counts. O(n).

    Parameters
    ----------
    y : array-like (n,)
        Counts, not negative. A row with y = 0 adds ``2 mean``.
    mean : array-like (n,)
        Predicted means, not negative. A mean of 0 for a count above 0 makes the score ``inf``.

    Returns
    -------
    float
        Mean deviance; 0 if every mean equals its count.

    Examples
    --------
    >>> round(poisson_deviance([0, 2], [0.5, 1.0]), 4)
    0.8863
    """
    counts, means = _nonnegative(y, "y"), _nonnegative(mean, "mean")
    if counts.shape != means.shape:
        raise InputError(f"y has shape {counts.shape} but mean has shape {means.shape}. Give both the same shape.")
    return float(2.0 * np.mean(kl_div(counts, means)))


def _nonnegative(values: ArrayLike, name: str) -> Float:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} has shape {array.shape}. Pass at least one row, as (n,).")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0.0)))
    if len(bad):
        row = int(bad[0])
        raise InputError(f"{name}[{row}] is {array[row]}. Counts and their means are finite and at least 0.")
    return array
