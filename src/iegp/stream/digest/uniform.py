"""Where each label fell within its prediction: a number that honest predictions spread evenly over 0 to 1."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, gammaincc, ndtr

from iegp.typing import Float, Int

PIT_BINS = 20
LEVELS: Float = np.arange(5, 100, 5) / 100


def of_numbers(y: Float, mean: Float, std: Float, pit: Float) -> Float:
    """``pit`` where it was given, and the normal distribution of this mean and std elsewhere."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        normal = ndtr((y - mean) / std)
    return np.where(np.isnan(pit), normal, pit)


def of_counts(y: Float, mean: Float, std: Float) -> tuple[Float, Float]:
    """P(y' < y) and P(y' <= y) under the negative binomial of this mean and std; Poisson if it is no wider than that.

    A count covers all of the values between the two (Czado, Gneiting and Held 2009: the PIT of counts, without drawing
    numbers at random).
    """
    return _count_cdf(y - 1.0, mean, std), _count_cdf(y, mean, std)


def _count_cdf(y: Float, mean: Float, std: Float) -> Float:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        excess = std**2 - mean
        # A size this large is a Poisson distribution to all digits, and betainc has no trouble below it.
        size = np.clip(mean**2 / np.where(excess > 0.0, excess, np.nan), 1e-8, 1e8)
        at = np.maximum(y, 0.0) + 1.0
        dispersed = betainc(size, at, size / (size + mean))
        poisson = gammaincc(at, mean)
    cdf: Float = np.where(y < 0.0, 0.0, np.where(np.isnan(size), poisson, dispersed))
    return cdf


def histogram(low: Float, high: Float) -> Float:
    """Rows in each of ``PIT_BINS`` bins; a row that covers low to high is shared out among the bins it touches."""
    edges = np.linspace(0.0, 1.0, PIT_BINS + 1)
    return _mass_between(low, high, edges[:-1], edges[1:], last_closed=True)


def inside(low: Float, high: Float) -> Float:
    """Rows inside the central interval of each of ``LEVELS``."""
    return _mass_between(low, high, 0.5 - 0.5 * LEVELS, 0.5 + 0.5 * LEVELS, last_closed=True)


def _mass_between(low: Float, high: Float, start: Float, end: Float, last_closed: bool) -> Float:
    width = (high - low)[:, None]
    overlap = np.minimum(high[:, None], end) - np.maximum(low[:, None], start)
    final = (end == end.max()) & last_closed
    point = (low[:, None] >= start) & ((low[:, None] < end) | (final & (low[:, None] <= end)))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(width > 0.0, np.clip(overlap / width, 0.0, 1.0), point)
    total: Float = share.sum(axis=0)
    return total


def in_bins(values: Float, edges: Float) -> Int:
    """Number of values below the first edge, between each two, and from the last up."""
    return np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1).astype(np.int64)
