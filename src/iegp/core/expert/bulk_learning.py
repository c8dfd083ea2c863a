"""Learning a history: rows absorbed in large blocks when their predictions are not needed.

For experts that can be merged (static, Gaussian, Bayes weights) a block changes three things: the factor ``[R z]``,
its determinant, and the sum of squared normalised innovations; the last two give the marginal likelihood.
Leaving the one-step-ahead predictions out saves a factorisation of the size of the block, so blocks can be larger and
nearly all work is two products per row and expert.
"""

from __future__ import annotations

import math

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.linalg import (
    add_transposed_matmul,
    matmul,
    multiply_uppers,
    solve_from_right,
    solve_upper_transposed,
)
from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import BLOCK_FEATURES, MAX_BLOCK_LEVERAGE
from iegp.core.expert.belief import Belief, static_row
from iegp.core.expert.gaussian_block import growth_by
from iegp.core.expert.noise import learned_evidence
from iegp.core.features import Basis, feature_rows
from iegp.core.state import Ensemble, State, belief_at
from iegp.core.weights import log_sum_exp
from iegp.typing import Float


@compiled
def absorb_block(belief: Belief, phi: Float, y: Float, misfit: Float) -> float:
    """Learn rows ``phi`` (B, F), ``y`` (B, D) in place; returns how much ``log det R`` grew.

    Adds the squared normalised innovations to ``misfit`` (D,). As in ``static_block``, surprising rows are rotated in
    one by one, so that no condition number is squared.
    """
    factor, vector = belief
    n, n_features = phi.shape
    n_outputs = y.shape[1]
    whitened = phi.copy()
    solve_from_right(factor, whitened)
    leverage = 0.0
    for t in range(n):
        leverage += np.dot(whitened[t], whitened[t])
    log_det = 0.0
    if not leverage <= MAX_BLOCK_LEVERAGE:
        mean = np.empty(n_outputs)
        for t in range(n):
            variance = static_row(belief, phi[t], y[t], mean)
            log_det += 0.5 * math.log(variance)
            for d in range(n_outputs):
                misfit[d] += (y[t, d] - mean[d]) ** 2 / variance
        return log_det
    residual = np.empty((n, n_outputs))
    matmul(whitened, vector, residual)
    for t in range(n):
        for d in range(n_outputs):
            residual[t, d] = y[t, d] - residual[t, d]
            misfit[d] += residual[t, d] ** 2
    growth = growth_by(whitened)
    pull = np.zeros((n_features, n_outputs))
    add_transposed_matmul(whitened, residual, pull)
    solve_upper_transposed(growth, pull)
    for i in range(n_features):
        log_det += math.log(growth[i, i])
        for d in range(n_outputs):
            misfit[d] -= pull[i, d] ** 2
    add_transposed_matmul(whitened, y, vector)
    solve_upper_transposed(growth, vector)
    multiply_uppers(growth, factor)
    return log_det


@compiled
def absorb_kernel(x: Float, y: Float, basis: Basis, belief: Belief, misfit: Float) -> float:
    """Learn all rows with one expert, block by block; returns how much ``log det R`` grew."""
    block = BLOCK_FEATURES * belief.vector.shape[0]
    log_det = 0.0
    for start in range(0, x.shape[0], block):
        rows = slice(start, min(x.shape[0], start + block))
        log_det += absorb_block(belief, feature_rows(x[rows], basis), y[rows], misfit)
    return log_det


def absorb_in_any_order(ensemble: Ensemble, state: State, x: Float, y: Float) -> None:
    """Learn standardised rows ``x`` (n, d), ``y`` (n, D): the state that :func:`iegp.core.ensemble.learn` leaves.

    Only for ensembles that can be merged (``merge_checks.check_mergeable``). ``state`` is updated in place.
    """
    n, n_outputs = y.shape
    n_beliefs = ensemble.n_beliefs
    misfit, log_det = np.zeros((n_beliefs, n_outputs)), np.zeros(n_beliefs)
    with one_blas_thread():
        for b, kernel in enumerate(ensemble.layout.kernel_of):
            own = belief_at(ensemble.layout, state, b)
            log_det[b] = absorb_kernel(x, y, ensemble.kernel_basis(kernel), own, misfit[b])
    learns = ~np.isnan(ensemble.forgetting)
    learned = learns[ensemble.noise_of, None]
    squares = misfit[ensemble.belief_of]
    shape_before = np.where(learns, state.noise_shape, 1.0)[ensemble.noise_of, None]
    scale_before = state.noise_scale.copy()
    state.noise_shape[learns] += 0.5 * n
    state.noise_scale[...] += np.where(learned, 0.5 * squares, 0.0)
    shape = np.where(learns, state.noise_shape, 1.0)[ensemble.noise_of, None]
    # Where the noise is fixed, its level is the scale itself.
    level = state.noise_scale / shape
    change = learned_evidence(shape, state.noise_scale, level) - learned_evidence(shape_before, scale_before, level)
    gain = -0.5 * n * np.log(level) + np.where(learned, change, -0.5 * squares / level)
    log_weights = state.log_weights + gain.sum(axis=1) - n_outputs * log_det[ensemble.belief_of]
    state.log_weights[...] = log_weights - log_sum_exp(log_weights)
    state.rows[0] += n
