"""One random-feature GP expert for regression, row by row: section 3.1, and the random walk of section 5.2."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


# --- the paper's own units, one output --------------------------------------------------------------------------


@dataclass(frozen=True)
class PaperRun:
    mean: Array  # (n,)   hat y_{t+1|t}
    variance: Array  # (n,)   sigma^2_{t+1|t}, observation noise included
    loss: Array  # (n,)   l_{t+1|t} of eq:loss_s
    theta: Array  # (F,)   hat theta_n
    covariance: Array  # (F, F) Sigma_n


def paper_run(Phi: Array, y: Array, prior_var: float, noise_var: float, drift_var: float = 0.0) -> PaperRun:
    """Algorithm 1 for one expert, variances as printed. `Phi` is (n, F), `y` is (n,)."""
    n, F = Phi.shape
    theta = np.zeros(F)  # eq:p_theta
    Sigma = prior_var * np.eye(F)
    means, variances, losses = np.empty(n), np.empty(n), np.empty(n)
    for t in range(n):
        phi = Phi[t]
        Sigma = Sigma + drift_var * np.eye(F)  # eq:theta_s, eq:p_theta_pre: before every prediction, the first too
        mean = float(phi @ theta)  # eq:26 a
        variance = float(phi @ Sigma @ phi) + noise_var  # eq:26 b
        means[t], variances[t] = mean, variance
        losses[t] = 0.5 * math.log(2.0 * math.pi * variance) + (y[t] - mean) ** 2 / (2.0 * variance)  # eq:loss_s
        theta = theta + Sigma @ phi * (y[t] - mean) / variance  # eq:posterior_update_1 a
        Sigma = Sigma - np.outer(Sigma @ phi, phi @ Sigma) / variance  # eq:posterior_update_1 b
    return PaperRun(means, variances, losses, theta, Sigma)


# --- everything divided by the noise variance, D outputs that share one covariance ----------------------------------


@dataclass(frozen=True)
class Belief:
    mean: Array  # (F, D)
    covariance: Array  # (F, F), divided by the noise variance


@dataclass(frozen=True)
class ExpertRun:
    mean: Array  # (n, D)
    variance: Array  # (n,) normalised: phi' Sigma phi + 1; times noise_var[d] it is the variance of output d
    belief: Belief  # after the last row


def prior(n_features: int, n_outputs: int, prior_ratio: float) -> Belief:
    """eq:p_theta with prior_ratio = prior_var / noise_var."""
    return Belief(np.zeros((n_features, n_outputs)), prior_ratio * np.eye(n_features))


def walk(belief: Belief, drift_ratio: float) -> Belief:
    """eq:p_theta_pre with drift_ratio = drift_var / noise_var."""
    return Belief(belief.mean, belief.covariance + drift_ratio * np.eye(len(belief.covariance)))


def predict(belief: Belief, phi: Array) -> tuple[Array, float]:
    """eq:26 for a belief that has already walked: mean (D,), normalised variance phi' Sigma phi + 1."""
    return phi @ belief.mean, float(phi @ belief.covariance @ phi) + 1.0


def correct(belief: Belief, phi: Array, y: Array) -> Belief:
    """eq:posterior_update_1 for a belief that has already walked; `y` is (D,)."""
    mean, variance = predict(belief, phi)
    gain = belief.covariance @ phi / variance
    return Belief(
        belief.mean + np.outer(gain, y - mean),
        belief.covariance - np.outer(gain, phi @ belief.covariance),
    )


def run(Phi: Array, Y: Array, prior_ratio: float, drift_ratio: float = 0.0, start: Belief | None = None) -> ExpertRun:
    """Walk, predict, correct, for every row. `Phi` is (n, F), `Y` is (n, D); `start` continues from a belief."""
    n, F = Phi.shape
    D = Y.shape[1]
    belief = prior(F, D, prior_ratio) if start is None else start
    means, variances = np.empty((n, D)), np.empty(n)
    for t in range(n):
        belief = walk(belief, drift_ratio)
        means[t], variances[t] = predict(belief, Phi[t])
        belief = correct(belief, Phi[t], Y[t])
    return ExpertRun(means, variances, belief)
