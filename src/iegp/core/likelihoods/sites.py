"""What one label does to a Gaussian latent value: Laplace's approximation along a single row (section III-B, sec:LA).

Along a row the posterior is one-dimensional (or K-dimensional with K classes), so an update needs no F-dimensional
optimiser: the mode of ``log p(y | z) + log N(z; mean, var)`` is found by a safeguarded Newton iteration on ``z``. The
site that results is known by its *slope* g and *curvature* h at the mode. The latent mean moves by ``var * g`` and its
variance is divided by ``1 + h var``: neither divides by h, so a label that says nothing (h = 0) is harmless.

The functions of a likelihood are called through their addresses, so that what calls them is compiled once for all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iegp._compile import call_at, compiled
from iegp.core.compute.newton import log_average, log_integral, site_at
from iegp.core.compute.tolerances import N_DRAWS
from iegp.typing import Float

if TYPE_CHECKING:
    from iegp.core.likelihoods.protocol import Likelihood

INTEGRATIONS = ("quadrature", "probit", "monte-carlo")


class LabelModel(NamedTuple):
    """What the labels are and how their predictive probabilities are found. Belongs to a process: never stored."""

    derivatives: int
    """Address of the log density and its derivatives; 0 where they are not needed."""
    site: int
    """Address of the function that finds a site; 0: by Newton's method, from the derivatives."""
    log_predictive: int
    """Address of the log predictive density; 0: from the derivatives."""
    link: Float
    """(P,): parameters of the likelihood, such as cut-points; for an ensemble (n_beliefs, P)."""
    nodes: Float
    """(n_latents, draws): standard normal draws for Monte Carlo integration, if asked for."""
    is_weighted: bool
    """Whether the last column of a label is its weight, which multiplies the log density."""


def label_model_of(likelihood: Likelihood, integration: str, link: Float, nodes: Float) -> LabelModel:
    """The label model of a likelihood; its functions are compiled now if they never were."""
    site, predictive = likelihood.site_address, likelihood.predictive_address(integration)
    derivatives = 0 if site and predictive else likelihood.derivatives_address
    return LabelModel(derivatives, site, predictive, link, nodes, False)


def draws(integration: str, n_latents: int, seed: int) -> Float:
    """Standard normal draws (n_latents, n) for Monte Carlo, made once; none for the other ways."""
    if integration != "monte-carlo":
        return np.zeros((n_latents, 0))
    half = np.random.default_rng((seed, 3)).standard_normal((n_latents, N_DRAWS // 2))
    return np.concatenate([half, -half], axis=1)  # as many above as below: no side is favoured


@compiled
def of_belief(label_model: LabelModel, belief: int) -> LabelModel:
    """The label model of one belief of an ensemble."""
    derivatives, site, log_predictive, link, nodes, is_weighted = label_model
    return LabelModel(derivatives, site, log_predictive, link[belief], nodes, is_weighted)


@compiled
def site(label_model: LabelModel, label: Float, mean: Float, var: float, slope: Float) -> float:
    """Slope (L,) of the label's log likelihood at the posterior mode; returns the curvature that all latents share.

    A weight w multiplies both. The mode of ``w log p(y | z) + log N(z; mean, var)`` is that of a label without weight
    for the variance ``w var``.
    """
    if not label_model.is_weighted:
        return _site(label_model, label, mean, var, slope)
    weight = float(label[label.size - 1])
    if weight == 0.0:
        slope[:] = 0.0
        return 0.0
    curvature = _site(label_model, label, mean, weight * var, slope)
    slope *= weight
    return weight * curvature


@compiled
def _site(label_model: LabelModel, label: Float, mean: Float, var: float, slope: Float) -> float:
    """Slope and curvature of a label without a weight."""
    if label_model.site == 0 and label_model.derivatives == 0:
        # A Gaussian label with noise of variance one.
        for d in range(slope.size):
            slope[d] = (label[d] - mean[d]) / (1.0 + var)
        return 1.0
    if label_model.site != 0:
        return call_at(label_model.site, (label, mean, var, label_model.link, slope))
    curvature = site_at(label, mean, var, (label_model.derivatives, label_model.link), slope)
    # Not log-concave: a NaN shows that it cannot be used.
    return curvature if curvature >= 0.0 else math.nan


@compiled
def log_predictive(label_model: LabelModel, label: Float, mean: Float, var: float, outcomes: Float) -> float:
    """Log probability of the label for z ~ N(mean, var); ``outcomes`` (K,) receives that of every class, if any."""
    var = max(var, 0.0)
    if label_model.log_predictive != 0:
        link, nodes = label_model.link, label_model.nodes
        return call_at(label_model.log_predictive, (label, mean, var, link, nodes, outcomes))
    if outcomes.size == 0:
        return _log_density(label_model, label, mean[0], var)
    candidate = label.copy()
    for k in range(outcomes.size):
        candidate[0] = k
        outcomes[k] = _log_density(label_model, candidate, mean[0], var)
    return float(outcomes[int(label[0])])


@compiled
def _log_density(label_model: LabelModel, label: Float, mean: float, var: float) -> float:
    """Log predictive density of one label, from the derivatives alone."""
    link = label_model.derivatives, label_model.link
    if label_model.nodes.shape[1] > 0:
        return log_average(label, mean, var, link, label_model.nodes[0])
    return log_integral(label, mean, var, link)
