"""The posterior mode of one latent value, and integrals over it, for any likelihood whose derivatives are given."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from iegp._compile import call_for_three, compiled, specialised
from iegp.core.compute.tolerances import (
    FARTHEST_MODE,
    INTEGRAL_HALVINGS,
    INTEGRAL_SETTLED,
    INTEGRAL_TERMS,
    LARGEST_VAR,
    LEAST_VAR,
    MODE_CONVERGED,
    MODE_MAX_STEPS,
    NEGLIGIBLE_TERM,
    SHRINKING_STEP,
)
from iegp.typing import Float

_LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)

# What the templates below call; every likelihood has its own.
derivatives: Any = None
find_mode: Any = None


@compiled
def _between(low: float, high: float, mean: float) -> float:
    """The middle of a bracket; in a wide one a point near the end at ``mean``: a steep slope there made it wide."""
    width = high - low
    if width <= 2.0 * FARTHEST_MODE:
        return 0.5 * (low + high)
    reach = math.sqrt(width)
    return low + reach if abs(low - mean) < abs(high - mean) else high - reach


def _mode(label: Float, mean: float, var: float, link: Any, guess: float) -> float:
    """Where ``log p(label | z) + log N(z; mean, var)`` peaks; begins at ``guess`` unless it is NaN.

    The slope of a log-concave likelihood falls, so the mode lies between ``mean`` and ``mean + var * slope(mean)``.
    Newton steps that leave this bracket, or do not shrink, are replaced by cutting it: the iteration cannot diverge.
    """
    _, slope, curvature = derivatives(label, mean, link)
    if slope == 0.0 or var <= 0.0:
        return mean
    low, high = min(mean, mean + var * slope), max(mean, mean + var * slope)
    z = mean + var * slope / (1.0 + var * curvature) if math.isnan(guess) else guess
    if not low < z < high:
        z = 0.5 * (max(low, mean - FARTHEST_MODE) + min(high, mean + FARTHEST_MODE))
    moved = math.inf
    for _ in range(MODE_MAX_STEPS):
        _, slope, curvature = derivatives(label, z, link)
        excess = z - mean - var * slope
        if excess > 0.0:
            high = z
        else:
            low = z
        ahead = z - excess / (1.0 + var * curvature)
        # Written so that a NaN, from an overflowing slope, is halved away too.
        if not (low <= ahead <= high and abs(ahead - z) <= SHRINKING_STEP * moved):
            ahead = _between(low, high, mean)
        moved = abs(ahead - z)
        z = ahead
        if moved < MODE_CONVERGED:
            break
    return z


def _site(label: Float, mean: Float, var: float, link: Any, slope: Float) -> float:
    """Slope (1,) of the log density at the posterior mode; returns the curvature."""
    z = find_mode(label, mean[0], var, link, math.nan)
    _, slope[0], curvature = derivatives(label, z, link)
    return float(curvature)


class Newton(NamedTuple):
    """Compiled functions of one likelihood."""

    mode: Callable[[Float, float, float, Any, float], float]
    """``mode(label, mean, var, link, guess)``"""
    site: Callable[[Float, Float, float, Any, Float], float]
    """``site(label, mean, var, link, slope)``"""


def newton(name: str, own: Callable[[Float, float, Any], tuple[float, float, float]]) -> Newton:
    """Newton's method for the likelihood of this name with these derivatives, compiled with them."""
    mode = specialised(_mode, name, derivatives=own)
    return Newton(mode, specialised(_site, name, derivatives=own, find_mode=mode))


# -- derivatives by their address ------------------------------------------------------------------------------------


@compiled
def derivatives_at(label: Float, z: float, link: tuple[int, Float]) -> tuple[float, float, float]:
    """Derivatives of a likelihood by their address, which comes along with the parameters."""
    address, parameters = link
    return call_for_three(address, (label, z, parameters))


mode_at, site_at = newton("any", derivatives_at)


@compiled
def log_integral(label: Float, mean: float, var: float, link: tuple[int, Float]) -> float:
    """``log ∫ p(label | z) N(z; mean, var) dz`` by the trapezoidal rule, steps halved until they no longer matter."""
    var = min(max(var, LEAST_VAR), LARGEST_VAR)
    peak = mode_at(label, mean, var, link, math.nan)
    log_density, _, curvature = derivatives_at(label, peak, link)
    top = log_density - 0.5 * (peak - mean) ** 2 / var
    if not abs(top) < math.inf:
        return top
    gauss = mean, var, top
    step = math.sqrt(var / (1.0 + var * max(curvature, 0.0)))
    total = step * (
        1.0 + _terms(label, gauss, link, peak + step, step) + _terms(label, gauss, link, peak - step, -step)
    )
    for _ in range(INTEGRAL_HALVINGS):
        half = 0.5 * step
        between = _terms(label, gauss, link, peak + half, step) + _terms(label, gauss, link, peak - half, -step)
        finer = 0.5 * total + half * between
        change, step, total = abs(finer - total), half, finer
        if not change > INTEGRAL_SETTLED * total:
            break
    return top + math.log(total) - 0.5 * math.log(var) - _LOG_ROOT_TWO_PI


@compiled
def _terms(
    label: Float, gauss: tuple[float, float, float], link: tuple[int, Float], begin: float, step: float
) -> float:
    """Values of the integrand relative to its peak, from ``begin`` outwards in equal steps until they are tiny."""
    mean, var, top = gauss
    total = 0.0
    for i in range(INTEGRAL_TERMS):
        z = begin + i * step
        term = math.exp(derivatives_at(label, z, link)[0] - 0.5 * (z - mean) ** 2 / var - top)
        total += term
        # Log-concave: terms beyond are smaller still. Written so that a NaN ends it too.
        if not term > NEGLIGIBLE_TERM * (1.0 + total):
            break
    return total


@compiled
def log_average(label: Float, mean: float, var: float, link: tuple[int, Float], draws: Float) -> float:
    """``log ∫ p(label | z) N(z; mean, var) dz`` by averaging over draws (n,) of a standard normal."""
    spread = math.sqrt(var)
    logs = np.empty(draws.size)
    for i in range(draws.size):
        logs[i] = derivatives_at(label, mean + spread * draws[i], link)[0]
    top = logs.max()
    return float(top + math.log(np.exp(logs - top).sum() / draws.size))
