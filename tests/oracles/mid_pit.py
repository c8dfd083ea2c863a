"""``P(Y < y) + P(Y = y) / 2`` of counts and ordered classes, slowly: sums of integrals over the latent value."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

Array = NDArray[np.float64]

# Equal steps, much finer than the width 1/sqrt(count) on which the probability of a count rises and falls.
_NODES = np.linspace(-12.0, 12.0, 6001)
_MASSES = np.exp(-0.5 * _NODES**2)
_MASSES = _MASSES / _MASSES.sum()


def latent_values(mean: float, var: float) -> Array:
    return mean + math.sqrt(var) * _NODES


def of_counts(weights: Array, log_mean: Array, log_var: Array, count: float) -> float:
    """One row: a mixture over experts (M,) of ``Poisson(exp(z))`` with ``z ~ N(log_mean, log_var)``."""
    total = 0.0
    for weight, mean, var in zip(weights, log_mean, log_var, strict=True):
        rates = np.exp(latent_values(mean, var))
        for k in range(math.floor(count) + 1):
            probability = float(_MASSES @ stats.poisson.pmf(k, rates))
            total += weight * probability * (0.5 if k == count else 1.0)
    return total


def of_levels(weights: Array, means: Array, variances: Array, cuts: Array, level: int) -> float:
    """One row: a mixture over experts (M,) of ordered classes with logistic noise and cut-points (M, K - 1)."""
    total = 0.0
    for weight, mean, var, own in zip(weights, means, variances, cuts, strict=True):
        z = latent_values(mean, var)
        edges = [0.0, *(float(_MASSES @ special.expit(cut - z)) for cut in own), 1.0]
        total += weight * 0.5 * (edges[level] + edges[level + 1])
    return total
