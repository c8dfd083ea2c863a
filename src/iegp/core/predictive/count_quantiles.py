"""Quantiles of counts: for every row the smallest count up to which a mixture has a given probability.

:func:`count_quantiles` is a compiled loop over raw arrays. Rows are independent of each other, so any chunking gives
the same bits. A smooth approximation of the distribution function gives the starting point, and the result for huge
counts; a search over whole numbers then finds the count.
"""

from __future__ import annotations

import math

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.tolerances import (
    COUNT_BRACKET,
    COUNT_QUANTILE_MAX_EVALUATIONS,
    COUNT_QUANTILE_SMOOTH_STEPS,
    COUNT_START_TOLERANCE,
    COUNT_SUM_ROUNDING,
    HUGE_COUNT,
    MAX_LOG_RATE,
    QUANTILE_TOLERANCE,
)
from iegp.core.predictive.count_cdf import LOG_MEAN, MAX_NODES, WEIGHT, cdf_pmf, gather, smooth_tail
from iegp.typing import Float

# log(k + 1/2) of the smallest count and of a huge one.
_LOWEST, _LOG_HUGE = math.log(0.5), math.log(HUGE_COUNT)


@compiled
def count_quantiles(weights: Float, log_mean: Float, log_var: Float, q: Float) -> Float:
    """Compute quantiles of every row at the levels ``q`` (j,), each in (0, 1): shape (j, n).

    Compiled, without the GIL, and without checks. About half a microsecond per non-negligible component and evaluation,
    one or two evaluations per quantile. Components that together weigh less than 1e-9 are skipped. Where no component
    has weight, or one that has is NaN, the result is NaN.

    >>> import numpy as np
    >>> one = np.ones((1, 1))
    >>> count_quantiles(one, np.log(4.0) * one, 0.0 * one, np.array([0.025, 0.5, 0.975])).ravel()
    array([1., 4., 8.])
    """
    n, n_experts = weights.shape
    out = np.empty((q.size, n))
    table, grid = np.empty((n_experts, 3)), np.empty((3, MAX_NODES))
    for i in range(n):
        parts = gather(weights[i], log_mean[i], log_var[i], table)
        for j in range(q.size):
            x = _smooth_quantile(parts, q[j])
            if x != x:
                out[j, i] = math.nan
            elif x > _LOG_HUGE:
                out[j, i] = np.floor(math.exp(min(x, MAX_LOG_RATE)))
            else:
                out[j, i] = _search(parts, q[j], np.floor(math.exp(x) + 0.5), grid)
    return out


@compiled
def _search(parts: Float, q: float, start: float, grid: Float) -> float:
    """Find the smallest k with ``P(y <= k) >= q``: Newton's method on whole numbers, inside a bracket.

    An evaluation gives the probability up to k - 1 too, so a right guess costs one evaluation. After a few steps every
    other one halves the bracket (in logs while it is wide), so that convergence is never slow.
    """
    target = min(q, 1.0 - COUNT_SUM_ROUNDING)
    low, high, k = -1.0, math.inf, start
    for evaluation in range(COUNT_QUANTILE_MAX_EVALUATIONS):
        cdf, pmf = cdf_pmf(k, parts, grid)
        if cdf != cdf:
            return math.nan
        if cdf < target:
            low = k
        else:
            high = k
            if cdf - pmf < target:
                break
        if high - low <= 1.0:
            break
        ahead = math.inf if pmf == 0.0 else abs(target - cdf) / pmf
        k = k + np.ceil(min(ahead, 3.0 * k + 3.0)) if cdf < target else k - max(np.floor(min(ahead, k)), 1.0)
        if not low < k < high or (evaluation % 2 == 1 and evaluation > 4 and high < math.inf):
            k = _middle(low, high)
    return high


@compiled
def _middle(low: float, high: float) -> float:
    """Return a whole number strictly between two others; the geometric mean where they are far apart."""
    if high > 8.0 * (low + 2.0):
        return float(np.floor(math.sqrt((low + 2.0) * high)))
    return float(np.floor(0.5 * (low + high)))


@compiled
def _smooth_quantile(parts: Float, q: float) -> float:
    """Compute ``log(k + 1/2)`` of the quantile from :func:`smooth_tail`: a start, and the result for huge counts.

    Newton's method on the log of the smaller tail, nearly straight in Gaussian tails, inside a bracket. Values outside
    of _LOWEST to MAX_LOG_RATE are a count of 0 or exp(MAX_LOG_RATE).
    """
    side, level = (1.0, q) if q <= 0.5 else (-1.0, 1.0 - q)
    x = float(np.sum(parts[:, WEIGHT] * parts[:, LOG_MEAN]))
    if parts.shape[0] == 0 or x != x:
        return math.nan
    low, high = _LOWEST - 2.0, MAX_LOG_RATE + 2.0
    for step in range(COUNT_QUANTILE_SMOOTH_STEPS):
        x = min(max(x, _LOWEST - 1.0), MAX_LOG_RATE + 1.0)
        if not low < x < high or step % 8 == 7:
            x = 0.5 * low + 0.5 * high
        tail, slope = smooth_tail(x, parts, side)
        if tail != tail:
            return math.nan
        gap = math.log(tail / level) if tail > 0.0 else -math.inf
        if side * gap < 0.0:
            low = x
        else:
            high = x
        close = abs(gap) < (QUANTILE_TOLERANCE if x > _LOG_HUGE else COUNT_START_TOLERANCE)
        if close or high < _LOWEST or low > MAX_LOG_RATE or high - low < COUNT_BRACKET * high:
            break
        x -= side * (gap * tail / slope if slope > 0.0 else math.copysign(math.inf, gap))
    return x
