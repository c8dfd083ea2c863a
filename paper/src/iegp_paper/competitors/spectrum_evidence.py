"""Evidence of the sparse-spectrum GP with ARD length scales, and its gradient, for the hyperparameters of I-SSGPR.

The draws of the spectral points stay fixed at length scale one; the length scale of each column stretches them
(Gijsberts & Metta 2013, after Lazaro-Gredilla et al. 2010). With ``A = Phi'Phi + (noise / signal) I`` everything costs
O(n F²).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from iegp.core.compute.tolerances import MAX_NOISE_VAR, MIN_NOISE_VAR
from iegp.core.features import fourier_rows
from iegp.typing import Float

_LOG_SIGNAL_BOUNDS = (np.log(1e-4), np.log(1e4))
_LOG_NOISE_BOUNDS = (np.log(MIN_NOISE_VAR), np.log(MAX_NOISE_VAR))
# How far the log of a length scale may be from that of sqrt(d), the typical distance of standardised rows.
_FARTHEST = 7.0
# Where the search begins. Twice the range of a column and a noise of 1/16 are the first guess of the authors' code:
# nearly flat functions. It misses short waves; sqrt(d), in turn, can end among ripples that explain nothing when there
# are many columns. So a few steps are made from both, and the search continues from the better one.
_TRIAL_STEPS = 20


def negative_log_evidence(draws: Float, x: Float, y: Float, parameters: Float) -> tuple[float, Float]:
    """Minus log evidence of rows ``x`` (n, d), ``y`` (n,) and its gradient in log length scales, signal, noise."""
    n, n_columns = x.shape
    frequencies = draws / np.exp(parameters[:n_columns])
    signal, noise = np.exp(parameters[n_columns:])
    phi = fourier_rows(x, np.ascontiguousarray(frequencies))
    n_frequencies, n_features = len(draws), phi.shape[1]
    normal = phi.T @ phi
    normal[np.diag_indices(n_features)] += noise / signal
    factor = cho_factor(normal, lower=True)
    inverse = cho_solve(factor, np.eye(n_features))
    mean = inverse @ (phi.T @ y)
    residual = (y - phi @ mean) / noise
    log_det = 2.0 * np.log(np.diagonal(factor[0])).sum() + n_features * np.log(signal / noise)
    value = 0.5 * (float(y @ residual) + log_det + n * np.log(2.0 * np.pi * noise))

    # d value / d Phi, then through sine and cosine to the angles, then to the length scales.
    pull = phi @ inverse - np.outer(residual, mean)
    sines, cosines = phi[:, :n_frequencies], phi[:, n_frequencies:]
    angles = pull[:, :n_frequencies] * cosines - pull[:, n_frequencies:] * sines
    d_scales = -((x.T @ angles) * frequencies.T).sum(axis=1)
    trace = noise / signal * np.trace(inverse)
    d_signal = 0.5 * (n_features - trace - float(mean @ mean) / signal)
    d_noise = 0.5 * (n - n_features + trace - noise * float(residual @ residual))
    return float(value), np.concatenate([d_scales, [d_signal, d_noise]])


def fit_spectrum(draws: Float, x: Float, y: Float, n_steps: int) -> tuple[Float, float, float]:
    """Length scales (d,), signal and noise variance of greatest evidence, by L-BFGS from the better of two starts."""
    n_columns = x.shape[1]
    centre = 0.5 * np.log(n_columns)
    bounds = [(centre - _FARTHEST, centre + _FARTHEST)] * n_columns + [_LOG_SIGNAL_BOUNDS, _LOG_NOISE_BOUNDS]

    def search(begin: Float, most: int) -> Any:
        return minimize(
            lambda parameters: negative_log_evidence(draws, x, y, parameters),
            begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": most},
        )  # fmt: skip

    n_trial = min(_TRIAL_STEPS, n_steps)
    found = min((search(begin, n_trial) for begin in _starts(x, centre)), key=lambda trial: float(trial.fun))
    if n_steps > n_trial:
        found = search(found.x, n_steps - n_trial)
    best = np.exp(found.x)
    return best[:n_columns], float(best[-2]), float(best[-1])


def _starts(x: Float, centre: float) -> tuple[Float, Float]:
    """Logs of length scales, signal and noise variance: by the number of columns, and by their ranges."""
    by_number = np.concatenate([np.full(x.shape[1], centre), [0.0, np.log(0.1)]])
    ranges = np.maximum(np.ptp(x, axis=0), np.finfo(np.float64).tiny) if len(x) else np.ones(x.shape[1])
    scales = np.clip(np.log(2.0 * ranges), centre - _FARTHEST, centre + _FARTHEST)
    return by_number, np.concatenate([scales, [0.0, np.log(1.0 / 16.0)]])
