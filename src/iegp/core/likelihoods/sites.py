"""What one label does to a Gaussian latent value: Laplace's approximation along a single row (section III-B, sec:LA).

Along a row the posterior is one-dimensional (or K-dimensional with K classes), so an update needs no F-dimensional
optimiser: the mode of ``log p(y | z) + log N(z; mean, var)`` is found by a safeguarded Newton iteration on ``z``. The
site that results is known by its *slope* g and *curvature* h at the mode. The latent mean moves by ``var * g`` and its
variance is divided by ``1 + h var``: neither divides by h, so a label that says nothing (h = 0) is harmless.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.likelihoods import (
    BERNOULLI_LOGIT,
    BERNOULLI_PROBIT,
    CATEGORICAL,
    ORDINAL_LOGIT,
    ORDINAL_PROBIT,
    POISSON,
    bernoulli,
    categorical,
    ordinal,
    poisson,
)
from iegp.typing import Float

QUADRATURE, PROBIT, MONTE_CARLO = range(3)
INTEGRATIONS = ("quadrature", "probit", "monte-carlo")
N_DRAWS = 256

_MAX_STEPS = 200
# The likelihoods vary on a scale of one, and Newton squares the error: after a step this small it is rounding.
_CONVERGED = 1.0e-8
# An integral over z cannot tell variances beyond these from these.
_LEAST_VAR, _LARGEST_VAR = 1.0e-14, 1.0e8


class LabelModel(NamedTuple):
    """What the labels are and how their predictive probabilities are found."""

    likelihood: int
    """A code of :mod:`iegp.core.likelihoods`."""
    integration: int
    """A code of :data:`INTEGRATIONS`."""
    link: Float
    """(P,): parameters of the likelihood, such as cut-points; for an ensemble (n_beliefs, P)."""
    nodes: Float
    """(n_latents, draws): standard normal draws for Monte Carlo integration, if asked for."""


def draws(integration: str, n_latents: int, seed: int) -> Float:
    """Standard normal draws (n_latents, n) for Monte Carlo, made once; none for the other ways."""
    if integration != "monte-carlo":
        return np.zeros((n_latents, 0))
    half = np.random.default_rng((seed, 3)).standard_normal((n_latents, N_DRAWS // 2))
    return np.concatenate([half, -half], axis=1)  # as many above as below: no side is favoured


@compiled
def of_belief(label_model: LabelModel, belief: int) -> LabelModel:
    """The label model of one belief of an ensemble."""
    return LabelModel(label_model.likelihood, label_model.integration, label_model.link[belief], label_model.nodes)


@compiled
def derivatives(kind: int, label: Float, z: float, link: Float) -> tuple[float, float, float]:
    """Log probability of the label, slope and curvature in ``z`` (likelihoods with a scalar latent value)."""
    if kind == BERNOULLI_LOGIT:
        return bernoulli.logit_derivatives(label, z, link)
    if kind == BERNOULLI_PROBIT:
        return bernoulli.probit_derivatives(label, z, link)
    if kind == POISSON:
        return poisson.derivatives(label, z, link)
    if kind == ORDINAL_LOGIT:
        return ordinal.logit_derivatives(label, z, link)
    return ordinal.probit_derivatives(label, z, link)


@compiled
def mode(kind: int, label: Float, mean: float, var: float, link: Float) -> float:
    """Where ``log p(label | z) + log N(z; mean, var)`` peaks.

    The slope of a log-concave likelihood falls, so the mode lies between ``mean`` and ``mean + var * slope(mean)``.
    Newton steps that leave this bracket, or do not shrink, are replaced by halving it: the iteration cannot diverge.
    """
    _, slope, curvature = derivatives(kind, label, mean, link)
    if slope == 0.0 or var <= 0.0:
        return mean
    low, high = min(mean, mean + var * slope), max(mean, mean + var * slope)
    z = mean + var * slope / (1.0 + var * curvature)
    if kind == POISSON:
        z = poisson.first_guess(label, mean, var, link)
    if not low < z < high:
        z = 0.5 * (max(low, mean - 1.0e6) + min(high, mean + 1.0e6))
    moved = math.inf
    for _ in range(_MAX_STEPS):
        _, slope, curvature = derivatives(kind, label, z, link)
        excess = z - mean - var * slope
        if excess > 0.0:
            high = z
        else:
            low = z
        ahead = z - excess / (1.0 + var * curvature)
        # Written so that a NaN, from an overflowing slope, is halved away too.
        if not (low <= ahead <= high and abs(ahead - z) <= 0.9 * moved):
            ahead = 0.5 * (low + high)
        moved = abs(ahead - z)
        z = ahead
        if moved < _CONVERGED:
            break
    return z


@compiled
def site(label_model: LabelModel, label: Float, mean: Float, var: float, slope: Float) -> float:
    """Slope (L,) of the label's log likelihood at the posterior mode; returns the curvature that all latents share."""
    kind, link = label_model.likelihood, label_model.link
    if kind == CATEGORICAL:
        return categorical.site(int(label[0]), mean, var, link, slope)
    z = mode(kind, label, mean[0], var, link)
    _, slope[0], curvature = derivatives(kind, label, z, link)
    return curvature


@compiled
def log_predictive(label_model: LabelModel, label: Float, mean: Float, var: float, outcomes: Float) -> float:
    """Log probability of the label for z ~ N(mean, var); ``outcomes`` (K,) receives that of every class, if any."""
    kind, integration, link = label_model.likelihood, label_model.integration, label_model.link
    var = max(var, 0.0)
    if integration == MONTE_CARLO:
        return _by_draws(label_model, label, mean, var, outcomes)
    if kind == CATEGORICAL:
        if integration == PROBIT:
            return _softmax_of_shrunk(label, mean, var, link, outcomes)
        return categorical.log_predictive(int(label[0]), mean, var, link, outcomes)
    centre = mean[0]
    if kind == POISSON:
        # A Poisson rate is no probability: there is nothing to approximate by a probit.
        if link.size > 2:
            var = min(var, link[2])
        extra = link[1] if link.size > 1 else 0.0
        centre, var = centre - 0.5 * extra, min(max(var + extra, _LEAST_VAR), _LARGEST_VAR)
        return poisson.log_predictive(label, centre, var, link[:1], mode(kind, label, centre, var, link[:1]))
    if kind == BERNOULLI_PROBIT:
        return bernoulli.probit_log_predictive(label, centre, var, link, outcomes)
    if kind == ORDINAL_PROBIT:
        return ordinal.probit_log_predictive(label, centre, var, link, outcomes)
    if integration == PROBIT:
        shrink = probit_shrinkage(var)
        if kind == BERNOULLI_LOGIT:
            return bernoulli.logit_log_predictive(label, shrink * (centre + link[0]) - link[0], 0.0, link, outcomes)
        return ordinal.logit_log_predictive(label, shrink * centre, 0.0, shrink * link, outcomes)
    if kind == BERNOULLI_LOGIT:
        return bernoulli.logit_log_predictive(label, centre, var, link, outcomes)
    return ordinal.logit_log_predictive(label, centre, var, link, outcomes)


@compiled
def probit_shrinkage(var: float) -> float:
    """The paper's probit approximation: a sigmoid under a Gaussian is close to a sigmoid of a shrunk mean."""
    return 1.0 / math.sqrt(1.0 + math.pi * var / 8.0)


@compiled
def _softmax_of_shrunk(label: Float, mean: Float, var: float, link: Float, outcomes: Float) -> float:
    # What softmax sees are differences of two latent values, whose variances add up.
    shrunk = probit_shrinkage(2.0 * var) * (mean + link)
    log_normaliser = categorical.softmax(shrunk, np.zeros(mean.size), outcomes)
    for k in range(mean.size):
        outcomes[k] = shrunk[k] - log_normaliser
    return float(outcomes[int(label[0])])


@compiled
def _by_draws(label_model: LabelModel, label: Float, mean: Float, var: float, outcomes: Float) -> float:
    """Averages over draws of the latent values."""
    kind, link, nodes = label_model.likelihood, label_model.link, label_model.nodes
    spread = math.sqrt(var)
    n_draws, n_outcomes = nodes.shape[1], outcomes.size
    if kind == POISSON:
        logs = np.empty(n_draws)
        for i in range(n_draws):
            logs[i] = derivatives(kind, label, mean[0] + spread * nodes[0, i], link)[0]
        top = logs.max()
        return float(top + math.log(np.exp(logs - top).sum() / n_draws))
    totals, p, z = np.zeros(n_outcomes), np.empty(n_outcomes), np.empty(mean.size)
    candidate = label.copy()
    for i in range(n_draws):
        for k in range(mean.size):
            z[k] = mean[k] + spread * nodes[k, i]
        if kind == CATEGORICAL:
            categorical.softmax(z, link, p)
        else:
            for k in range(n_outcomes):
                candidate[0] = k
                p[k] = math.exp(derivatives(kind, candidate, z[0], link)[0])
        totals += p
    for k in range(n_outcomes):
        outcomes[k] = math.log(max(totals[k] / n_draws, 1.0e-300))
    return float(outcomes[int(label[0])])
