"""Quantiles of mixtures: where the distribution function takes a given value, in every row and output."""

from __future__ import annotations

import math

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.tolerances import (
    NEAR_QUANTILE,
    NEGLIGIBLE_TAIL_SHARE,
    QUANTILE_MAX_EVALUATIONS,
    QUANTILE_TOLERANCE,
    SHORT_STEP,
)
from iegp.core.predictive.components import DOF, LOC, LOG_NORM, SCALE, WEIGHT, cdf_pdf_slope, gather, inflation
from iegp.typing import Float


@compiled
def quantiles(weights: Float, loc: Float, scale: Float, dof: Float, q: Float) -> Float:
    """Compute quantiles of every row and output at the levels ``q`` (k,), each in (0, 1): shape (k, n, D).

    Compiled, without the GIL, and without checks. About 0.1 µs per non-negligible component and evaluation, two or
    three evaluations per quantile. Components with a negligible share of the smallest tail, of weight below
    1e-9 at 0.025, are skipped. Where no component has
    weight, or one that has is NaN, the result is NaN.

    >>> import numpy as np
    >>> one, zero = np.ones((1, 1, 1)), np.zeros((1, 1, 1))
    >>> quantiles(np.ones((1, 1)), zero, one, np.inf * one, np.array([0.025, 0.975])).round(4).ravel()
    array([-1.96,  1.96])
    """
    n, n_experts, n_outputs = loc.shape
    out = np.empty((q.size, n, n_outputs))
    table = np.empty((n_experts, 5))
    floor = NEGLIGIBLE_TAIL_SHARE * smallest_tail(q)
    # Of one component with unit scale, for the degrees of freedom that came last: many rows and outputs share them.
    unit, unit_dof = np.empty(q.size), math.nan
    for i in range(n):
        for d in range(n_outputs):
            parts = gather(weights[i], loc[i, :, d], scale[i, :, d], dof[i, :, d], floor, table)
            if parts.shape[0] != 1:
                _quantiles_of(parts, q, out[:, i, d])
                continue
            centre, width = parts[0, LOC], parts[0, SCALE]
            if parts[0, DOF] != unit_dof:
                parts[0, LOC], parts[0, SCALE], unit_dof = 0.0, 1.0, parts[0, DOF]
                _quantiles_of(parts, q, unit)
            for k in range(q.size):
                out[k, i, d] = centre + width * unit[k] if abs(centre) + width < math.inf else math.nan
    return out


@compiled
def _quantiles_of(parts: Float, q: Float, found: Float) -> None:
    """Quantiles of one row and output, by search."""
    for k in range(q.size):
        found[k] = quantile_of(parts, q[k])


@compiled
def quantile_of(parts: Float, q: float) -> float:
    """The quantile at level ``q`` of one row and output, from its components (:func:`gather`)."""
    centre, spread = _rough_moments(parts)
    # The upper tail is the lower tail of the mirror image: probabilities close to one keep their digits.
    side = 1.0 if q <= 0.5 else -1.0
    level = q if q <= 0.5 else 1.0 - q
    parts[:, LOC] *= side
    start = side * centre - spread * _gaussian_distance(level)
    found = side * _solve(parts, level, start, spread)
    parts[:, LOC] *= side
    return found


@compiled
def smallest_tail(q: Float) -> float:
    """The smallest probability on either side of the levels ``q``."""
    smallest = 0.5
    for level in q:
        smallest = min(smallest, level, 1.0 - level)
    return smallest


@compiled
def _rough_moments(parts: Float) -> tuple[float, float]:
    """Compute mean and standard deviation to start a search from; infinite variances are replaced by finite ones."""
    centre = np.sum(parts[:, WEIGHT] * parts[:, LOC])
    var = 0.0
    for j in range(parts.shape[0]):
        within = inflation(max(parts[j, DOF], 3.0)) * parts[j, SCALE] ** 2
        var += parts[j, WEIGHT] * (within + (parts[j, LOC] - centre) ** 2)
    return centre, math.sqrt(var)


@compiled
def _gaussian_distance(level: float) -> float:
    """Compute minus the standard normal quantile at ``level <= 1/2``, to three digits."""
    t = math.sqrt(-2.0 * math.log(level))  # Abramowitz and Stegun 26.2.23
    return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))


@compiled
def _solve(parts: Float, level: float, start: float, spread: float) -> float:
    """Find the x at which a mixture's distribution function is ``level <= 1/2``.

    Halley's method on the *logarithm* of the distribution function, nearly straight in Gaussian tails and well behaved
    in power-law tails, inside a bracket; after a few steps, every other one halves the bracket, so that convergence is
    never slow. Where a component is narrower than the spacing of floats, the result is a neighbour of the true x.
    """
    if parts.shape[0] == 0 or not abs(start + np.sum(parts[:, LOG_NORM])) < math.inf:
        return math.nan
    finest = np.min(parts[:, SCALE])
    low, high = -math.inf, math.inf
    x = start
    nudge = 2.0**-52 * abs(start)  # to the next float, for components narrower than the spacing of floats
    reach = max(spread, nudge)
    for evaluation in range(QUANTILE_MAX_EVALUATIONS):
        cdf, pdf, slope = cdf_pdf_slope(x, parts)
        gap = math.log(cdf / level) if cdf > 0.0 else -math.inf
        if abs(gap) < QUANTILE_TOLERANCE:
            return x
        if gap < 0.0:
            low = x
        else:
            high = x
        step = _halley_step(gap, cdf, pdf, slope)
        if abs(gap) < NEAR_QUANTILE and abs(step) < SHORT_STEP * finest:
            return x + step
        if abs(step) > reach:
            step = math.copysign(reach, step)
            reach *= 4.0
        bracketed = low > -math.inf and high < math.inf
        if x + step == x and not bracketed:
            step = math.copysign(nudge, step)
            nudge *= 4.0
        x += step
        if bracketed and ((evaluation % 2 == 1 and evaluation > 6) or not low < x < high):
            x = 0.5 * low + 0.5 * high
        if x in (low, high):
            return x
    return x


@compiled
def _halley_step(gap: float, cdf: float, pdf: float, slope: float) -> float:
    """Compute the step towards ``gap = 0``, where gap is the log of the distribution function minus its target."""
    if not (pdf > 0.0 and cdf > 0.0):
        return math.nan if gap != gap else -math.copysign(math.inf, gap)
    rate = pdf / cdf
    newton = -gap / rate
    bend = 0.5 * newton * (slope / pdf - rate)
    return newton / min(max(1.0 + bend, 0.5), 2.0)
