"""The paper's recursion row by row in plain NumPy, all experts at once: what the blocks are measured against."""

from __future__ import annotations

import numpy as np

from iegp.typing import Float


def replay(x: Float, y: Float, frequencies: Float, prior_ratio: float, drift_ratio: float) -> Float:
    """Predictive means (n, M) of M experts, each row predicted and then learned (covariance form, in noise units)."""
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
