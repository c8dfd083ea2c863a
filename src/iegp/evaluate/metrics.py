"""Scores of a run from plain arrays: error, log score, coverage and calibration.

``y`` and predictions have shape (n,), or (n, D) for D outputs, which are scored separately and averaged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import kl_div, ndtr

from iegp._docstrings import entries, fill_docstrings
from iegp.errors import InputError
from iegp.typing import Float

DOCS = entries("""
y, mean : array-like (n,) or (n, D)
    Labels and predicted means.
""")


@fill_docstrings(DOCS)
def nmse(y: ArrayLike, mean: ArrayLike) -> float:
    """Compute the mean squared error over the variance of ``y``, averaged over outputs. O(n).

    Predicting the mean of ``y`` scores 1.

    {parameters}

    Returns
    -------
    float
        Normalised error, at least 0. A constant ``y`` has no variance: the score is then 0 if every prediction is exact
        and ``inf`` otherwise.

    Examples
    --------
    >>> round(nmse([1.0, 2.0, 3.0], [1.0, 2.0, 4.0]), 6)
    0.5
    >>> nmse([5.0, 5.0], [5.0, 5.1])
    inf
    """
    truth, predicted = _alike(y, mean, "mean")
    return float(np.mean(_over_variance(np.mean((truth - predicted) ** 2, axis=0), truth)))


@fill_docstrings(DOCS)
def running_nmse(y: ArrayLike, mean: ArrayLike) -> Float:
    """Compute the paper's nMSE_t after every row. O(n).

    It is the mean squared error of the rows so far over the variance of *all* of ``y``.

    {parameters}

    Returns
    -------
    ndarray (n,)
        Score after every row; the last entry is :func:`nmse`.

    Examples
    --------
    >>> running_nmse([1.0, 2.0, 3.0], [2.0, 2.0, 3.0]).round(6)
    array([1.5 , 0.75, 0.5 ])
    """
    truth, predicted = _alike(y, mean, "mean")
    rows = np.arange(1, len(truth) + 1)[:, None]
    so_far = np.cumsum((truth - predicted) ** 2, axis=0) / rows
    averaged: Float = np.mean(_over_variance(so_far, truth), axis=1)
    return averaged


def pnll(log_score: ArrayLike) -> float:
    """Compute the mean negative log predictive density (the paper's pnLL).

    Parameters
    ----------
    log_score : array-like (n,)
        Log predictive density of every label, in nats.

    Returns
    -------
    float
        Mean negative log score; smaller is better.

    Examples
    --------
    >>> pnll([-1.0, -2.0])
    1.5
    """
    return -_mean_of(log_score, "log_score")


def mean_crps(crps: ArrayLike) -> float:
    """Compute the mean of continuous ranked probability scores.

    Parameters
    ----------
    crps : array-like (n,) or (n, D)
        Scores of the rows, as ``dist.crps(y)`` gives them, in units of ``y``.

    Returns
    -------
    float
        Mean score; smaller is better.

    Examples
    --------
    >>> mean_crps([0.25, 0.75])
    0.5
    """
    return _mean_of(crps, "crps")


def normal_crps(y: ArrayLike, mean: ArrayLike, std: ArrayLike) -> Float:
    """Compute the continuous ranked probability score of normal distributions. O(n).

    Parameters
    ----------
    y, mean, std : array-like (n,) or (n, D)
        Labels, means and standard deviations.

    Returns
    -------
    ndarray, with the shape of ``y``
        Scores in units of ``y``; where a standard deviation is 0, the absolute error.

    Examples
    --------
    >>> normal_crps([0.0, 2.0], [0.0, 1.0], [1.0, 0.0]).round(4)
    array([0.2337, 1.    ])
    """
    truth, centre = _alike(y, mean, "mean")
    _, spread = _alike(y, std, "std")
    error = np.abs(truth - centre)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = error / spread
        score = spread * (z * (2.0 * ndtr(z) - 1.0) + np.exp(-0.5 * z**2) * np.sqrt(2.0 / np.pi) - 1.0 / np.sqrt(np.pi))
    return np.asarray(np.where(spread > 0.0, score, error).reshape(np.shape(y)))


def coverage(y: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> float:
    """Compute the share of labels inside their interval, averaged over outputs.

    Parameters
    ----------
    y : array-like (n,) or (n, D)
        Labels.
    lower, upper : array-like, with the shape of ``y``
        Ends of the intervals, which belong to them.

    Returns
    -------
    float
        Share between 0 and 1; close to 0.95 for calibrated 95 % intervals.

    Examples
    --------
    >>> coverage([0.0, 1.0, 2.0, 9.0], [-1.0, 0.0, 2.0, 3.0], [1.0, 2.0, 3.0, 5.0])
    0.75
    """
    truth, low = _alike(y, lower, "lower")
    _, high = _alike(y, upper, "upper")
    return float(np.mean((low <= truth) & (truth <= high)))


def pit_histogram(pit: ArrayLike, bins: int = 10) -> Float:
    """Compute the histogram of the probability integral transform ``dist.cdf(y)``, as a density.

    All entries are close to one if the predictions are calibrated; high ends mean that intervals are too narrow, a
    maximum in the middle that they are too wide, a slope that the mean is biased. With n values each entry varies by
    about ``sqrt(bins / n)``.

    Parameters
    ----------
    pit : array-like
        Probabilities between 0 and 1, at least one, of any shape.
    bins : int, default=10
        Number of bins of equal width, at least 1.

    Returns
    -------
    ndarray (bins,)
        Density in every bin; the mean is one.

    Examples
    --------
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


def _alike(y: ArrayLike, other: ArrayLike, name: str) -> tuple[Float, Float]:
    """Return both as (n, D) arrays of the same shape."""
    truth, values = np.asarray(y, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if truth.shape != values.shape:
        # Broadcasting (n,) against (n, 1) would silently score n² pairs.
        raise InputError(f"y has shape {truth.shape} but {name} has shape {values.shape}. Give both the same shape.")
    if truth.ndim not in (1, 2) or truth.size == 0:
        raise InputError(f"y has shape {truth.shape}. Pass at least one row, as (n,) or (n, outputs).")
    return truth.reshape(len(truth), -1), values.reshape(len(truth), -1)


def _over_variance(error: Float, truth: Float) -> Float:
    """Divide squared errors (..., D) by the variance of each column of ``truth`` (n, D)."""
    # The computed variance of a constant is rounding noise; its range is exactly zero.
    constant = np.ptp(truth, axis=0) == 0.0
    ratio = error / np.where(constant, 1.0, np.var(truth, axis=0))
    return np.where(constant, np.where(error > 0.0, np.inf, error), ratio)


def _mean_of(scores: ArrayLike, name: str) -> float:
    values = np.asarray(scores, dtype=np.float64)
    if values.size == 0:
        raise InputError(f"{name} is empty, so it has no mean. Score at least one row.")
    return float(np.mean(values))


def _nonnegative(values: ArrayLike, name: str) -> Float:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{name} has shape {array.shape}. Pass at least one row, as (n,).")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0.0)))
    if len(bad):
        row = int(bad[0])
        raise InputError(f"{name}[{row}] is {array[row]}. Counts and their means are finite and at least 0.")
    return array
