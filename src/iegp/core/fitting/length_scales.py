"""Fitting length scales to the warm-up rows by maximum evidence.

The evidence is that of the *exact* GP on at most ``LENGTH_SCALE_ROWS`` of the rows, with the kernel of the expert or a
close relative. Evidence of the random-feature model itself would be cheaper, but with many columns it bends the length
scales to the frequencies that happened to be drawn. The gradient is analytic and costs little more than the value. A
broad log-normal prior around sqrt(d), the typical distance of standardised rows, keeps columns that do not matter from
running away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize

from iegp._compile import compiled
from iegp.core.compute.tolerances import (
    DEFAULT_NOISE_VAR,
    FARTHEST_LOG_LENGTH_SCALE,
    HOPELESS_EVIDENCE,
    LENGTH_SCALE_ROWS,
    LENGTH_SCALE_SPREAD,
    LENGTH_SCALE_STEPS,
    MAX_NOISE_VAR,
    MAX_SIGNAL_VAR,
    MIN_NOISE_VAR,
    MIN_SIGNAL_VAR,
    START_LENGTH_SCALE,
)
from iegp.core.kernels import Stationary
from iegp.typing import Float

_LOG_SIGNAL_BOUNDS = (np.log(MIN_SIGNAL_VAR), np.log(MAX_SIGNAL_VAR))
_LOG_NOISE_BOUNDS = (np.log(MIN_NOISE_VAR), np.log(MAX_NOISE_VAR))


def fit_length_scales(kernel: Stationary, x: Float, y: Float, shared: bool) -> Float:
    """Length scales (d,) that maximise the evidence of rows ``x`` (n, d), ``y`` (n, D); one for all if ``shared``.

    O(min(n, LENGTH_SCALE_ROWS)³) per step, a few dozen steps.
    """
    rows = np.unique(np.linspace(0, len(x) - 1, min(len(x), LENGTH_SCALE_ROWS)).astype(np.intp))
    x, y = x[rows], y[rows]
    n_columns = x.shape[1]
    n_free = 1 if shared else n_columns
    space = make_space(len(x))
    centre = 0.5 * np.log(n_columns)

    def objective(parameters: Float) -> tuple[float, Float]:
        log_scales = np.broadcast_to(parameters[:n_free], (n_columns,))
        value, gradient = negative_log_evidence(kernel, x, y, np.append(log_scales, parameters[-2:]), space)
        slopes = gradient[:n_columns].sum(keepdims=True) if shared else gradient[:n_columns]
        away = (parameters[:n_free] - centre) / LENGTH_SCALE_SPREAD
        slopes = slopes + away / LENGTH_SCALE_SPREAD
        return value + 0.5 * float(away @ away), np.concatenate([slopes, gradient[n_columns:]])

    reach = (centre - FARTHEST_LOG_LENGTH_SCALE, centre + FARTHEST_LOG_LENGTH_SCALE)
    bounds = [reach] * n_free + [_LOG_SIGNAL_BOUNDS, _LOG_NOISE_BOUNDS]
    begin = np.concatenate([np.full(n_free, centre + np.log(START_LENGTH_SCALE)), [0.0, np.log(DEFAULT_NOISE_VAR)]])
    options = {"maxiter": LENGTH_SCALE_STEPS}
    best = minimize(objective, begin, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.array(np.exp(np.broadcast_to(best.x[:n_free], (n_columns,))))


class Space(NamedTuple):
    """Matrices (n, n) that every evaluation fills anew: new ones would be mapped into memory page by page each time."""

    square: Float
    covariance: Float
    pull: Float


def make_space(n: int) -> Space:
    """For n rows."""
    return Space(np.empty((n, n)), np.empty((n, n)), np.empty((n, n)))


def negative_log_evidence(
    kernel: Stationary, x: Float, y: Float, logarithms: Float, space: Space | None = None
) -> tuple[float, Float]:
    """Minus log evidence of exact GP regression and its gradient in all ``logarithms`` (d + 2,).

    These are of the length scales and of the variances of the signal and of the noise.
    """
    signal, noise = float(np.exp(logarithms[-2])), float(np.exp(logarithms[-1]))
    n, n_outputs = y.shape
    space = space or make_space(n)
    z = x / np.exp(logarithms[:-2])
    covariance = space.covariance
    gram, slope = kernel.value_and_slope(_squared_distances(z, space))
    np.multiply(signal, gram, out=covariance)
    covariance[np.diag_indices(n)] += noise
    # A symmetric matrix is its own transpose: LAPACK works in place on the row-major array, seen as column-major.
    lower, failed = lapack.dpotrf(covariance.T, lower=1, overwrite_a=1)
    if failed:
        # Numerically singular: tell the line search to step back.
        return HOPELESS_EVIDENCE, np.zeros(len(logarithms))
    log_det = 2.0 * float(np.log(np.diagonal(lower)).sum())
    alpha, _ = lapack.dpotrs(lower, y, lower=1)
    inverse, _ = lapack.dpotri(lower, lower=1, overwrite_c=1)
    value = 0.5 * float((y * alpha).sum()) + 0.5 * n_outputs * (log_det + n * float(np.log(2.0 * np.pi)))
    pull = space.pull
    d_signal, d_noise = _pull(inverse.T, np.ascontiguousarray(alpha), gram, slope, signal, pull)
    # (z - z')² summed with the weights ``pull``, expanded so that no (n, n, d) array is needed.
    d_scales = 2.0 * (pull.sum(axis=1) @ z**2 - (z * (pull @ z)).sum(axis=0))
    return value, np.append(d_scales, [d_signal, noise * d_noise])


def _squared_distances(z: Float, space: Space) -> Float:
    """(n, n) of rows; the matrix of the covariance is used on the way."""
    norms = (z**2).sum(axis=1)
    square, products = space.square, np.matmul(z, z.T, out=space.covariance)
    products *= 2.0
    np.add(norms[:, None], norms[None, :], out=square)
    square -= products
    return np.maximum(square, 0.0, out=square)


@compiled
def _pull(inverse: Float, alpha: Float, gram: Float, slope: Float, signal: float, pull: Float) -> tuple[float, float]:
    """The chain rule from the covariance to distances (into ``pull``), to the signal and to the noise.

    ``inverse`` holds the upper triangle of the inverse covariance; d value / d covariance is
    ``(D inverse - alpha alpha') / 2``.
    """
    n, n_outputs = alpha.shape
    d_signal, d_noise = 0.0, 0.0
    for i in range(n):
        for j in range(i, n):
            product = 0.0
            for d in range(n_outputs):
                product += alpha[i, d] * alpha[j, d]
            outer = 0.5 * (n_outputs * inverse[i, j] - product)
            pull[i, j] = signal * outer * slope[i, j]
            pull[j, i] = pull[i, j]
            if i == j:
                d_noise += outer
                d_signal += signal * outer * gram[i, j]
            else:
                d_signal += 2.0 * signal * outer * gram[i, j]
    return d_signal, d_noise
