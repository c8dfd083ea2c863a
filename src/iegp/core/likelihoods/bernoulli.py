"""Two classes: the label 1 has probability ``sigmoid(z + link[0])``, or the normal distribution function of it."""

from __future__ import annotations

import math

from iegp._compile import compiled
from iegp.core.compute.logistic import log_expected_sigmoid, probit_shrinkage
from iegp.core.compute.newton import newton
from iegp.core.compute.normal import interval, log_normal_cdf
from iegp.core.likelihoods.protocol import Likelihood
from iegp.typing import Float


@compiled
def logit_derivatives(label: Float, z: float, link: Float) -> tuple[float, float, float]:
    """Log probability, slope and curvature of the logistic likelihood."""
    x = z + link[0]
    signed = x if label[0] > 0.5 else -x
    small = math.exp(-abs(signed))
    of_other = small / (1.0 + small) if signed > 0.0 else 1.0 / (1.0 + small)
    log_probability = -math.log1p(small) + min(signed, 0.0)
    return log_probability, of_other if label[0] > 0.5 else -of_other, small / (1.0 + small) ** 2


@compiled
def logit_log_predictive(label: Float, mean: Float, var: float, link: Float, nodes: Float, outcomes: Float) -> float:
    """Log probabilities of both classes, and that of the label."""
    centre = mean[0] + link[0]
    return _both(log_expected_sigmoid(-abs(centre), var), centre, label, outcomes)


@compiled
def logit_probit_log_predictive(
    label: Float, mean: Float, var: float, link: Float, nodes: Float, outcomes: Float
) -> float:
    """Log probabilities of both classes by the probit approximation, and that of the label."""
    centre = (probit_shrinkage(var) * (mean[0] + link[0]) - link[0]) + link[0]
    return _both(log_expected_sigmoid(-abs(centre), 0.0), centre, label, outcomes)


@compiled
def probit_derivatives(label: Float, z: float, link: Float) -> tuple[float, float, float]:
    """Log probability, slope and curvature of the probit likelihood."""
    x = z + link[0]
    return interval(-x, math.inf) if label[0] > 0.5 else interval(-math.inf, -x)


@compiled
def probit_log_predictive(label: Float, mean: Float, var: float, link: Float, nodes: Float, outcomes: Float) -> float:
    """Log probabilities of both classes, and that of the label; for the probit the integral has a closed form."""
    centre = mean[0] + link[0]
    return _both(log_normal_cdf(-abs(centre) / math.sqrt(1.0 + var)), centre, label, outcomes)


@compiled
def _both(smaller: float, centre: float, label: Float, outcomes: Float) -> float:
    """Spread the log probability of the less likely class and its complement over ``outcomes``."""
    smaller = min(smaller, -math.log(2.0))
    larger = math.log1p(-math.exp(smaller))
    outcomes[0] = smaller if centre > 0.0 else larger
    outcomes[1] = larger if centre > 0.0 else smaller
    return float(outcomes[1] if label[0] > 0.5 else outcomes[0])


class Bernoulli(Likelihood):
    """Two classes; subclasses say which function turns the latent value into a probability."""

    never_fails = True
    has_classes = True
    max_curvature = 1.0
    link_low = link_high = 0.0


class BernoulliLogit(Bernoulli):
    """Two classes and a sigmoid."""

    name = "bernoulli-logit"
    derivatives = staticmethod(logit_derivatives)
    site = staticmethod(newton("bernoulli-logit", logit_derivatives).site)
    log_predictive = staticmethod(logit_log_predictive)
    probit_log_predictive = staticmethod(logit_probit_log_predictive)


class BernoulliProbit(Bernoulli):
    """Two classes and the normal distribution function."""

    name = "bernoulli-probit"
    derivatives = staticmethod(probit_derivatives)
    site = staticmethod(newton("bernoulli-probit", probit_derivatives).site)
    log_predictive = staticmethod(probit_log_predictive)
