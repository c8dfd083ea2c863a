"""What one expert believes about its parameters, and how one row changes it.

Everything is in units of the noise: covariances are divided by ``noise_var``, so that D outputs with different noise
share one matrix, and the noise level can be learned afterwards without touching it.

Two forms, one for each dynamics (docs/design.md compares them):

- a *static* expert keeps the square-root information factor: ``matrix`` is the upper triangular R with
  ``R'R = I / prior_ratio + sum of phi phi'`` and ``vector`` is ``z = R @ mean``. Rows are added by plane rotations:
  nothing is ever subtracted, so the belief is positive by construction.
- a *drifting* expert (random walk) keeps the covariance S and the mean. The random walk, with variance ``q_i`` per row
  in feature i, floors S, and the exact bound ``phi' S phi >= phi' diag(q) phi`` is enforced on every prediction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled, compiled_fast_sums
from iegp.core.compute.linalg import matmul, solve_from_right
from iegp.core.compute.symmetric import symmetric_times
from iegp.core.compute.tolerances import FEW_SIDES
from iegp.typing import Float


class Belief(NamedTuple):
    """What one expert believes, or several that share a kernel and a drift: F features, D outputs."""

    matrix: Float
    """(F, F): R of a static expert, S of a drifting one."""
    vector: Float
    """(F, D): z of a static expert, the mean of a drifting one."""


class Block(NamedTuple):
    """Rows of a block as one kernel sees them."""

    phi: Float
    """(B, F)"""
    y: Float
    """(B, columns of y)"""
    steps: Float
    """(B,): steps of the walk between a row and the one before it: one, or the time that has elapsed."""


class Ahead(NamedTuple):
    """What a belief predicts of n rows, each before it is learned."""

    means: Float
    """(n, D), or one such table per belief."""
    variances: Float
    """(n,), over the noise variance, or one such list per belief."""


class Trail(NamedTuple):
    """How a block of rows moved a belief, for predictions made halfway through it; no rows where none are made.

    After s rows the mean is that at the start plus ``sum c_i e_i`` over the first s rows, and the covariance that at
    the start (and the walk) less ``sum w_i c_i c_i'``. In the coordinates of the belief: those of the covariance for a
    drifting belief, whitened by the factor at the start for a static one.
    """

    gains: Float
    """(B, F): c"""
    pulls: Float
    """(B, D): e"""
    weights: Float
    """(B,): w; NaN if the rows were learned one by one, which leaves no trail."""


@compiled
def no_trail(n_outputs: int) -> Trail:
    """For blocks in which no predictions are made halfway."""
    return Trail(np.empty((0, 0)), np.empty((0, n_outputs)), np.empty(0))


def prior(prior_ratio: float, drift: Float, n_outputs: int) -> Belief:
    """The belief before any row: mean zero, covariance ``prior_ratio * I`` (eq:p_theta, divided by the noise).

    ``drift`` (F,) says which form the belief has.
    """
    diagonal = prior_ratio if is_moving(drift) else 1.0 / math.sqrt(prior_ratio)
    return Belief(diagonal * np.eye(len(drift)), np.zeros((len(drift), n_outputs)))


def moments(belief: Belief, drift: Float) -> tuple[Float, Float]:
    """Mean (F, D) and covariance (F, F), for looking at; nothing in the algorithm needs them."""
    if is_moving(drift):
        return belief.vector.copy(), belief.matrix.copy()
    inverse = np.linalg.inv(np.triu(belief.matrix))
    return inverse @ belief.vector, inverse @ inverse.T


@compiled
def is_moving(drift: Float) -> bool:
    """Whether a belief with these drifts per feature (F,) drifts at all."""
    for value in drift:  # noqa: SIM110 - compiled code has no generators
        if value > 0.0:
            return True
    return False


@compiled
def walked(drift: Float, phi: Float) -> float:
    """``phi' diag(q) phi``: the variance that one step of the walk adds to a row's prediction."""
    total = 0.0
    for i in range(phi.size):
        total += drift[i] * phi[i] * phi[i]
    return total


@compiled
def walk_over(drift: Float, steps: float) -> Float:
    """Variances that so many steps of the walk add, per feature (F,)."""
    return drift if steps == 1.0 else steps * drift


@compiled
def predict_static(belief: Belief, phi: Float, ahead: Ahead, noise: float) -> Float:
    """Predictive mean (n, D) and variance (n,) of rows ``phi`` (n, F), eq:26. O(F²) per row.

    ``noise`` is that of what is predicted: 1 of a label, in whose units variances are, 0 of a latent value.
    Returns ``phi inv(R)`` (n, F): the rows in the coordinates of the belief.
    """
    variances = ahead.variances
    whitened = phi.copy()
    solve_from_right(belief.matrix, whitened)
    matmul(whitened, belief.vector, ahead.means)
    for t in range(phi.shape[0]):
        variances[t] = noise + np.dot(whitened[t], whitened[t])
    return whitened


@compiled
def predict_drifting(belief: Belief, drift: Float, phi: Float, ahead: Ahead, steps: Float, noise: float) -> Float:
    """As :func:`predict_static` for a random-walk expert, its steps up to each row (n,) included (eq:p_theta_pre).

    Returns ``phi S`` (n, F), which learning needs too.
    """
    variances = ahead.variances
    weighted = np.empty_like(phi)
    if phi.shape[0] < FEW_SIDES:
        for t in range(phi.shape[0]):
            symmetric_times(belief.matrix, phi[t], weighted[t])
    else:
        matmul(phi, belief.matrix, weighted)
    matmul(phi, belief.vector, ahead.means)
    for t in range(phi.shape[0]):
        variances[t] = noise + steps[t] * walked(drift, phi[t]) + max(0.0, np.dot(weighted[t], phi[t]))
    return weighted


@compiled
def static_row(belief: Belief, phi: Float, y: Float, mean: Float) -> float:
    """Predict one row, then learn it (eqs. 26 and posterior_update_1). Writes the mean, returns the variance.

    One pass over R does both. Solving ``u R = phi`` column by column leaves a remainder ``rest``; rotating the row
    into R leaves the same remainder divided by ``sqrt(1 + u_1² + ... + u_i²)``, so the rotations need no second sweep.
    """
    factor, vector = belief
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
def drifting_row(belief: Belief, drift: Float, phi: Float, y: Float, mean: Float) -> float:
    """As :func:`static_row` for a random-walk expert: walk (eq:theta_s), predict, then learn.

    ``drift`` is what the walk since the row before adds (:func:`walk_over`).
    """
    n, n_outputs = belief.vector.shape
    weighted = np.empty(n)
    symmetric_times(belief.matrix, phi, weighted)
    latent = 0.0
    for i in range(n):
        latent += weighted[i] * phi[i]
    variance = 1.0 + walked(drift, phi) + max(0.0, latent)
    for d in range(n_outputs):
        total = 0.0
        for i in range(n):
            total += phi[i] * belief.vector[i, d]
        mean[d] = total
    learn_predicted(belief, drift, Predicted(phi, weighted, mean, variance), y)
    return variance


class Predicted(NamedTuple):
    """One row as a drifting belief predicted it."""

    phi: Float
    """(F,)"""
    weighted: Float
    """(F,): ``S phi`` before the walk."""
    mean: Float
    """(D,)"""
    variance: float
    """Over the noise variance, after the walk."""


@compiled_fast_sums
def learn_predicted(belief: Belief, drift: Float, row: Predicted, y: Float) -> None:
    """Walk, then learn a row that was predicted from this belief."""
    covariance, vector = belief
    n, n_outputs = vector.shape
    gain = np.empty(n)
    for i in range(n):
        covariance[i, i] += drift[i]
        gain[i] = row.weighted[i] + drift[i] * row.phi[i]
    for d in range(n_outputs):
        step = (y[d] - row.mean[d]) / row.variance
        for i in range(n):
            vector[i, d] += step * gain[i]
    subtract_square(covariance, gain, 1.0 / math.sqrt(row.variance))


@compiled_fast_sums
def subtract_square(covariance: Float, gain: Float, scale: float) -> None:
    """``S -= scale² gain gain'`` in place; ``gain`` (F,) is scaled, in place too.

    It is scaled first, so that entries (i, j) and (j, i) are the same product and S stays symmetric to the bit.
    """
    n = gain.size
    for i in range(n):
        gain[i] *= scale
    for i in range(n):
        g = gain[i]
        for j in range(n):
            covariance[i, j] -= g * gain[j]
