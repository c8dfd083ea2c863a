"""Rows with weights, row by row in dense matrices.

A weight w multiplies the log likelihood of a row's label: Gaussian noise has the variance 1/w in place of 1 (in units
of the noise), another label the density p(y | z)^w. Weights of the experts and the noise learn with the log score of
the prediction times w. Predictions and scores are those of a row of weight one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from oracles import ensemble, expert, laplace, noise
from oracles.features import features

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    mean: Array  # (n, D)
    variance: Array  # (n, D)
    log_score: Array  # (n,)
    weights: Array  # (n, M)


def correct(belief: expert.Belief, phi: Array, y: Array, weight: float) -> expert.Belief:
    """Condition a belief that has walked on a label with noise 1/weight."""
    if weight == 0.0:
        return belief
    gain = belief.covariance @ phi / (float(phi @ belief.covariance @ phi) + 1.0 / weight)
    return expert.Belief(
        belief.mean + np.outer(gain, y - phi @ belief.mean),
        belief.covariance - np.outer(gain, phi @ belief.covariance),
    )


def learn_noise(own: noise.Noise, mean: Array, v: float, y: Array, weight: float, least: float) -> noise.Noise:
    """a += w/2, b += w (y - mean)^2 / (2 v); a is at least ``least``, where b/a stays."""
    shape = own.shape + 0.5 * weight
    scale = own.scale + weight * (y - mean) ** 2 / (2.0 * v)
    grown = max(shape, least) / shape
    return noise.Noise(grown * shape, grown * scale)


def run(X: Array, Y: Array, W: Array, experts: Sequence[ensemble.Expert], rule: ensemble.Rule) -> Run:
    """Every row: switch, walk and forget, predict and score, then learn with its weight."""
    n, D = Y.shape
    M = len(experts)
    Phi = [features(X, own.frequencies) for own in experts]
    beliefs = [expert.prior(Phi[m].shape[1], D, own.prior_ratio) for m, own in enumerate(experts)]
    levels = [noise.start(own.noise_shape, own.noise_var) for own in experts]
    log_w = np.full(M, -np.log(M))
    found = Run(np.empty((n, D)), np.empty((n, D)), np.empty(n), np.empty((n, M)))
    for t in range(n):
        log_w = ensemble.step_weights(rule, log_w)
        scores, means, variances = np.empty(M), np.empty((M, D)), np.empty((M, D))
        for m, own in enumerate(experts):
            beliefs[m] = expert.walk(beliefs[m], own.drift_ratio)
            means[m], v = expert.predict(beliefs[m], Phi[m][t])
            if own.noise_forgetting is None:
                variances[m] = own.noise_var * v
                errors = (Y[t] - means[m]) ** 2 / variances[m]
                scores[m] = float(np.sum(-0.5 * (np.log(2.0 * np.pi * variances[m]) + errors)))
            else:
                levels[m] = noise.forget(levels[m], own.noise_forgetting)
                variances[m] = noise.variance(levels[m], v)
                scores[m] = float(np.sum(noise.log_density(levels[m], means[m], v, Y[t])))
                least = 0.0 if own.noise_forgetting == 1.0 else own.noise_shape
                levels[m] = learn_noise(levels[m], means[m], v, Y[t], W[t], least)
            beliefs[m] = correct(beliefs[m], Phi[m][t], Y[t], W[t])
        found.weights[t] = np.exp(log_w)
        found.mean[t], found.variance[t] = ensemble.mixture_moments(found.weights[t], means, variances)
        found.log_score[t] = ensemble.mixture_log_score(log_w, scores)
        log_w = ensemble.update_weights(rule, log_w, W[t] * scores if W[t] > 0.0 else np.zeros(M))
    return found


def site(kind: str, y: float, mean: float, var: float, link: Array, weight: float) -> tuple[float, float]:
    """Slope and curvature of ``w log p(y | z)`` at the mode of ``w log p(y | z) + log N(z; mean, var)``."""

    def rest(z: float) -> float:
        return weight * laplace.gradient(kind, y, z, link) - (z - mean) / var

    pull = abs(weight * var * laplace.gradient(kind, y, mean, link)) + 1.0
    z = float(optimize.brentq(rest, mean - pull, mean + pull, xtol=1e-14, rtol=1e-14))
    return weight * laplace.gradient(kind, y, z, link), weight * laplace.curvature(kind, y, z, link)
