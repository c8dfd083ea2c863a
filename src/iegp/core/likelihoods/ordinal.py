"""Ordered classes 0..K-1: ``P(y <= j) = F(link[j] - z)`` with increasing cut-points ``link``, F logistic or normal."""

from __future__ import annotations

import math

from iegp._compile import compiled
from iegp.core.likelihoods import logistic, normal
from iegp.typing import Float


@compiled
def _ends(category: int, z: float, link: Float) -> tuple[float, float]:
    """The interval that a class occupies, as seen from ``z``."""
    low = link[category - 1] - z if category > 0 else -math.inf
    high = link[category] - z if category < link.size else math.inf
    return low, high


@compiled
def logit_derivatives(label: Float, z: float, link: Float) -> tuple[float, float, float]:
    """Log probability, slope and curvature of the cumulative logit."""
    low, high = _ends(int(label[0]), z, link)
    return logistic.interval(low, high)


@compiled
def logit_log_predictive(label: Float, mean: float, var: float, link: Float, outcomes: Float) -> float:
    """Log probabilities of all classes, and that of the label."""
    for k in range(outcomes.size):
        low, high = _ends(k, mean, link)
        outcomes[k] = logistic.log_expected_interval(low, high, var)
    return float(outcomes[int(label[0])])


@compiled
def probit_derivatives(label: Float, z: float, link: Float) -> tuple[float, float, float]:
    """Log probability, slope and curvature of the cumulative probit."""
    low, high = _ends(int(label[0]), z, link)
    return normal.interval(low, high)


@compiled
def probit_log_predictive(label: Float, mean: float, var: float, link: Float, outcomes: Float) -> float:
    """The same for the probit, where the integral has a closed form."""
    spread = math.sqrt(1.0 + var)
    for k in range(outcomes.size):
        low, high = _ends(k, mean, link)
        outcomes[k] = normal.log_interval(low / spread, high / spread)
    return float(outcomes[int(label[0])])
