"""The logistic distribution, and its expectation under a Gaussian.

No quadrature of fixed nodes serves every variance: a sigmoid under a wide Gaussian is a step. Up to a variance of 2,
Gauss-Hermite rules of growing size are used. Beyond, integrating by parts turns the step into a bump,

    E[sigmoid(z)] = ∫ sigmoid'(u) P(z > u) du,

which the trapezoidal rule integrates with exponential accuracy however wide the Gaussian. Far in the tail the exact
identity ``E_{m,v}[sigmoid(z)] = exp(m + v/2) E_{m+v,v}[sigmoid(-z)]`` moves the work back to where numbers are of
order one, so that even the log of a tiny probability is accurate.
"""

from __future__ import annotations

import math

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.normal import normal_cdf
from iegp.typing import Float


def hermite(n: int) -> Float:
    """Nodes and weights (2, n) with which ``sum w f(m + sqrt(v) x)`` is the expectation of ``f`` under N(m, v)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    return np.array([nodes, weights / weights.sum()])


# Sizes that keep the relative error below 1e-9 up to the variance they are used for.
_TINY, _SMALL, _MIDDLE, _LARGE = hermite(8), hermite(16), hermite(20), hermite(32)
_WIDE = 2.0
_STEP = 0.75
_NEGLIGIBLE = 1.0e-12


@compiled
def sigmoid(x: float) -> float:
    """``1 / (1 + exp(-x))``, accurate in both tails."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    small = math.exp(x)
    return small / (1.0 + small)


@compiled
def log_sigmoid(x: float) -> float:
    """``log(sigmoid(x))`` without overflow."""
    return -math.log1p(math.exp(-x)) if x > 0.0 else x - math.log1p(math.exp(x))


@compiled
def interval(low: float, high: float) -> tuple[float, float, float]:
    """``log(F(high) - F(low))``, its slope and curvature when both ends move to the left; ends may be infinite.

    ``F(high) - F(low) = F(high) F(-low) (1 - exp(low - high))``: two binary likelihoods and a constant.
    """
    above, below = sigmoid(-high), sigmoid(low)
    log_probability = log_sigmoid(high) + log_sigmoid(-low) + math.log(-math.expm1(low - high))
    return log_probability, below - above, above * sigmoid(high) + below * sigmoid(-low)


@compiled
def log_expected_sigmoid(mean: float, var: float) -> float:
    """``log E[sigmoid(z)]`` for z ~ N(mean, var), relative error of the expectation below 1e-9."""
    if mean < -0.5 * var:
        return mean + 0.5 * var + math.log(_expected_sigmoid(-mean - var, var))
    if mean < -30.0 * math.sqrt(var):
        # So wide that the density is exp(-a z) around zero, a = -mean/var: the integral of it times a sigmoid is known.
        a = -mean / var
        log_density = -0.5 * mean * mean / var - 0.5 * math.log(2.0 * math.pi * var)
        return log_density + math.log(math.pi / math.sin(math.pi * a))
    return min(0.0, math.log(_expected_sigmoid(mean, var)))


@compiled
def _expected_sigmoid(mean: float, var: float) -> float:
    """``E[sigmoid(z)]`` where it is not small: ``mean >= -var/2``."""
    if var > _WIDE:
        return _by_parts(mean, var)
    if var < 0.1:
        return _by_nodes(mean, var, _TINY)
    if var < 0.5:
        return _by_nodes(mean, var, _SMALL)
    return _by_nodes(mean, var, _MIDDLE if var < 1.0 else _LARGE)


@compiled
def _by_nodes(mean: float, var: float, rule: Float) -> float:
    spread = math.sqrt(var)
    total = 0.0
    for i in range(rule.shape[1]):
        total += rule[1, i] * sigmoid(mean + spread * rule[0, i])
    return total


@compiled
def _by_parts(mean: float, var: float) -> float:
    """Trapezoidal rule for ``∫ sigmoid'(u) P(z > u) du``, outwards from zero until terms no longer matter."""
    spread = math.sqrt(var)
    total = 0.25 * normal_cdf(mean / spread)
    for side in (-1.0, 1.0):
        u = 0.0
        while abs(u) < 745.0:
            u += side * _STEP
            fall = math.exp(-abs(u))
            term = fall / (1.0 + fall) ** 2 * normal_cdf((mean - u) / spread)
            total += term
            if term < _NEGLIGIBLE * total:
                break
    return min(1.0, _STEP * total)


@compiled
def log_expected_interval(low: float, high: float, var: float) -> float:
    """``log E[F(high - e) - F(low - e)]`` for e ~ N(0, var)."""
    if high == math.inf:
        return log_expected_sigmoid(-low, var)
    if low == -math.inf:
        return log_expected_sigmoid(high, var)
    # A difference of two tails: of the small ones.
    if low + high > 0.0:
        low, high = -high, -low
    larger, smaller = log_expected_sigmoid(high, var), log_expected_sigmoid(low, var)
    return larger + math.log(max(-math.expm1(smaller - larger), 1.0e-300))


@compiled
def probit_shrinkage(var: float) -> float:
    """The paper's probit approximation: a sigmoid under a Gaussian is close to a sigmoid of a shrunk mean."""
    return 1.0 / math.sqrt(1.0 + math.pi * var / 8.0)
