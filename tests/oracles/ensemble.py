"""The meta-learner: weights of the experts, the mixture prediction, and the whole of (D,S)IE-GP row by row.

Order of things in every row: switching step, prediction, score, update, shutdown. The initial weights are w_{0|0}, and
the switching step (eq:w_pre_s) is taken before every prediction, the first included. Weights are kept as logarithms.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from oracles import expert, noise
from oracles.features import features

Array = NDArray[np.float64]


# --- rules for the weights --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bayes:
    """Static weights, eq:w_update_2. An expert below `shutdown` after an update has weight 0 from the next row on."""

    shutdown: float = 0.0


@dataclass(frozen=True)
class Switching:
    """Markov switching, section 5.1: a probability of leaving (spread evenly), or a matrix [from, to]."""

    switch: float | Array


@dataclass(frozen=True)
class Stacking:
    """Soft-Bayes: w_i <- w_i (1 - rate + rate p_i / sum_j w_j p_j)."""

    rate: float


@dataclass(frozen=True)
class ExponentiatedGradient:
    """w_i <- w_i exp(rate d log(sum_j w_j p_j) / d w_i), normalised."""

    rate: float


Rule = Bayes | Switching | Stacking | ExponentiatedGradient


def switch_matrix(switch: float | Array, M: int) -> Array:
    """[i, j] = probability of going from i to j; rows sum to one (the paper's q, transposed). Scalar: as in (as4)."""
    if isinstance(switch, np.ndarray):
        return switch
    Q = np.empty((M, M))
    for i in range(M):
        for j in range(M):
            Q[i, j] = (1.0 - switch if M > 1 else 1.0) if i == j else switch / (M - 1)
    return Q


def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf


def _log_sum(values: Sequence[float] | Array) -> float:
    """log sum exp, -inf allowed."""
    peak = max(float(value) for value in values)
    if peak == -math.inf:
        return peak
    return peak + math.log(math.fsum(math.exp(float(value) - peak) for value in values))


def step_weights(rule: Rule, log_w: Array) -> Array:
    """w_{t|t} -> w_{t+1|t}: eq:w_pre_s for Switching, nothing for the others."""
    if not isinstance(rule, Switching):
        return log_w
    M = len(log_w)
    Q = switch_matrix(rule.switch, M)
    return np.array([_log_sum([log_w[i] + _log(float(Q[i, j])) for i in range(M)]) for j in range(M)])


def mixture_log_score(log_w: Array, log_scores: Array) -> float:
    """Minus the loss of eq_loss_update / eq:track_loss: log sum_m w_m p_m(y)."""
    return _log_sum(log_w + log_scores)


def update_weights(rule: Rule, log_w: Array, log_scores: Array) -> Array:
    """w_{t+1|t} -> w_{t+1|t+1}: eq:w_update_2, eq:SIEGP_w, or a stacking rule; then the shutdown."""
    total = mixture_log_score(log_w, log_scores)
    if isinstance(rule, Stacking):
        # w_i (1 - rate) + rate w_i p_i / sum_j w_j p_j, in logarithms
        stay, move = _log(1.0 - rule.rate), _log(rule.rate)
        new = [_log_sum([stay + a, move + a + b - total]) for a, b in zip(log_w, log_scores, strict=True)]
        return np.array(new) - _log_sum(new)
    if isinstance(rule, ExponentiatedGradient):
        new = [a + rule.rate * math.exp(b - total) for a, b in zip(log_w, log_scores, strict=True)]
        return np.array(new) - _log_sum(new)
    new_log_w = log_w + log_scores - total
    if isinstance(rule, Bayes) and rule.shutdown > 0.0:
        new_log_w = np.where(new_log_w < math.log(rule.shutdown), -math.inf, new_log_w)
        new_log_w = new_log_w - _log_sum(new_log_w)
    return new_log_w


@dataclass(frozen=True)
class WeightRun:
    log_weights: Array  # (n, M) used to predict row t
    log_score: Array  # (n,)   of the mixture
    log_final: Array  # (M,)   after the last row, before any further switching step

    @property
    def weights(self) -> Array:
        return np.exp(self.log_weights)


def run_weights(log_scores: Array, rule: Rule, initial: Array | None = None) -> WeightRun:
    """The meta-learner alone, on a (n, M) table of the experts' log predictive densities."""
    n, M = log_scores.shape
    log_w = np.array([_log(float(w)) for w in (np.full(M, 1.0 / M) if initial is None else initial)])
    used, scores = np.empty((n, M)), np.empty(n)
    for t in range(n):
        log_w = step_weights(rule, log_w)
        used[t] = log_w
        scores[t] = mixture_log_score(log_w, log_scores[t])
        log_w = update_weights(rule, log_w, log_scores[t])
    return WeightRun(used, scores, log_w)


# --- brute force ------------------------------------------------------------------------------------------------


def enumerate_paths(log_scores: Array, switch: Array, initial: Array) -> tuple[Array, Array]:
    """Switching without any recursion: sum over all M^(T+1) expert paths i_0, i_1, ..., i_T (proof of Lemma 2).

    P(path) = initial[i_0] prod_t switch[i_{t-1}, i_t]. Returns the prediction weights Pr(i_t = m | y_1..y_{t-1}),
    (T, M), and log p(y_t | y_1..y_{t-1}), (T,). Only for small M and T and scores of moderate size.
    """
    T, M = log_scores.shape
    weights, scores = np.empty((T, M)), np.empty(T)
    for t in range(T):
        seen, now, joint = 0.0, np.zeros(M), 0.0
        for path in itertools.product(range(M), repeat=t + 2):  # i_0 .. i_{t+1}; row t is the path's last index
            p = float(initial[path[0]])
            for tau in range(1, t + 2):
                p *= float(switch[path[tau - 1], path[tau]])
            for tau in range(1, t + 1):
                p *= math.exp(log_scores[tau - 1, path[tau]])
            seen += p
            now[path[-1]] += p
            joint += p * math.exp(log_scores[t, path[-1]])
        weights[t], scores[t] = now / seen, math.log(joint / seen)
    return weights, scores


def static_posterior(log_evidence: Array, initial: Array) -> Array:
    """Pr(i = m | y) from the experts' log marginal likelihoods (M,): prior times evidence, normalised."""
    unnormalised = [_log(float(w)) + float(e) for w, e in zip(initial, log_evidence, strict=True)]
    total = _log_sum(unnormalised)
    return np.array([math.exp(value - total) for value in unnormalised])


# --- the whole of IE-GP, DIE-GP, SIE-GP, DSIE-GP --------------------------------------------------------------------


@dataclass(frozen=True)
class Expert:
    frequencies: Array  # (n_frequencies, d)
    prior_ratio: float  # prior_var / noise_var
    drift_ratio: float  # drift_var / noise_var
    noise_var: Array  # (D,)
    noise_forgetting: float | None = None  # None: the noise is fixed and the predictive Gaussian
    noise_shape: float = 1.0  # a0, where the noise is learned


@dataclass(frozen=True)
class EnsembleRun:
    weights: Array  # (n, M)    used to predict row t
    log_weights: Array  # (n, M)
    expert_mean: Array  # (n, M, D)
    expert_normalised: Array  # (n, M)    phi' Sigma phi + 1
    expert_dof: Array  # (n, M)    2a, or inf where the noise is fixed
    expert_scale2: Array  # (n, M, D) squared scale of the predictive; for a Gaussian its variance
    expert_variance: Array  # (n, M, D) variance of the predictive (Student-t: infinite where dof <= 2)
    expert_log_score: Array  # (n, M)    summed over outputs
    log_score: Array  # (n,)
    mean: Array  # (n, D)
    std: Array  # (n, D)
    final_weights: Array  # (M,) w_{n|n}
    next_weights: Array  # (M,) w_{n+1|n}: those of the next prediction


def mixture_moments(weights: Array, means: Array, variances: Array) -> tuple[Array, Array]:
    """eq:y_pre_static: mean and variance (D,) from weights (M,), means and variances (M, D). Weight 0: ignored."""
    alive = [m for m in range(len(weights)) if weights[m] > 0.0]
    mean = np.zeros(means.shape[1])
    for m in alive:
        mean = mean + weights[m] * means[m]  # eq:mean_f_pre
    variance = np.zeros(means.shape[1])
    for m in alive:
        variance = variance + weights[m] * (variances[m] + (mean - means[m]) ** 2)  # eq:var_f_pre
    return mean, variance


def run(X: Array, Y: Array, experts: Sequence[Expert], rule: Rule, initial: Array | None = None) -> EnsembleRun:
    """Test, then train, row by row. X is (n, d), Y is (n, D). Row t's output uses Y[:t] only (but for the scores).

    A prediction at new inputs after n rows is what this gives for a row appended with any label.
    """
    n, D = Y.shape
    M = len(experts)
    Phi = [features(X, e.frequencies) for e in experts]
    beliefs = [expert.prior(2 * len(e.frequencies), D, e.prior_ratio) for e in experts]
    noises = [noise.start(e.noise_shape, e.noise_var) for e in experts]
    log_w = np.array([_log(float(w)) for w in (np.full(M, 1.0 / M) if initial is None else initial)])

    log_weights, expert_mean, normalised = np.empty((n, M)), np.empty((n, M, D)), np.empty((n, M))
    dof, scale2, expert_variance = np.empty((n, M)), np.empty((n, M, D)), np.empty((n, M, D))
    expert_score, log_score, mean, std = np.empty((n, M)), np.empty(n), np.empty((n, D)), np.empty((n, D))

    for t in range(n):
        y = Y[t]
        # Prediction
        log_w = step_weights(rule, log_w)
        log_weights[t] = log_w
        for m, e in enumerate(experts):
            beliefs[m] = expert.walk(beliefs[m], e.drift_ratio)
            mu, v = expert.predict(beliefs[m], Phi[m][t])
            expert_mean[t, m], normalised[t, m] = mu, v
            if e.noise_forgetting is None:
                dof[t, m] = math.inf
                scale2[t, m] = expert_variance[t, m] = e.noise_var * v
                scores = [stats.norm.logpdf(y[d], mu[d], math.sqrt(scale2[t, m, d])) for d in range(D)]
            else:
                noises[m] = noise.forget(noises[m], e.noise_forgetting)
                dof[t, m], scale2[t, m] = noise.predictive(noises[m], v)
                expert_variance[t, m] = noise.variance(noises[m], v)
                scores = list(noise.log_density(noises[m], mu, v, y))
            expert_score[t, m] = math.fsum(scores)
        mean[t], variance = mixture_moments(np.exp(log_w), expert_mean[t], expert_variance[t])
        std[t] = np.sqrt(variance)
        log_score[t] = mixture_log_score(log_w, expert_score[t])
        # Correction
        log_w = update_weights(rule, log_w, expert_score[t])
        for m, e in enumerate(experts):
            if e.noise_forgetting is not None:
                noises[m] = noise.learn(noises[m], expert_mean[t, m], float(normalised[t, m]), y)
            beliefs[m] = expert.correct(beliefs[m], Phi[m][t], y)

    return EnsembleRun(
        weights=np.exp(log_weights),
        log_weights=log_weights,
        expert_mean=expert_mean,
        expert_normalised=normalised,
        expert_dof=dof,
        expert_scale2=scale2,
        expert_variance=expert_variance,
        expert_log_score=expert_score,
        log_score=log_score,
        mean=mean,
        std=std,
        final_weights=np.exp(log_w),
        next_weights=np.exp(step_weights(rule, log_w)),
    )
