"""Naive forecasts to compare a model with: each row from the labels before it, without inputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, gammaln

from iegp.errors import InputError
from iegp.evaluate.classification import class_index
from iegp.typing import Float


class NaiveRun(NamedTuple):
    """Gaussian predictions of each row from the rows before it.

    Parameters
    ----------
    mean, std : ndarray (n,)
        Mean and standard deviation of the prediction.
    log_score : ndarray (n,)
        Log density of each label under its prediction.
    """

    mean: Float
    std: Float
    log_score: Float

    @property
    def lower(self) -> Float:
        """Lower end of the central 95 % interval."""
        return self.mean - 1.959964 * self.std

    @property
    def upper(self) -> Float:
        """Upper end of the central 95 % interval."""
        return self.mean + 1.959964 * self.std


class NaiveCounts(NamedTuple):
    """Predicted counts of each row from the rows before it: negative binomial, or Poisson if ``variance == mean``.

    Parameters
    ----------
    mean, variance : ndarray (n,)
        Mean and variance of the prediction.
    log_score : ndarray (n,)
        Log probability of each count under its prediction.
    """

    mean: Float
    variance: Float
    log_score: Float


def running_mean(y: Float, skip: int) -> NaiveRun:
    """Predict each label by the mean and standard deviation of all labels before it.

    Parameters
    ----------
    y : ndarray (n,)
        Labels.
    skip : int
        Number of first rows that are not predicted, at least 2.

    Returns
    -------
    NaiveRun
        Predictions and log scores of rows ``skip`` onwards.

    Examples
    --------
    >>> running_mean(np.array([1.0, 3.0, 2.0, 2.0]), 2).mean
    array([2., 2.])
    """
    count = np.arange(1, len(y) + 1)
    # Centred first: running sums of squares lose their digits when the mean is large.
    centre = float(y[:skip].mean())
    shifted = y - centre
    mean = np.cumsum(shifted) / count
    variance = np.maximum(np.cumsum(shifted**2) / count - mean**2, np.finfo(np.float64).tiny)
    before = slice(skip - 1, len(y) - 1)
    mean, std, residual = mean[before], np.sqrt(variance[before]), shifted[skip:] - mean[before]
    log_score = -0.5 * np.log(2.0 * np.pi) - np.log(std) - 0.5 * (residual / std) ** 2
    return NaiveRun(mean + centre, std, log_score)


def running_frequencies(y: ArrayLike, classes: ArrayLike) -> Float:
    """Predict each class by its frequency among the labels before it, with one added to every count. O(n K).

    The first row gets equal probabilities, and no class ever has probability zero.

    Parameters
    ----------
    y : array-like (n,)
        Labels, of any type.
    classes : array-like (K,)
        Classes in the order of the columns.

    Returns
    -------
    ndarray (n, K)
        Probabilities of every row.

    Examples
    --------
    >>> running_frequencies(["a", "a", "b"], ["a", "b"]).round(3)
    array([[0.5  , 0.5  ],
           [0.667, 0.333],
           [0.75 , 0.25 ]])
    """
    index, k = class_index(y, classes)
    seen = np.zeros((len(index), k))
    seen[np.arange(1, len(index)), index[:-1]] = 1.0
    shares: Float = (1.0 + np.cumsum(seen, axis=0)) / (k + np.arange(len(index)))[:, None]
    return shares


def previous_label(y: ArrayLike, skip: int = 1) -> NDArray[Any]:
    """Predict each label by the one before it.

    It is a strong baseline where labels come in runs, as in data sorted by class.

    Parameters
    ----------
    y : array-like (n,)
        Labels, of any type.
    skip : int, default=1
        Number of first rows that are not predicted, at least 1.

    Returns
    -------
    ndarray (n - skip,)
        Predicted labels of rows ``skip`` onwards.

    Examples
    --------
    >>> previous_label(["sun", "sun", "rain", "rain"])
    array(['sun', 'sun', 'rain'], dtype='<U4')
    """
    _check_skip(skip)
    return np.asarray(y)[skip - 1 : -1]


def running_count_mean(y: ArrayLike, skip: int = 1) -> NaiveCounts:
    """Predict each count by the mean and variance of all counts before it. O(n).

    Half a count is added to the sum, so that a count above zero stays possible after zeros alone. The forecast is the
    negative binomial with these moments, or the Poisson with this mean where the variance does not exceed the mean.

    Parameters
    ----------
    y : array-like (n,)
        Counts: whole numbers from 0 up.
    skip : int, default=1
        Number of first rows that are not predicted, at least 1.

    Returns
    -------
    NaiveCounts
        Mean, variance and log probability of the count of rows ``skip`` onwards.

    Examples
    --------
    >>> run = running_count_mean([1, 2, 0, 3])
    >>> run.mean.round(3), run.log_score.round(3)
    (array([1.5  , 1.75 , 1.167]), array([-1.382, -1.75 , -2.496]))
    """
    counts = np.asarray(y, dtype=np.float64)
    if counts.ndim != 1 or not np.all((counts >= 0.0) & (counts == np.floor(counts)) & np.isfinite(counts)):
        raise InputError(f"y must hold whole numbers from 0 up, as (n,), but starts {counts.ravel()[:5].tolist()}.")
    _check_skip(skip)
    rows = np.arange(skip, len(counts), dtype=np.float64)
    # Sums of whole numbers are exact, and so is the difference below; they need not be centred first.
    total, squares = (np.cumsum(values)[skip - 1 : -1] for values in (counts, counts**2))
    mean = (total + 0.5) / rows
    excess = np.maximum((rows * squares - total**2) / rows**2 - mean, 0.0)
    return NaiveCounts(mean, mean + excess, count_log_score(counts[skip:], mean, excess))


def count_log_score(counts: Float, mean: Float, excess: Float) -> Float:
    """Compute the log probability of counts under a negative binomial of variance ``mean + excess``.

    Parameters
    ----------
    counts : ndarray (n,)
        Counts.
    mean : ndarray (n,)
        Positive means.
    excess : ndarray (n,)
        Variance above that of a Poisson; 0 gives the Poisson.

    Returns
    -------
    ndarray (n,)
        Log probabilities, in nats.
    """
    poisson = counts * np.log(mean) - mean - gammaln(counts + 1.0)
    spread = excess > 0.0
    size = mean**2 / np.where(spread, excess, 1.0)
    # The binomial coefficient through the beta function, which stays accurate when size is large.
    ways = -np.log(counts + size) - betaln(size, counts + 1.0)
    dispersed = ways - size * np.log1p(mean / size) - counts * np.log1p(size / mean)
    score: Float = np.where(spread, dispersed, poisson)
    return score


def _check_skip(skip: int) -> None:
    if skip < 1:
        raise InputError(f"skip={skip}: the first row has no label before it. Leave out at least 1 row.")
