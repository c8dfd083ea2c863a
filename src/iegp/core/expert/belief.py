"""What one expert believes about its parameters, and how one row changes it.

Everything is in units of the noise: covariances are divided by ``noise_var``, so that D outputs with different noise
share one matrix, and the noise level can be learned afterwards without touching it.

Two forms, one for each dynamics (docs/design.md compares them):

- a *static* expert keeps the square-root information factor: ``matrix`` is the upper triangular R with
  ``R'R = I / prior_ratio + sum of phi phi'`` and ``vector`` is ``z = R @ mean``. Rows are added by plane rotations:
  nothing is ever subtracted, so the belief is positive by construction.
- a *drifting* expert (random walk) keeps the covariance S and the mean. The random walk floors the spectrum of S, and
  the exact bound ``phi' S phi >= drift_ratio`` is enforced on every prediction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled, compiled_fast_sums
from iegp.core.compute.linalg import matmul, solve_from_right
from iegp.typing import Float


class Beliefs(NamedTuple):
    """The beliefs of several experts that share a number of features F and of outputs D."""

    matrix: Float
    """(n, F, F): R of static experts, S of drifting ones."""
    vector: Float
    """(n, F, D): z of static experts, the mean of drifting ones."""


def prior(prior_ratio: Float, drift_ratio: Float, n_features: int, n_outputs: int) -> Beliefs:
    """The beliefs before any row: mean zero, covariance ``prior_ratio * I`` (eq:p_theta, divided by the noise)."""
    diagonal = np.where(drift_ratio > 0.0, prior_ratio, 1.0 / np.sqrt(prior_ratio))
    matrix = np.zeros((len(prior_ratio), n_features, n_features))
    matrix[:, np.arange(n_features), np.arange(n_features)] = diagonal[:, None]
    return Beliefs(matrix, np.zeros((len(prior_ratio), n_features, n_outputs)))


def moments(beliefs: Beliefs, drift_ratio: Float, index: int) -> tuple[Float, Float]:
    """Mean (F, D) and covariance (F, F) of one belief, for looking at; nothing in the algorithm needs them."""
    matrix, vector = beliefs.matrix[index], beliefs.vector[index]
    if drift_ratio[index] > 0.0:
        return vector.copy(), matrix.copy()
    inverse = np.linalg.inv(np.triu(matrix))
    return inverse @ vector, inverse @ inverse.T


@compiled
def predict_static(factor: Float, vector: Float, phi: Float, means: Float, variances: Float) -> None:
    """Predictive mean (n, D) and variance over noise (n,) of rows ``phi`` (n, F), eq:26. O(F²) per row."""
    whitened = phi.copy()
    solve_from_right(factor, whitened)
    matmul(whitened, vector, means)
    for t in range(phi.shape[0]):
        variances[t] = 1.0 + np.dot(whitened[t], whitened[t])


@compiled
def predict_drifting(
    covariance: Float, vector: Float, drift: float, phi: Float, means: Float, variances: Float
) -> None:
    """The same for a random-walk expert, the next step of the walk included (eq:p_theta_pre)."""
    weighted = np.empty_like(phi)
    matmul(phi, covariance, weighted)
    matmul(phi, vector, means)
    for t in range(phi.shape[0]):
        variances[t] = 1.0 + drift + max(0.0, np.dot(weighted[t], phi[t]))


@compiled
def static_row(factor: Float, vector: Float, phi: Float, y: Float, mean: Float) -> float:
    """Predict one row, then learn it (eqs. 26 and posterior_update_1). Writes the mean, returns the variance.

    One pass over R does both. Solving ``u R = phi`` column by column leaves a remainder ``rest``; rotating the row
    into R leaves the same remainder divided by ``sqrt(1 + u_1² + ... + u_i²)``, so the rotations need no second sweep.
    """
    n, n_outputs = vector.shape
    rest, rest_y = phi.copy(), y.copy()
    for d in range(n_outputs):
        mean[d] = 0.0
    variance = 1.0
    for i in range(n):
        u = rest[i] / factor[i, i]
        before = variance
        variance += u * u
        cosine = math.sqrt(before / variance)
        sine = u / math.sqrt(before * variance)
        factor[i, i] /= cosine
        for j in range(i + 1, n):
            upper = factor[i, j]
            factor[i, j] = cosine * upper + sine * rest[j]
            rest[j] -= u * upper
        for d in range(n_outputs):
            upper = vector[i, d]
            mean[d] += u * upper
            vector[i, d] = cosine * upper + sine * rest_y[d]
            rest_y[d] -= u * upper
    return variance


@compiled_fast_sums
def drifting_row(covariance: Float, vector: Float, drift: float, phi: Float, y: Float, mean: Float) -> float:
    """The same for a random-walk expert: one step of the walk (eq:theta_s), predict, then learn."""
    n, n_outputs = vector.shape
    gain = np.empty(n)
    latent = 0.0
    for i in range(n):
        covariance[i, i] += drift
        total = 0.0
        for j in range(n):
            total += covariance[i, j] * phi[j]
        gain[i] = total
        latent += total * phi[i]
    variance = 1.0 + max(latent, drift)
    for d in range(n_outputs):
        total = 0.0
        for i in range(n):
            total += phi[i] * vector[i, d]
        mean[d] = total
        step = (y[d] - total) / variance
        for i in range(n):
            vector[i, d] += step * gain[i]
    # Scaled first, so that entries (i, j) and (j, i) are the same product and S stays symmetric to the bit.
    scale = 1.0 / math.sqrt(variance)
    for i in range(n):
        gain[i] *= scale
    for i in range(n):
        g = gain[i]
        for j in range(n):
            covariance[i, j] -= g * gain[j]
    return variance
