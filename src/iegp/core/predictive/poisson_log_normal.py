"""Counts whose log rate is Gaussian: Poisson-log-normal probabilities.

A label is a count and its exposure; ``link`` holds the log of the average rate and, if there is any, overdispersion
(then the derivatives are those of a negative binomial).

The probabilities are integrals of a log-concave function, which is split at its peak; each side is integrated by a
Gauss-Legendre rule up to where it no longer matters, so that a peak with one steep and one gentle side (no events,
uncertain rate) is as easy as a symmetric one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.logistic import log_sigmoid, sigmoid
from iegp.core.compute.newton import newton
from iegp.core.compute.tolerances import MAX_LOG_RATE
from iegp.typing import Float

_NODES, _WEIGHTS = (0.5 * part for part in np.polynomial.legendre.leggauss(24))
_NODES = _NODES + 0.5
_LOG_NEGLIGIBLE = 34.0
# Where the log of the integrand's peak is this low, its rounding is more than the integral would add.
_HOPELESS = -1.0e10
_LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)


@compiled
def derivatives(label: Float, z: float, link: Float) -> tuple[float, float, float]:
    """Log probability, slope and curvature."""
    log_rate = min(z + link[0] + math.log(label[1]), MAX_LOG_RATE)
    if link.size > 1 and link[1] > 0.0:
        return _negative_binomial(label[0], log_rate, 1.0 / math.expm1(link[1]))
    return _poisson(label[0], log_rate)


@compiled
def _poisson(count: float, log_rate: float) -> tuple[float, float, float]:
    rate = math.exp(log_rate)
    return count * log_rate - rate - math.lgamma(count + 1.0), count - rate, rate


@compiled
def _negative_binomial(count: float, log_rate: float, shape: float) -> tuple[float, float, float]:
    """Mean ``exp(log_rate)``, variance mean + mean²/shape."""
    odds = log_rate - math.log(shape)
    above, below = sigmoid(odds), sigmoid(-odds)
    log_probability = count * log_sigmoid(odds) + shape * log_sigmoid(-odds)
    log_probability += math.lgamma(count + shape) - math.lgamma(shape) - math.lgamma(count + 1.0)
    return log_probability, count * below - shape * above, (count + shape) * above * below


@compiled
def first_guess(label: Float, mean: float, var: float, link: Float) -> float:
    """A value close to the posterior mode from which Newton's method is quick, even for huge counts or rates.

    With rate r at the mean and no count, the mode lies a distance t below with ``t exp(t) = var r``: below, but not by
    more than ``log(1 + var r)``. A count pulls it no further than to the peak of the likelihood.
    """
    shift = link[0] + math.log(label[1])
    log_pull = math.log(max(var, 1.0e-300)) + mean + shift
    fall = log_pull + math.log1p(math.exp(-log_pull)) if log_pull > 0.0 else math.log1p(math.exp(log_pull))
    if label[0] == 0.0:
        return mean - fall
    peak = math.log(label[0]) - shift
    return float(peak if peak > mean else max(peak, mean - fall))


mode = newton("poisson", derivatives).mode


class _Integrand(NamedTuple):
    """Likelihood times Gaussian, and where it peaks."""

    label: Float
    link: Float
    mean: float
    var: float
    peak: float
    top: float
    """Log of the integrand at the peak."""


@compiled
def log_poisson(label: Float, mean: float, var: float, link: Float) -> float:
    """Log probability of a Poisson count for z ~ N(mean, var)."""
    peak = mode(label, mean, var, link, first_guess(label, mean, var, link))
    log_density, _, curvature = derivatives(label, peak, link)
    width = math.sqrt(var / (1.0 + var * curvature))
    top = log_density - 0.5 * (peak - mean) ** 2 / var
    if top < _HOPELESS:
        return top
    integrand = _Integrand(label, link, mean, var, peak, top)
    total = 0.0
    for side in (-1.0, 1.0):
        end = peak + side * _reach(integrand, side, width)
        # Where the rate passes a few thousandths the likelihood of no events falls off a cliff: a place to cut.
        cliff = -5.0 - link[0] - math.log(label[1])
        if peak < cliff < end:
            total += _piece(integrand, peak, cliff)
            total += _piece(integrand, cliff, end)
        else:
            total += _piece(integrand, peak, end)
    return top + math.log(total) - 0.5 * math.log(var) - _LOG_ROOT_TWO_PI


@compiled
def _piece(integrand: _Integrand, begin: float, end: float) -> float:
    """Gauss-Legendre between two points, relative to the peak."""
    total = 0.0
    for i in range(_NODES.size):
        z = begin + (end - begin) * _NODES[i]
        total += _WEIGHTS[i] * math.exp(_log_joint(integrand, z) - integrand.top)
    return abs(end - begin) * total


@compiled
def _log_joint(integrand: _Integrand, z: float) -> float:
    return derivatives(integrand.label, z, integrand.link)[0] - 0.5 * (z - integrand.mean) ** 2 / integrand.var


@compiled
def _reach(integrand: _Integrand, side: float, width: float) -> float:
    """How far from the peak the integrand has fallen out of sight, not much further: growing, then halving."""
    inside, outside = 0.0, 4.0 * width
    drop = integrand.top - _log_joint(integrand, integrand.peak + side * outside)
    for _ in range(200):
        if drop >= _LOG_NEGLIGIBLE:
            break
        inside = outside
        outside *= 1.6
        drop = integrand.top - _log_joint(integrand, integrand.peak + side * outside)
    for _ in range(6):
        if drop < 1.5 * _LOG_NEGLIGIBLE:
            break
        middle = 0.5 * (inside + outside)
        drop_middle = integrand.top - _log_joint(integrand, integrand.peak + side * middle)
        if drop_middle < _LOG_NEGLIGIBLE:
            inside = middle
        else:
            outside, drop = middle, drop_middle
    return outside
