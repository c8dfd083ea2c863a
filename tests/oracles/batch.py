"""Batch answers with dense matrices: the predictors of section 2, the evidence, and the joint Gaussian of a block."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def rf_predictor(Phi: Array, y: Array, Phi_new: Array, prior_var: float, noise_var: float) -> tuple[Array, Array]:
    """The two equations that end section 2: means and variances (noise included) of y at the rows of `Phi_new`."""
    F = Phi.shape[1]
    mean = Phi_new @ np.linalg.inv(Phi.T @ Phi + noise_var / prior_var * np.eye(F)) @ Phi.T @ y
    inner = np.linalg.inv(Phi.T @ Phi / noise_var + np.eye(F) / prior_var)
    variance = np.array([float(phi @ inner @ phi) + noise_var for phi in Phi_new])
    return mean, variance


def exact_gp(K: Array, K_new: Array, diag_new: Array, y: Array, noise_var: float) -> tuple[Array, Array]:
    """eq:plain_gpp. K (n, n) among the data, K_new (k, n) new against data, diag_new (k,) kappa(x_new, x_new)."""
    inverse = np.linalg.inv(K + noise_var * np.eye(len(K)))
    mean = K_new @ inverse @ y
    variance = np.array([diag_new[i] - float(k @ inverse @ k) + noise_var for i, k in enumerate(K_new)])
    return mean, variance


def gaussian_log_density(y: Array, mean: Array, covariance: Array) -> float:
    """log N(y; mean, covariance)."""
    sign, log_det = np.linalg.slogdet(covariance)
    if sign <= 0:
        raise ValueError("covariance is not positive definite")
    r = y - mean
    return -0.5 * (len(y) * math.log(2.0 * math.pi) + float(log_det) + float(r @ np.linalg.solve(covariance, r)))


def evidence_covariance(Phi: Array, prior_var: float, noise_var: float, drift_var: float = 0.0) -> Array:
    """Covariance of (y_1..y_n). Static: prior_var Phi Phi' + noise_var I (eq:approx_GPP).

    With the random walk eq:theta_s, theta_t = theta_0 + eps_1 + ... + eps_t (rows counted from 1, a step before
    the first row too), so cov(theta_s, theta_t) = (prior_var + min(s, t) drift_var) I.
    """
    n = len(Phi)
    K = np.empty((n, n))
    for s in range(n):
        for t in range(n):
            K[s, t] = (prior_var + (min(s, t) + 1) * drift_var) * float(Phi[s] @ Phi[t])
            if s == t:
                K[s, t] += noise_var
    return K


def log_marginal_likelihood(Phi: Array, y: Array, prior_var: float, noise_var: float, drift_var: float = 0.0) -> float:
    """log N(y; 0, evidence_covariance): dense, n x n, one output."""
    return gaussian_log_density(y, np.zeros(len(y)), evidence_covariance(Phi, prior_var, noise_var, drift_var))


@dataclass(frozen=True)
class Joint:
    mean: Array  # (B, D) one-step-ahead: y_t given y_1..y_{t-1} and the belief before the block
    variance: Array  # (B,)   the same, normalised (noise variance 1)
    theta: Array  # (F, D) mean of theta_B given the whole block
    covariance: Array  # (F, F) covariance of theta_B given the whole block, normalised
    log_density: float  # log p(y_1..y_B), all outputs, for the noise variances given


def joint_gaussian(
    Phi: Array, Y: Array, mean: Array, covariance: Array, drift_ratio: float, noise_var: Array | None = None
) -> Joint:
    """A block of rows with a random walk, by building the joint Gaussian of (theta_B, y_1..y_B) and conditioning.

    Belief before the block: `mean` (F, D) and `covariance` (F, F), normalised by the noise variance; Y is (B, D). All
    the independent variables are stacked, u = (theta_0, eps_1..eps_B, noise_1..noise_B), and mapped linearly: from
    theta_t = theta_0 + eps_1 + ... + eps_t (eq:theta_s) and y_t = phi_t' theta_t + noise_t.
    """
    B, F = Phi.shape
    D = Y.shape[1]
    noise_var = np.ones(D) if noise_var is None else noise_var

    cov_u = np.zeros((F + F * B + B, F + F * B + B))
    cov_u[:F, :F] = covariance
    cov_u[F : F + F * B, F : F + F * B] = drift_ratio * np.eye(F * B)
    cov_u[F + F * B :, F + F * B :] = np.eye(B)

    def theta_map(t: int) -> Array:
        """Rows that give theta_t from u (t = 0..B)."""
        A = np.zeros((F, len(cov_u)))
        A[:, :F] = np.eye(F)
        for tau in range(1, t + 1):
            A[:, F * tau : F * (tau + 1)] = np.eye(F)
        return A

    A = np.zeros((F + B, len(cov_u)))
    A[:F] = theta_map(B)
    for t in range(1, B + 1):
        A[F + t - 1] = Phi[t - 1] @ theta_map(t)
        A[F + t - 1, F + F * B + t - 1] += 1.0
    cov = A @ cov_u @ A.T
    mean_y = Phi @ mean  # every step and every noise has mean zero

    means, variances = np.empty((B, D)), np.empty(B)
    for t in range(B):
        past, now = slice(F, F + t), F + t
        gain = cov[now, past] @ np.linalg.inv(cov[past, past])
        means[t] = mean_y[t] + gain @ (Y[:t] - mean_y[:t])
        variances[t] = cov[now, now] - gain @ cov[past, now]

    gain_theta = cov[:F, F:] @ np.linalg.inv(cov[F:, F:])
    log_density = sum(gaussian_log_density(Y[:, d], mean_y[:, d], noise_var[d] * cov[F:, F:]) for d in range(D))
    return Joint(
        means, variances, mean + gain_theta @ (Y - mean_y), cov[:F, :F] - gain_theta @ cov[F:, :F], float(log_density)
    )
