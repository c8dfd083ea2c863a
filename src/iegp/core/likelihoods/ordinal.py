"""Ordered classes 0..K-1: ``P(y <= j) = F(link[j] - z)`` with increasing cut-points ``link``, F logistic or normal."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from scipy import special

from iegp._compile import compiled
from iegp.core.compute import logistic, normal
from iegp.core.compute.newton import newton
from iegp.core.compute.tolerances import FARTHEST_LINK, LINK_SPREAD, MAX_GAP, MIN_GAP
from iegp.core.likelihoods.links import Link
from iegp.core.likelihoods.protocol import Likelihood
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
def logit_log_predictive(label: Float, mean: Float, var: float, link: Float, nodes: Float, outcomes: Float) -> float:
    """Log probabilities of all classes, and that of the label."""
    return _log_intervals(label, mean[0], var, link, outcomes)


@compiled
def logit_probit_log_predictive(
    label: Float, mean: Float, var: float, link: Float, nodes: Float, outcomes: Float
) -> float:
    """Log probabilities of all classes by the probit approximation, and that of the label."""
    shrink = logistic.probit_shrinkage(var)
    return _log_intervals(label, shrink * mean[0], 0.0, shrink * link, outcomes)


@compiled
def _log_intervals(label: Float, mean: float, var: float, link: Float, outcomes: Float) -> float:
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
def probit_log_predictive(label: Float, mean: Float, var: float, link: Float, nodes: Float, outcomes: Float) -> float:
    """Log probabilities of all classes, and that of the label; for the probit the integral has a closed form."""
    spread = math.sqrt(1.0 + var)
    for k in range(outcomes.size):
        low, high = _ends(k, mean[0], link)
        outcomes[k] = normal.log_interval(low / spread, high / spread)
    return float(outcomes[int(label[0])])


class CutPoints(Link):
    """Increasing cut-points, searched as the first one and the logs of the gaps, so that any numbers are in order."""

    def free(self) -> Float:
        """The free numbers of ``start``."""
        return np.concatenate([self.start[:1], np.log(np.maximum(np.diff(self.start), MIN_GAP))])

    def parameters(self, free: Float) -> Float:
        """The inverse of :meth:`free`."""
        return np.asarray(free[0] + np.concatenate([[0.0], np.cumsum(np.exp(free[1:]))]))

    def penalty(self, free: Float) -> tuple[float, Float]:
        """Minus the log prior of the free numbers, and its gradient.

        Cut-points are held by their centre, not by the first of them: so that reversing the order of the levels
        reverses everything.
        """
        start = self.free()
        away, slopes = free - start, np.eye(len(free))
        centre = self.parameters(free).mean() - self.parameters(start).mean()
        ranks = np.arange(1, len(free))
        slopes[0, 1:] = (len(free) - ranks) / len(free) * np.exp(free[1:])
        away = np.concatenate([[centre], away[1:]])
        return 0.5 * float(away @ away) / LINK_SPREAD**2, np.asarray(slopes.T @ away) / LINK_SPREAD**2

    def bounds(self) -> list[tuple[float, float]]:
        """Where the free numbers may lie."""
        first = self.start[0]
        gaps = float(np.log(MIN_GAP)), float(np.log(MAX_GAP))
        return [(first - FARTHEST_LINK, first + FARTHEST_LINK), *[gaps] * (len(self.start) - 1)]


class Ordinal(Likelihood):
    """Ordered classes; subclasses say which noise blurs the latent value."""

    has_classes = True
    is_ordinal = True
    has_free_link = True
    max_curvature = 1.0
    noise_var: ClassVar[float]
    """Variance of the noise."""

    @staticmethod
    def noise_quantile(probability: float) -> float:
        """Quantile of the noise, which is symmetric."""
        raise NotImplementedError

    def n_classes(self, n_link: int) -> int:
        """One more than there are cut-points."""
        return n_link + 1

    def start_link(self, y: Float, n_outcomes: int) -> Float:
        """Cut-points of the frequencies of the classes."""
        frequencies = (np.bincount(y[:, 0].astype(np.intp), minlength=n_outcomes) + 1.0) / (len(y) + n_outcomes)
        below = np.cumsum(frequencies)[:-1]
        return np.asarray(np.log(below / (1.0 - below)))

    def link_from(self, y: Float, n_outcomes: int, overdispersion: float | None = None) -> Link:
        """Cut-points, to be found by evidence."""
        del overdispersion
        return CutPoints(self, self.start_link(y, n_outcomes))


class OrdinalLogit(Ordinal):
    """Cumulative logit."""

    name = "ordinal-logit"
    never_fails = True
    noise_var = math.pi**2 / 3.0
    noise_quantile = staticmethod(special.logit)
    derivatives = staticmethod(logit_derivatives)
    site = staticmethod(newton("ordinal-logit", logit_derivatives).site)
    log_predictive = staticmethod(logit_log_predictive)
    probit_log_predictive = staticmethod(logit_probit_log_predictive)


class OrdinalProbit(Ordinal):
    """Cumulative probit."""

    name = "ordinal-probit"
    never_fails = True
    noise_var = 1.0
    noise_quantile = staticmethod(special.ndtri)
    derivatives = staticmethod(probit_derivatives)
    site = staticmethod(newton("ordinal-probit", probit_derivatives).site)
    log_predictive = staticmethod(probit_log_predictive)
