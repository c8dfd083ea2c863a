"""Drift per unit of elapsed time, row by row: every expert walks, forgets and switches over the gap before a row.

`gaps` (n,) are in steps: a gap of one is what happens between two rows where time does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, stats

from oracles import ensemble, expert, laplace, noise
from oracles.features import features

Array = NDArray[np.float64]


def transitions_over(Q: Array, gap: float) -> Array:
    """A^g of a chain with one probability, by its Schur form; A^floor(g) ((1-f) I + f A) of any other."""
    M = len(Q)
    others = Q[~np.eye(M, dtype=bool)]
    if np.ptp(others) == 0.0:
        return np.real(linalg.fractional_matrix_power(Q, gap))
    whole, fraction = math.floor(gap), gap - math.floor(gap)
    power = np.eye(M)
    for _ in range(whole):
        power = power @ Q
    return power @ ((1.0 - fraction) * np.eye(M) + fraction * Q)


def forget_over(state: noise.Noise, rho: float, start_shape: float, gap: float) -> noise.Noise:
    """The level b/a stays; a falls by rho^gap, but not below what the first row of all is predicted with."""
    shape = max(rho**gap * state.shape, rho * start_shape)
    return noise.Noise(shape, state.scale / state.shape * shape)


@dataclass(frozen=True)
class Run:
    weights: Array  # (n, M) used to predict row t
    log_score: Array  # (n,)
    mean: Array  # (n, D)
    std: Array  # (n, D)


def run(X: Array, Y: Array, experts: Sequence[ensemble.Expert], rule: ensemble.Rule, gaps: Array) -> Run:
    """Test, then train, row by row, as `ensemble.run`, with a gap before every row."""
    n, D = Y.shape
    M = len(experts)
    Phi = [features(X, e.frequencies) for e in experts]
    beliefs = [expert.prior(2 * len(e.frequencies), D, e.prior_ratio) for e in experts]
    noises = [noise.start(e.noise_shape, e.noise_var) for e in experts]
    log_w = np.full(M, -math.log(M))
    weights, log_score, means, stds = np.empty((n, M)), np.empty(n), np.empty((n, D)), np.empty((n, D))
    for t in range(n):
        if isinstance(rule, ensemble.Switching):
            Q = transitions_over(ensemble.switch_matrix(rule.switch, M), float(gaps[t]))
            log_w = ensemble.step_weights(replace(rule, switch=Q), log_w)
        mean, variance, v, scores = np.empty((M, D)), np.empty((M, D)), np.empty(M), np.empty(M)
        for m, e in enumerate(experts):
            beliefs[m] = expert.walk(beliefs[m], float(gaps[t]) * e.drift_ratio)
            mean[m], v[m] = expert.predict(beliefs[m], Phi[m][t])
            if e.noise_forgetting is None:
                variance[m] = e.noise_var * v[m]
                scores[m] = np.sum(stats.norm.logpdf(Y[t], mean[m], np.sqrt(variance[m])))
            else:
                noises[m] = forget_over(noises[m], e.noise_forgetting, e.noise_shape, float(gaps[t]))
                variance[m] = noise.variance(noises[m], v[m])
                scores[m] = math.fsum(noise.log_density(noises[m], mean[m], v[m], Y[t]))
        weights[t] = np.exp(log_w)
        means[t], var = ensemble.mixture_moments(weights[t], mean, variance)
        stds[t] = np.sqrt(var)
        log_score[t] = ensemble.mixture_log_score(log_w, scores)
        log_w = ensemble.update_weights(rule, log_w, scores)
        for m, e in enumerate(experts):
            if e.noise_forgetting is not None:
                noises[m] = noise.learn(noises[m], mean[m], float(v[m]), Y[t])
            beliefs[m] = expert.correct(beliefs[m], Phi[m][t], Y[t])
    return Run(weights, log_score, means, stds)


def latent(
    kind: str, Phi: Array, labels: Array, link: Array, variances: tuple[float, float], gaps: Array
) -> tuple[Array, Array]:
    """Latent means (n, L) and variances (n,) of labels (n, columns) that are not Gaussian.

    `variances` are that of the prior and that of the walk per step.
    """
    (n, F), (prior_var, drift_var) = Phi.shape, variances
    K = len(link) if kind == "categorical" else 1
    m, S = np.zeros((K, F)), prior_var * np.eye(F)
    means, found = np.empty((n, K)), np.empty(n)
    for t in range(n):
        S = S + gaps[t] * drift_var * np.eye(F)
        means[t], found[t] = m @ Phi[t], float(Phi[t] @ S @ Phi[t])
        if kind == "categorical":
            m, S = laplace.categorical_update(Phi[t], int(labels[t, 0]), m, S, link)
        else:
            exposure = float(labels[t, 1]) if labels.shape[1] == 2 else 1.0
            mode, S = laplace.update(kind, Phi[t], float(labels[t, 0]), m[0], S, link, exposure)
            m = mode[None]
    return means, found
