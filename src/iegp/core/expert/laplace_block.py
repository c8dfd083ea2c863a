"""The block algorithm of ``gaussian_block.py`` for other labels: sites are found row by row inside the block.

The covariance K of a block's latent values does not depend on the labels. One pass over its rows factors it and finds
the sites as it goes: row t of the factor yields mean and variance of ``z_t`` given the rows before it, the label turns
them into a site (slope g, curvature h), and the site enters the factor. Only the means and variances that a row by row
recursion would have seen are ever used. The heavy work (K, and the belief after the block) stays in matrix products.

All latent functions of an expert (one, or one per class) share its matrix: ``matrix`` is (F, F), ``vector`` (F, L).
Static experts are kept as square-root information, drifting ones as covariance, as in ``belief.py``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled, compiled_fast_sums
from iegp.core.compute.linalg import (
    add_transposed_matmul,
    matmul,
    multiply_upper,
    solve_lower,
    solve_upper_transposed,
)
from iegp.core.compute.tolerances import MAX_BLOCK_LEVERAGE
from iegp.core.expert.belief import Ahead, Belief, Block, Trail, subtract_square, walked
from iegp.core.expert.gaussian_block import growth_by, latent_covariance, walk_and_subtract, whitened_rows
from iegp.core.likelihoods.sites import LabelModel, log_predictive, site
from iegp.typing import Float


class Sites(NamedTuple):
    """What the labels of a block do to the latent values."""

    slopes: Float
    """(B, L)"""
    curvatures: Float
    """(B,)"""


@compiled_fast_sums
def assimilate(labels: LabelModel, y: Float, floors: Float, joint: Float, ahead: Ahead, sites: Sites) -> None:
    """One pass over a block: its one-step-ahead predictions and its sites.

    ``joint`` (B, B) holds the lower triangle of the latent covariance and is overwritten: entry (t, j) becomes the
    covariance of rows t and j given the rows before j, times ``sqrt(h_j / (1 + h_j v_j))``. The means (B, L) come in as
    of the block's start and leave as of just before each row; no variance falls below its entry of ``floors`` (B,).
    """
    means, variances = ahead
    slopes, curvatures = sites
    n, n_latents = means.shape
    roots = np.empty(n)
    for t in range(n):
        row = joint[t]
        variance = row[t]
        for j in range(t):
            earlier = joint[j]
            covariance = row[j]
            for i in range(j):
                covariance -= row[i] * earlier[i]
            for d in range(n_latents):
                means[t, d] += covariance * slopes[j, d]
            row[j] = covariance * roots[j]
            variance -= row[j] * row[j]
        variances[t] = max(variance, floors[t])
        curvatures[t] = site(labels, y[t], means[t], variances[t], slopes[t])
        roots[t] = math.sqrt(curvatures[t] / (1.0 + curvatures[t] * variances[t]))
        row[t] = roots[t]


@compiled
def static_sites(labels: LabelModel, belief: Belief, block: Block, ahead: Ahead, trail: Trail) -> None:
    """Predict then learn a block with a static expert; ``[R; sqrt(H) Phi]`` is factored as in ``static_block``."""
    factor, vector = belief
    phi, y, _ = block
    means, variances = ahead
    n = phi.shape[0]
    whitened, joint = whitened_rows(factor, phi)
    prior = np.empty(n)
    for t in range(n):
        prior[t] = joint[t, t]
    matmul(whitened, vector, means)
    slopes, curvatures = np.empty_like(means), np.empty(n)
    assimilate(labels, y, np.zeros(n), joint, ahead, Sites(slopes, curvatures))
    leverage = 0.0
    for t in range(n):
        leverage = max(leverage, prior[t] * curvatures[t])
    if not leverage <= MAX_BLOCK_LEVERAGE:
        for t in range(n):
            variances[t] = static_site_row(labels, belief, phi[t], y[t], means[t])
        trail.weights[:] = np.nan
        return
    if trail.weights.size > 0:
        trail.gains[:] = whitened
        trail.pulls[:] = slopes
        _unit_triangle(joint, trail.weights)
        solve_lower(joint, trail.gains)
    # The natural parameter of a site, h times its pseudo-target: finite however small h is.
    pulls = np.empty_like(means)
    for t in range(n):
        for d in range(means.shape[1]):
            at_mode = means[t, d] + variances[t] * slopes[t, d]
            pulls[t, d] = curvatures[t] * at_mode + slopes[t, d]
    add_transposed_matmul(whitened, pulls, vector)
    for t in range(n):
        whitened[t] *= math.sqrt(curvatures[t])
    growth = growth_by(whitened)
    solve_upper_transposed(growth, vector)
    multiply_upper(growth, factor)


@compiled
def drifting_sites(labels: LabelModel, belief: Belief, drift: Float, block: Block, ahead: Ahead, trail: Trail) -> None:
    """As :func:`static_sites` for a random-walk expert."""
    covariance, vector = belief
    phi, y, steps = block
    means = ahead.means
    n, n_features = phi.shape
    cross, joint, floors = np.empty((n, n_features)), np.empty((n, n)), np.empty(n)
    latent_covariance(covariance, drift, phi, steps, cross, joint)
    for t in range(n):
        floors[t] = steps[t] * walked(drift, phi[t])
    matmul(phi, vector, means)
    slopes, curvatures = np.empty_like(means), np.empty(n)
    assimilate(labels, y, floors, joint, ahead, Sites(slopes, curvatures))
    squares = np.empty(n)
    _unit_triangle(joint, squares)
    solve_lower(joint, cross)
    if trail.weights.size > 0:
        trail.gains[:] = cross
        trail.pulls[:] = slopes
        trail.weights[:] = squares
    add_transposed_matmul(cross, slopes, vector)
    for t in range(n):
        cross[t] *= math.sqrt(squares[t])
    walk_and_subtract(covariance, drift, steps, cross)


@compiled
def _unit_triangle(joint: Float, squares: Float) -> None:
    """Make ``joint``, as :func:`assimilate` leaves it, the unit triangle that turns covariances with the parameters
    at the start of the block into those given the rows before; its roots go to ``squares`` (B,), squared."""
    n = squares.size
    roots = np.empty(n)
    for t in range(n):
        roots[t] = joint[t, t]
        squares[t] = roots[t] * roots[t]
    for t in range(n):
        for j in range(t):
            joint[t, j] *= roots[j]
        joint[t, t] = 1.0


@compiled
def static_site_row(labels: LabelModel, belief: Belief, phi: Float, y: Float, mean: Float) -> float:
    """Predict one row, then learn it. Writes the latent mean (L,), returns the latent variance.

    With ``u R = phi`` the new factor is ``C R`` where ``C'C = I + h u u'``, a sweep of plane rotations as in
    ``static_row``, and the new ``z`` is ``C (z + u g)``: no division by h.
    """
    factor, vector = belief
    n, n_latents = vector.shape
    u, rest = np.empty(n), phi.copy()
    variance = 0.0
    for d in range(n_latents):
        mean[d] = 0.0
    for i in range(n):
        u[i] = rest[i] / factor[i, i]
        variance += u[i] * u[i]
        for j in range(i + 1, n):
            rest[j] -= u[i] * factor[i, j]
        for d in range(n_latents):
            mean[d] += u[i] * vector[i, d]
    slope = np.empty(n_latents)
    curvature = site(labels, y, mean, variance, slope)
    for d in range(n_latents):
        _rotate_vector(vector, d, u, slope[d], curvature)
    rest = phi.copy()
    root, before = math.sqrt(curvature), 1.0
    for i in range(n):
        after = before + curvature * u[i] * u[i]
        cosine = math.sqrt(before / after)
        # The row enters as root * phi; what is left of it when column i is reached is root * rest / sqrt(before).
        sine = root * u[i] / math.sqrt(before * after)
        factor[i, i] /= cosine
        for j in range(i + 1, n):
            upper = factor[i, j]
            factor[i, j] = cosine * upper + sine * root * rest[j]
            rest[j] -= u[i] * upper
        before = after
    return variance


@compiled
def _rotate_vector(vector: Float, d: int, u: Float, slope: float, curvature: float) -> None:
    """``C (z + u g)`` for one latent function, with ``C`` the upper Cholesky factor of ``I + h u u'``."""
    n = u.size
    tail = 0.0
    for i in range(n):
        tail += u[i] * (vector[i, d] + u[i] * slope)
    before = 1.0
    for i in range(n):
        moved = vector[i, d] + u[i] * slope
        tail -= u[i] * moved
        after = before + curvature * u[i] * u[i]
        vector[i, d] = math.sqrt(after / before) * moved + curvature * u[i] / math.sqrt(before * after) * tail
        before = after


@compiled_fast_sums
def drifting_site_row(labels: LabelModel, belief: Belief, drift: Float, phi: Float, y: Float, mean: Float) -> float:
    """As :func:`static_site_row` for a random-walk expert: walk (:func:`walk_over`), predict, then learn."""
    covariance, vector = belief
    n, n_latents = vector.shape
    gain = np.empty(n)
    latent = 0.0
    for i in range(n):
        covariance[i, i] += drift[i]
        total = 0.0
        for j in range(n):
            total += covariance[i, j] * phi[j]
        gain[i] = total
        latent += total * phi[i]
    variance = max(latent, walked(drift, phi))
    for d in range(n_latents):
        total = 0.0
        for i in range(n):
            total += phi[i] * vector[i, d]
        mean[d] = total
    slope = np.empty(n_latents)
    curvature = site(labels, y, mean, variance, slope)
    for i in range(n):
        for d in range(n_latents):
            vector[i, d] += gain[i] * slope[d]
    subtract_square(covariance, gain, math.sqrt(curvature / (1.0 + curvature * variance)))
    return variance


@compiled
def score_rows(labels: LabelModel, y: Float, ahead: Ahead, log_scores: Float, outcomes: Float) -> None:
    """Log predictive probabilities of one belief: of the labels (n,), and of all classes (n, K)."""
    means, variances = ahead
    for t in range(means.shape[0]):
        log_scores[t] = log_predictive(labels, y[t], means[t], variances[t], outcomes[t])
