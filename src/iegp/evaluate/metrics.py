"""Scores of a run, from plain arrays: how far off, how surprised, how honest.

``y`` and predictions have shape (n,), or (n, D) for D outputs, which are scored separately and averaged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from iegp.errors import InputError
from iegp.typing import Float


def nmse(y: ArrayLike, mean: ArrayLike) -> float:
    """Mean squared error over the variance of ``y``, averaged over outputs; predicting the mean of ``y`` scores 1.

    A constant ``y`` has no variance to compare with: the score is then 0 if every prediction is exact and ``inf``
    otherwise. O(n).

    >>> round(nmse([1.0, 2.0, 3.0], [1.0, 2.0, 4.0]), 6)
    0.5
    >>> nmse([5.0, 5.0], [5.0, 5.1])
    inf
    """
    truth, predicted = _alike(y, mean, "mean")
    return float(np.mean(_over_variance(np.mean((truth - predicted) ** 2, axis=0), truth)))


def running_nmse(y: ArrayLike, mean: ArrayLike) -> Float:
    """The paper's nMSE_t after every row, shape (n,): mean squared error so far over the variance of *all* of ``y``.

    Its last entry is :func:`nmse`. O(n).

    >>> running_nmse([1.0, 2.0, 3.0], [2.0, 2.0, 3.0]).round(6)
    array([1.5 , 0.75, 0.5 ])
    """
    truth, predicted = _alike(y, mean, "mean")
    rows = np.arange(1, len(truth) + 1)[:, None]
    so_far = np.cumsum((truth - predicted) ** 2, axis=0) / rows
    averaged: Float = np.mean(_over_variance(so_far, truth), axis=1)
    return averaged


def pnll(log_score: ArrayLike) -> float:
    """Mean negative log predictive density (the paper's pnLL) of log scores (n,); smaller is better.

    >>> pnll([-1.0, -2.0])
    1.5
    """
    return -_mean_of(log_score, "log_score")


def mean_crps(crps: ArrayLike) -> float:
    """Mean of continuous ranked probability scores, (n,) or (n, D), as ``dist.crps(y)`` gives them; smaller is better.

    >>> mean_crps([0.25, 0.75])
    0.5
    """
    return _mean_of(crps, "crps")


def coverage(y: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> float:
    """Share of the rows that fall inside their interval, ends included, averaged over outputs.

    Honest 95 % intervals score close to 0.95.

    >>> coverage([0.0, 1.0, 2.0, 9.0], [-1.0, 0.0, 2.0, 3.0], [1.0, 2.0, 3.0, 5.0])
    0.75
    """
    truth, low = _alike(y, lower, "lower")
    _, high = _alike(y, upper, "upper")
    return float(np.mean((low <= truth) & (truth <= high)))


def pit_histogram(pit: ArrayLike, bins: int = 10) -> Float:
    """Histogram of the probability integral transform ``dist.cdf(y)``, as a density: shape (bins,).

    All ones if the predictions are honest; high ends mean intervals too narrow, a hump in the middle too wide, a slope
    a bias. With n values each entry scatters by about ``sqrt(bins / n)``.

    >>> pit_histogram([0.1, 0.4, 0.6, 0.7], bins=2)
    array([1., 1.])
    """
    values = np.asarray(pit, dtype=np.float64).ravel()
    if bins < 1:
        raise InputError(f"bins={bins} leaves no histogram. Pass a positive number of bins.")
    if values.size == 0 or not np.all((values >= 0.0) & (values <= 1.0)):
        raise InputError("pit must hold probabilities between 0 and 1, at least one. Pass dist.cdf(y).")
    counts, _ = np.histogram(values, bins=bins, range=(0.0, 1.0))
    return np.asarray(counts * (bins / values.size), dtype=np.float64)


def _alike(y: ArrayLike, other: ArrayLike, name: str) -> tuple[Float, Float]:
    """Both as (n, D) arrays of the same shape."""
    truth, values = np.asarray(y, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if truth.shape != values.shape:
        # Broadcasting (n,) against (n, 1) would silently score n² pairs.
        raise InputError(f"y has shape {truth.shape} but {name} has shape {values.shape}. Give both the same shape.")
    if truth.ndim not in (1, 2) or truth.size == 0:
        raise InputError(f"y has shape {truth.shape}. Pass at least one row, as (n,) or (n, outputs).")
    return truth.reshape(len(truth), -1), values.reshape(len(truth), -1)


def _over_variance(error: Float, truth: Float) -> Float:
    """Squared errors (..., D) over the variance of each column of ``truth`` (n, D)."""
    # The computed variance of a constant is rounding noise: ask for the range instead.
    constant = np.ptp(truth, axis=0) == 0.0
    ratio = error / np.where(constant, 1.0, np.var(truth, axis=0))
    return np.where(constant, np.where(error > 0.0, np.inf, error), ratio)


def _mean_of(scores: ArrayLike, name: str) -> float:
    values = np.asarray(scores, dtype=np.float64)
    if values.size == 0:
        raise InputError(f"{name} is empty, so it has no mean. Score at least one row.")
    return float(np.mean(values))
