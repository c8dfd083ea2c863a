"""The paper's Algorithm 1 row by row in plain NumPy, the reference for the speed of blocks."""

from __future__ import annotations

import numpy as np

from iegp.typing import Float


def as_printed(x: Float, y: Float, frequencies: Float, prior_ratio: float, drift_ratio: float) -> Float:
    """Predictive means (n, M), in units of the noise: for each row, for each expert, predict, weigh, update."""
    n_experts, n_frequencies, _ = frequencies.shape
    n_features = 2 * n_frequencies
    covariances = [prior_ratio * np.eye(n_features) for _ in range(n_experts)]
    means = [np.zeros(n_features) for _ in range(n_experts)]
    weights = np.full(n_experts, 1.0 / n_experts)
    step = drift_ratio * np.eye(n_features)
    out = np.empty((len(x), n_experts))
    for t in range(len(x)):
        for m in range(n_experts):
            angles = frequencies[m] @ x[t]
            phi = np.concatenate([np.sin(angles), np.cos(angles)]) / np.sqrt(n_frequencies)
            if drift_ratio:
                covariances[m] = covariances[m] + step
            gain = covariances[m] @ phi
            variance = 1.0 + phi @ gain
            out[t, m] = phi @ means[m]
            error = y[t, 0] - out[t, m]
            weights[m] *= np.exp(-0.5 * error**2 / variance) / np.sqrt(variance)
            means[m] = means[m] + gain * error / variance
            covariances[m] = covariances[m] - np.outer(gain, gain) / variance
        weights = np.maximum(weights, 1e-300)
        weights /= weights.sum()
    return out


def batched(x: Float, y: Float, frequencies: Float, prior_ratio: float, drift_ratio: float) -> Float:
    """The same results with all experts in one array operation: as far as plain NumPy goes, row by row."""
    n_experts, n_frequencies, _ = frequencies.shape
    n_features = 2 * n_frequencies
    covariance = np.tile(prior_ratio * np.eye(n_features), (n_experts, 1, 1))
    mean = np.zeros((n_experts, n_features))
    log_weights = np.full(n_experts, -np.log(n_experts))
    step = drift_ratio * np.eye(n_features)
    out = np.empty((len(x), n_experts))
    for t in range(len(x)):
        angles = frequencies @ x[t]
        phi = np.concatenate([np.sin(angles), np.cos(angles)], axis=1) / np.sqrt(n_frequencies)
        if drift_ratio:
            covariance += step
        gain = np.matmul(covariance, phi[:, :, None])[:, :, 0]
        variance = 1.0 + (gain * phi).sum(axis=1)
        out[t] = (phi * mean).sum(axis=1)
        error = y[t, 0] - out[t]
        log_weights -= 0.5 * (np.log(variance) + error**2 / variance)
        log_weights -= np.logaddexp.reduce(log_weights)
        mean += (error / variance)[:, None] * gain
        covariance -= gain[:, :, None] * (gain / variance[:, None])[:, None, :]
    return out
