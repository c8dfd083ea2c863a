"""Counts: Poisson with rate ``exposure * exp(z + link[0])``. Any non-negative number is a count (quasi-likelihood).

Real counts scatter more than Poisson's. With overdispersion ``link[1] = w > 0`` every row's rate is multiplied by
log-normal noise of mean one and log variance w. Predictions take it in exactly: ``z ~ N(mean - w/2, var + w)``. Sites
use the negative binomial of the same mean and variance, which has a closed form and is log-concave as well.

A random walk knows less and less about places it has not seen for long. For log odds that is harmless, but the mean of
a rate grows with exp(var / 2): predictions therefore never claim to know less than before the first row, ``link[2]``
being the variance of the prior.

Under a Gaussian ``z`` the count is Poisson-log-normal. Its probabilities are integrals of a log-concave function, which
is split at its peak; each side is integrated by a Gauss-Legendre rule up to where it no longer matters, so that a
peak with one steep and one gentle side (no events, uncertain rate) is as easy as a symmetric one.
"""

from __future__ import annotations

import math

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.tolerances import MAX_LOG_RATE_VAR
from iegp.core.likelihoods.links import FARTHEST, Link
from iegp.core.likelihoods.logistic import log_sigmoid, sigmoid
from iegp.core.likelihoods.protocol import Likelihood
from iegp.core.likelihoods.search import LARGEST_VAR, LEAST_VAR, newton
from iegp.typing import Bool, Float

# Beyond this the log probability of a count loses all digits.
LARGEST_COUNT = 1e15
# Overdispersion is the variance of a log rate.
START_DISPERSION = 0.1
MIN_DISPERSION, MAX_DISPERSION = 1.0e-4, 10.0

# exp() of more than this overflows.
MAX_LOG_RATE = 700.0
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


_mode = newton("poisson", derivatives).mode


@compiled
def site(label: Float, mean: Float, var: float, link: Float, slope: Float) -> float:
    """Slope at the posterior mode, and the curvature there."""
    z = _mode(label, mean[0], var, link, first_guess(label, mean[0], var, link))
    _, slope[0], curvature = derivatives(label, z, link)
    return curvature


@compiled
def log_predictive(label: Float, mean: Float, var: float, link: Float, nodes: Float, outcomes: Float) -> float:
    """Log probability of a count: overdispersion widens the Gaussian, and the prior bounds its variance."""
    if link.size > 2:
        var = min(var, link[2])
    extra = link[1] if link.size > 1 else 0.0
    return log_poisson(label, mean[0] - 0.5 * extra, min(max(var + extra, LEAST_VAR), LARGEST_VAR), link[:1])


@compiled
def log_poisson(label: Float, mean: float, var: float, link: Float) -> float:
    """Log probability of a Poisson count for z ~ N(mean, var)."""
    peak = _mode(label, mean, var, link, first_guess(label, mean, var, link))
    _, _, curvature = derivatives(label, peak, link)
    width = math.sqrt(var / (1.0 + var * curvature))
    top = _log_joint(label, peak, mean, var, link)
    if top < _HOPELESS:
        return top
    total = 0.0
    for side in (-1.0, 1.0):
        end = peak + side * _reach(label, peak, side, width, top, mean, var, link)
        # Where the rate passes a few thousandths the likelihood of no events falls off a cliff: a place to cut.
        cliff = -5.0 - link[0] - math.log(label[1])
        if peak < cliff < end:
            total += _piece(label, peak, cliff, top, mean, var, link)
            total += _piece(label, cliff, end, top, mean, var, link)
        else:
            total += _piece(label, peak, end, top, mean, var, link)
    return top + math.log(total) - 0.5 * math.log(var) - _LOG_ROOT_TWO_PI


@compiled
def _piece(label: Float, begin: float, end: float, top: float, mean: float, var: float, link: Float) -> float:
    """Gauss-Legendre between two points, relative to the peak."""
    total = 0.0
    for i in range(_NODES.size):
        z = begin + (end - begin) * _NODES[i]
        total += _WEIGHTS[i] * math.exp(_log_joint(label, z, mean, var, link) - top)
    return abs(end - begin) * total


@compiled
def _log_joint(label: Float, z: float, mean: float, var: float, link: Float) -> float:
    return derivatives(label, z, link)[0] - 0.5 * (z - mean) ** 2 / var


@compiled
def _reach(
    label: Float, mode: float, side: float, width: float, top: float, mean: float, var: float, link: Float
) -> float:
    """How far from the peak the integrand has fallen out of sight, not much further: growing, then halving."""
    inside, outside = 0.0, 4.0 * width
    drop = top - _log_joint(label, mode + side * outside, mean, var, link)
    for _ in range(200):
        if drop >= _LOG_NEGLIGIBLE:
            break
        inside = outside
        outside *= 1.6
        drop = top - _log_joint(label, mode + side * outside, mean, var, link)
    for _ in range(6):
        if drop < 1.5 * _LOG_NEGLIGIBLE:
            break
        middle = 0.5 * (inside + outside)
        drop_middle = top - _log_joint(label, mode + side * middle, mean, var, link)
        if drop_middle < _LOG_NEGLIGIBLE:
            inside = middle
        else:
            outside, drop = middle, drop_middle
    return outside


class CountLink(Link):
    """Log of the average rate, and overdispersion: a number, or None if it is free."""

    def __init__(self, likelihood: Likelihood, start: Float, overdispersion: float | None) -> None:
        super().__init__(likelihood, start)
        self.overdispersion = overdispersion

    def free(self) -> Float:
        """The free numbers of ``start``."""
        return np.array([self.start[0], np.log(self.start[1])] if self.overdispersion is None else self.start[:1])

    def parameters(self, free: Float) -> Float:
        """The inverse of :meth:`free`."""
        extra = np.exp(free[1]) if self.overdispersion is None else self.overdispersion
        return np.array([free[0], extra])

    def bounds(self) -> list[tuple[float, float]]:
        """Where the free numbers may lie."""
        free = self.free()
        dispersions = float(np.log(MIN_DISPERSION)), float(np.log(MAX_DISPERSION))
        return [(free[0] - FARTHEST, free[0] + FARTHEST), *[dispersions] * (len(free) - 1)]


class Poisson(Likelihood):
    """Counts; ``link`` is log rate, overdispersion, and the prior variance of the log rate."""

    name = "poisson"
    has_free_link = True
    max_prior_var = MAX_LOG_RATE_VAR
    wanted = f"a count from 0 to {LARGEST_COUNT:g}"
    derivatives = staticmethod(derivatives)
    site = staticmethod(site)
    log_predictive = staticmethod(log_predictive)

    def n_link(self, n_outcomes: int) -> int:
        """Log rate, overdispersion, prior variance."""
        del n_outcomes
        return 3

    def allowed(self, y: Float) -> Bool:
        """Counts, and any numbers between them."""
        return np.asarray((y >= 0.0) & (y <= LARGEST_COUNT))

    def link_from(self, y: Float, n_outcomes: int, overdispersion: float | None = None) -> Link:
        """Log of the average rate, and half of the overdispersion that the counts themselves show."""
        del n_outcomes
        if not len(y):
            start = 0.0, START_DISPERSION if overdispersion is None else overdispersion
            return CountLink(self, np.array(start), overdispersion)
        rate = (y[:, 0].sum() + 0.5) / y[:, 1].sum()
        known = overdispersion
        if known is None:
            expected = rate * y[:, 1]
            excess = ((y[:, 0] - expected) ** 2 - y[:, 0]).sum() / (expected**2).sum()
            known = float(np.clip(0.5 * np.log1p(max(excess, 0.0)), 10.0 * MIN_DISPERSION, 1.0))
        return CountLink(self, np.array([np.log(rate), known]), overdispersion)

    def finished_link(self, link: Float, prior_var: float) -> Float:
        """The prior variance comes last."""
        return np.append(link, prior_var)

    def targets(self, y: Float, n_outcomes: int) -> Float:
        """Logs of the rates."""
        del n_outcomes
        return np.asarray(np.log((y[:, :1] + 0.5) / y[:, 1:]))
