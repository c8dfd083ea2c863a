"""Counts: Poisson with rate ``exposure * exp(z + link[0])``. Any non-negative number is a count (quasi-likelihood).

Real counts scatter more than Poisson's. With overdispersion ``link[1] = w > 0`` every row's rate is multiplied by
log-normal noise of mean one and log variance w. Predictions take it in exactly: ``z ~ N(mean - w/2, var + w)``. Sites
use the negative binomial of the same mean and variance, which has a closed form and is log-concave as well.

A random walk knows less and less about places it has not seen for long. For log odds that is harmless, but the mean of
a rate grows with exp(var / 2): predictions therefore never claim to know less than before the first row, ``link[2]``
being the variance of the prior.
"""

from __future__ import annotations

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.tolerances import (
    FARTHEST_LINK,
    LARGEST_COUNT,
    LARGEST_VAR,
    LEAST_VAR,
    MAX_DISPERSION,
    MAX_LOG_RATE_VAR,
    MIN_DISPERSION,
    START_DISPERSION,
)
from iegp.core.likelihoods.links import Link
from iegp.core.likelihoods.mixture import Latent
from iegp.core.likelihoods.protocol import Likelihood
from iegp.core.predictive.counts import CountMixture
from iegp.core.predictive.poisson_log_normal import derivatives, first_guess, log_poisson, mode
from iegp.typing import Float


@compiled
def site(label: Float, mean: Float, var: float, link: Float, slope: Float) -> float:
    """Slope at the posterior mode, and the curvature there."""
    z = mode(label, mean[0], var, link, first_guess(label, mean[0], var, link))
    _, slope[0], curvature = derivatives(label, z, link)
    return curvature


@compiled
def log_predictive(label: Float, mean: Float, var: float, link: Float, nodes: Float, outcomes: Float) -> float:
    """Log probability of a count: overdispersion widens the Gaussian, and the prior bounds its variance."""
    if link.size > 2:
        var = min(var, link[2])
    extra = link[1] if link.size > 1 else 0.0
    return log_poisson(label, mean[0] - 0.5 * extra, min(max(var + extra, LEAST_VAR), LARGEST_VAR), link[:1])


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
        return [(free[0] - FARTHEST_LINK, free[0] + FARTHEST_LINK), *[dispersions] * (len(free) - 1)]


class Poisson(Likelihood):
    """Counts; ``link`` is log rate, overdispersion, and the prior variance of the log rate."""

    name = "poisson"
    never_fails = True
    has_free_link = True
    max_prior_var = MAX_LOG_RATE_VAR
    link_low, link_high = (-800.0, 0.0, 1e-13), (800.0, 100.0, 1.1e12)
    label_low, label_high = 0.0, LARGEST_COUNT
    derivatives = staticmethod(derivatives)
    site = staticmethod(site)
    log_predictive = staticmethod(log_predictive)

    def n_link(self, n_outcomes: int) -> int:
        """Log rate, overdispersion, prior variance."""
        del n_outcomes
        return 3

    @property
    def wanted(self) -> str:
        """What a label is, in words for an error."""
        return f"a count from 0 to {LARGEST_COUNT:g}"

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

    def predictive(self, latent: Latent, link: Float, exposure: Float) -> CountMixture:
        """Mixtures of Poisson-log-normal counts."""
        offset, extra, most = link.T
        variances = np.minimum(latent.variances, most)
        log_mean = latent.means + (offset - 0.5 * extra) + np.log(exposure)[:, None]
        return CountMixture.unchecked(latent.weights, np.ascontiguousarray(log_mean), variances + extra)

    def finished_link(self, link: Float, prior_var: float) -> Float:
        """The prior variance comes last."""
        return np.append(link, prior_var)

    def targets(self, y: Float, n_outcomes: int) -> Float:
        """Logs of the rates."""
        del n_outcomes
        return np.asarray(np.log((y[:, :1] + 0.5) / y[:, 1:]))
