"""A block of rows with Gaussian labels: predicted and learned exactly, with matrix-matrix products.

What an expert predicts depends on its data only through the latent values ``z_t = phi_t · theta_t``. For the rows of
a block their joint covariance (in units of the noise) is ``K + I``, and row t of its Cholesky factor L holds the
regression of row t on the rows before it. So one factorisation yields all one-step-ahead predictions of the block:
they are those of the row-by-row recursion, with no look ahead and no approximation.

    static:    K = U U'          with U = Phi inv(R)
    drifting:  K = Phi S Phi' + min(s, t) Phi diag(q) Phi'      (q per step and feature)

s and t count steps of the walk since the start of the block: rows, counted from 1, or the time that has elapsed.
"""

from __future__ import annotations

import numpy as np

from iegp._compile import compiled, compiled_fast_sums
from iegp.core.compute.linalg import (
    add_transposed_matmul,
    cholesky_lower,
    cholesky_upper,
    gram_of_columns,
    gram_of_rows,
    lower_matmul_transposed,
    matmul,
    multiply_uppers,
    solve_from_right,
    solve_lower,
    solve_upper_transposed,
    subtract_gram_of_columns,
)
from iegp.core.compute.tolerances import MAX_BLOCK_LEVERAGE
from iegp.core.expert.belief import Ahead, Belief, Block, Trail, drifting_row, static_row, walk_over
from iegp.typing import Float


@compiled_fast_sums
def one_step_ahead(lower: Float, y: Float, means: Float, variances: Float, whitened: Float) -> None:
    """Turn block-start means into one-step-ahead means by forward substitution with L.

    Row t uses labels of rows before t only; ``whitened`` collects ``inv(L) (y - mean at block start)``.
    """
    n, n_outputs = y.shape
    for t in range(n):
        pivot = lower[t, t]
        variances[t] = pivot * pivot
        for d in range(n_outputs):
            mean = means[t, d]
            for s in range(t):
                mean += lower[t, s] * whitened[s, d]
            means[t, d] = mean
            whitened[t, d] = (y[t, d] - mean) / pivot


@compiled
def static_block(belief: Belief, block: Block, ahead: Ahead, trail: Trail) -> bool:
    """Predict then learn the rows of a block; the belief is updated in place, and ``trail`` filled in if it has rows.

    Returns whether the covariance of the block could be factored; where it could not, the rows are learned one by one.

    ``[R; Phi] = [I; U] R``, so with ``C'C = I + U'U`` the new factor is ``C R`` and the new ``z`` solves
    ``C' z_new = z + U'y``. C is as well conditioned as the block is unsurprising; a block with a very surprising row
    is learned row by row instead, so that the condition number of R is never squared.
    """
    factor, vector = belief
    phi, y, _ = block
    means, variances = ahead
    n = phi.shape[0]
    whitened_phi, lower = whitened_rows(factor, phi)
    leverage = 0.0
    for t in range(n):
        leverage = max(leverage, lower[t, t])
        lower[t, t] += 1.0
    is_unsurprising = leverage <= MAX_BLOCK_LEVERAGE
    if not is_unsurprising or cholesky_lower(lower) != 0:
        for t in range(n):
            variances[t] = static_row(belief, phi[t], y[t], means[t])
        trail.weights[:] = np.nan
        return not is_unsurprising
    matmul(whitened_phi, vector, means)
    whitened = np.empty_like(y)
    one_step_ahead(lower, y, means, variances, whitened)
    if trail.weights.size > 0:
        trail.gains[:] = whitened_phi
        solve_lower(lower, trail.gains)
        trail.pulls[:] = whitened
        trail.weights[:] = 1.0
    growth = growth_by(whitened_phi)
    add_transposed_matmul(whitened_phi, y, vector)
    solve_upper_transposed(growth, vector)
    multiply_uppers(growth, factor)
    return True


@compiled
def whitened_rows(factor: Float, phi: Float) -> tuple[Float, Float]:
    """Rows ``U = Phi inv(R)`` (B, F), and the lower triangle of ``U U'`` (B, B)."""
    whitened = phi.copy()
    solve_from_right(factor, whitened)
    gram = np.empty((phi.shape[0], phi.shape[0]))
    gram_of_rows(whitened, gram)
    return whitened, gram


@compiled
def growth_by(whitened: Float) -> Float:
    """Upper triangular C (F, F) with ``C'C = I + U'U`` for rows ``U = Phi inv(R)`` (B, F): ``C R`` has learned them."""
    n_features = whitened.shape[1]
    growth = np.empty((n_features, n_features))
    gram_of_columns(whitened, growth)
    for i in range(n_features):
        growth[i, i] += 1.0
    cholesky_upper(growth)
    return growth


@compiled
def drifting_block(belief: Belief, drift: Float, block: Block, ahead: Ahead, trail: Trail) -> bool:
    """As :func:`static_block` for a random-walk expert."""
    covariance, vector = belief
    phi, y, steps = block
    means, variances = ahead
    n, n_features = phi.shape
    cross = np.empty((n, n_features))
    lower = np.empty((n, n))
    latent_covariance(covariance, drift, phi, steps, cross, lower)
    for t in range(n):
        lower[t, t] += 1.0
    if cholesky_lower(lower) != 0:
        for t in range(n):
            variances[t] = drifting_row(belief, walk_over(drift, steps[t]), phi[t], y[t], means[t])
        trail.weights[:] = np.nan
        return False
    matmul(phi, vector, means)
    whitened = np.empty_like(y)
    one_step_ahead(lower, y, means, variances, whitened)
    solve_lower(lower, cross)
    if trail.weights.size > 0:
        trail.gains[:] = cross
        trail.pulls[:] = whitened
        trail.weights[:] = 1.0
    add_transposed_matmul(cross, whitened, vector)
    walk_and_subtract(covariance, drift, steps, cross)
    return True


@compiled
def latent_covariance(covariance: Float, drift: Float, phi: Float, steps: Float, cross: Float, joint: Float) -> None:
    """Covariances of a block's latent values with the parameters, ``cross`` (B, F), and with each other, ``joint``.

    Of ``joint`` (B, B) the lower triangle holds: row s has walked the sum of its ``steps`` (B,) and those before when
    it comes, and no more when a later row looks back at it.
    """
    matmul(phi, covariance, cross)
    elapsed = 0.0
    for s in range(phi.shape[0]):
        elapsed += steps[s]
        for i in range(phi.shape[1]):
            cross[s, i] += elapsed * drift[i] * phi[s, i]
    lower_matmul_transposed(phi, cross, joint)


@compiled
def walk_and_subtract(covariance: Float, drift: Float, steps: Float, cross: Float) -> None:
    """The covariance after a block: the walk of its rows, less what was learned, ``cross' cross``."""
    elapsed = 0.0
    for step in steps:
        elapsed += step
    subtract_gram_of_columns(cross, covariance)
    for i in range(cross.shape[1]):
        covariance[i, i] += drift[i] * elapsed
        for j in range(i):
            covariance[i, j] = covariance[j, i]
