"""Rows in blocks through one expert of the latent variable model (Algorithm 2).

The rows themselves enter through ``Y_b B'`` and ``Y_b Y_b'``, two matrix products per block, where ``B = Phi' Y`` is
summed over the rows before the block. Inside the block each row still sees all rows before it:
``B_t y_t = B y_t + sum_s phi_s (y_s' y_t)``. Positions, the inverse and ``Theta Theta'`` follow row by row in O(F²).

Coefficients that drift (Remark 4) have no such sums: there ``cross`` holds ``Theta`` itself, and ``gram`` stays as the
warm-up left it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iegp._compile import compiled, compiled_fast_sums
from iegp.core.compute.linalg import (
    add_transposed_matmul,
    cholesky_upper,
    gram_of_rows,
    matmul,
    matmul_transposed,
    solve_upper_transposed,
)
from iegp.core.compute.symmetric import symmetric_times
from iegp.core.latent.row import Row, RowProblem, Workspace, locate, make_workspace
from iegp.typing import Bool, Float, Int


class Belief(NamedTuple):
    """State of one expert between two rows."""

    gram: Float
    """(F, F), ``Phi'Phi``."""
    cross: Float
    """(F, D), ``B = Phi'Y``; ``Theta`` where coefficients drift."""
    inverse: Float
    """(F, F), ``(Phi'Phi + (noise_var / prior_var) I)^-1``."""
    second: Float
    """(F, F), ``Theta Theta'`` with ``Theta = inverse B``."""


@compiled
def refresh(belief: Belief, ratio: float) -> None:
    """Recompute the inverse and ``Theta Theta'`` from their definitions, in place, to remove accumulated rounding."""
    n = len(belief.gram)
    factor, root = np.empty((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            factor[i, j] = belief.gram[i, j]
        factor[i, i] += ratio
        root[i, i] = 1.0
    cholesky_upper(factor)
    # root = factor^-T, so that inverse = root' root.
    solve_upper_transposed(factor, root)
    for i in range(n):
        for j in range(n):
            belief.inverse[i, j] = 0.0
    add_transposed_matmul(root, root, belief.inverse)
    theta = np.empty(belief.cross.shape)
    matmul(belief.inverse, belief.cross, theta)
    _square(theta, belief.second)


@compiled
def _square(theta: Float, second: Float) -> None:
    gram_of_rows(theta, second)
    for i in range(len(second)):
        for j in range(i):
            second[j, i] = second[i, j]


@compiled
def refresh_walking(belief: Belief) -> None:
    """Make the inverse symmetric, and compute what follows from it, where coefficients drift and no sums define it."""
    n = len(belief.inverse)
    for i in range(n):
        for j in range(i):
            mean = 0.5 * (belief.inverse[i, j] + belief.inverse[j, i])
            belief.inverse[i, j] = mean
            belief.inverse[j, i] = mean
    _square(belief.cross, belief.second)


@compiled
def _add_scaled(scale: float, vector: Float, out: Float) -> None:
    for i in range(out.size):
        out[i] += scale * vector[i]


@compiled_fast_sums
def update_belief(belief: Belief, row: Row, space: Workspace) -> None:
    """Learn the row at the position that the workspace describes, in place.

    With ``gain = inverse phi / (1 + phi' inverse phi)`` and the misfit e, the inverse loses ``gain (inverse phi)'`` and
    ``Theta`` gains ``gain e'``, which adds ``gain (Theta e)' + (Theta e) gain' + e'e gain gain'`` to ``Theta Theta'``.
    """
    phi, by_second, by_inverse = space.waves[0], space.products[0], space.by_inverse
    n = phi.size
    spread, square = 1.0, row.square
    for i in range(n):
        spread += phi[i] * by_inverse[i]
        square += phi[i] * (by_second[i] - 2.0 * row.theta_y[i])
    square = max(square, 0.0)
    gain, theta_e = np.empty(n), np.empty(n)
    for i in range(n):
        gain[i] = by_inverse[i] / spread
        theta_e[i] = row.theta_y[i] - by_second[i]
    for i in range(n):
        g, h = gain[i], theta_e[i] + square * gain[i]
        for j in range(n):
            belief.inverse[i, j] -= g * by_inverse[j]
            belief.second[i, j] += g * theta_e[j] + h * gain[j]


@compiled
def start_from(neighbours: Int, positions: Float, starts: Float) -> None:
    """Return the positions (k, d) of a row's neighbours."""
    k, d = starts.shape
    for s in range(k):
        for c in range(d):
            starts[s, c] = positions[neighbours[s], c]


@compiled
def _forget(belief: Belief, crossed: Float, forgetting: float, t: int) -> None:
    """Reduce the weight of every earlier row; the next refresh restores the prior."""
    n = crossed.size
    for i in range(n):
        crossed[i] *= forgetting ** (t + 1)
        for j in range(n):
            belief.inverse[i, j] /= forgetting


@compiled
def _add_to_sums(belief: Belief, phis: Float, rows: Float, forgetting: float) -> None:
    """Update ``Phi'Phi`` and ``Phi'Y`` after a block."""
    b, n = phis.shape
    if forgetting == 1.0:
        add_transposed_matmul(phis, phis, belief.gram)
        add_transposed_matmul(phis, rows, belief.cross)
        return
    weighted = np.empty((b, n))
    for t in range(b):
        for i in range(n):
            weighted[t, i] = phis[t, i] * forgetting ** (b - 1 - t)
    for i in range(n):
        for j in range(n):
            belief.gram[i, j] *= forgetting**b
        for j in range(rows.shape[1]):
            belief.cross[i, j] *= forgetting**b
    add_transposed_matmul(weighted, phis, belief.gram)
    add_transposed_matmul(weighted, rows, belief.cross)


class RowBlock(NamedTuple):
    """Rows that are embedded one after another."""

    rows: Float
    """(b, D)"""
    products: Float
    """(b, b): of the rows with each other; not looked at where nothing is learned."""
    neighbours: Int
    """(b, k): numbers of earlier rows."""


@compiled
def learn_block(
    belief: Belief, problem: RowProblem, block: RowBlock, positions: Float, first: int, log_scores: Float
) -> None:
    """Embed and learn the rows of a block, in place.

    ``positions`` (n, d) holds those of earlier rows, and row t of the block writes its own at ``first + t``.
    ``log_scores`` (b,) are log predictive densities before learning.
    """
    rows, row_products, neighbours = block
    forgetting = problem.forgetting
    b, n_features = len(rows), len(belief.gram)
    d, k = positions.shape[1], neighbours.shape[1]
    space = make_workspace(len(problem.frequencies), d)
    crossed, phis = np.empty((b, n_features)), np.zeros((b, n_features))
    matmul_transposed(rows, belief.cross, crossed)
    theta_y, starts = np.empty(n_features), np.empty((k, d))
    for t in range(b):
        if forgetting < 1.0:
            _forget(belief, crossed[t], forgetting, t)
        for s in range(t):
            _add_scaled(row_products[t, s] * forgetting ** (t - s), phis[s], crossed[t])
        symmetric_times(belief.inverse, crossed[t], theta_y)
        start_from(neighbours[t], positions, starts)
        row = Row(theta_y, row_products[t, t], float(rows.shape[1]))
        log_scores[t] = locate(problem, row, starts, problem.n_steps, space, positions[first + t])
        _add_scaled(1.0, space.waves[0], phis[t])
        update_belief(belief, row, space)
    _add_to_sums(belief, phis, rows, forgetting)


@compiled
def learn_walking_block(
    belief: Belief, problem: RowProblem, block: RowBlock, positions: Float, first: int, log_scores: Float
) -> None:
    """As :func:`learn_block`, where coefficients drift before every row: ``inverse`` gains ``walk`` on its diagonal.

    A row with misfit e changes ``Theta`` by ``gain e'``, and so ``Theta y_s`` of each later row by ``gain e'y_s``,
    where ``e'y_s = y'y_s - phi' Theta y_s``. The misfits themselves, and ``Theta``, follow at the end of the block.
    """
    rows, row_products, neighbours = block
    b, n_features = len(rows), len(belief.inverse)
    d, k = positions.shape[1], neighbours.shape[1]
    space = make_workspace(len(problem.frequencies), d)
    theta_y, phis, gains = np.empty((b, n_features)), np.empty((b, n_features)), np.empty((b, n_features))
    matmul_transposed(rows, belief.cross, theta_y)
    starts = np.empty((k, d))
    for t in range(b):
        for i in range(n_features):
            belief.inverse[i, i] += problem.walk
        start_from(neighbours[t], positions, starts)
        row = Row(theta_y[t], row_products[t, t], float(rows.shape[1]))
        log_scores[t] = locate(problem, row, starts, problem.n_steps, space, positions[first + t])
        phis[t] = space.waves[0]
        gains[t] = space.by_inverse / (1.0 + _product(space.waves[0], space.by_inverse))
        update_belief(belief, row, space)
        for s in range(t + 1, b):
            _add_scaled(row_products[t, s] - _product(phis[t], theta_y[s]), gains[t], theta_y[s])
    _add_to_theta(belief.cross, phis, gains, rows)


@compiled
def _product(a: Float, b: Float) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@compiled
def _add_to_theta(theta: Float, phis: Float, gains: Float, rows: Float) -> None:
    """Update ``Theta`` after a block, from the features and gains (b, F) of its rows (b, D)."""
    misfits = np.empty(rows.shape)
    matmul(phis, theta, misfits)
    for t in range(len(rows)):
        for c in range(rows.shape[1]):
            misfits[t, c] = rows[t, c] - misfits[t, c]
        for s in range(t):
            _add_scaled(-_product(phis[t], gains[s]), misfits[s], misfits[t])
    add_transposed_matmul(gains, misfits, theta)


@compiled
def place_block(
    belief: Belief, problem: RowProblem, block: RowBlock, positions: Float, placed: Float, log_scores: Float
) -> None:
    """Embed rows (b, D) without learning: positions into ``placed`` (b, d), log predictive densities alongside."""
    rows, _, neighbours = block
    b, n_features = len(rows), len(belief.gram)
    d, k = positions.shape[1], neighbours.shape[1]
    space = make_workspace(len(problem.frequencies), d)
    crossed = np.empty((b, n_features))
    matmul_transposed(rows, belief.cross, crossed)
    theta_y, starts = np.empty(n_features), np.empty((k, d))
    for t in range(b):
        if problem.walk > 0.0:
            theta_y[:] = crossed[t]
        else:
            symmetric_times(belief.inverse, crossed[t], theta_y)
        start_from(neighbours[t], positions, starts)
        square = 0.0
        for c in range(rows.shape[1]):
            square += rows[t, c] ** 2
        row = Row(theta_y, square, float(rows.shape[1]))
        log_scores[t] = locate(problem, row, starts, problem.n_steps, space, placed[t])


# -- rows with missing entries ---------------------------------------------------------------------------------------

# The likelihood of a row is a product over its entries (eq:IEGPLVM_LF), so entries that were not observed drop out of
# it. Learning such a row takes the expert's own prediction in their place: it leaves the mean of their parameters as it
# was. (The covariance is shared by all columns, as in the paper, so it shrinks for the missing ones too.) One row at a
# time and O(F² D) each: it is meant for occasional gaps, not for tables that are mostly empty.


def coefficients(belief: Belief, problem: RowProblem) -> Float:
    """Return ``Theta`` (F, D)."""
    return belief.cross if problem.walk > 0.0 else np.asarray(belief.inverse @ belief.cross)


def place_partial(
    belief: Belief, problem: RowProblem, row: Float, neighbours: Int, positions: Float, placed: Float
) -> tuple[float, Float, Row, Workspace]:
    """Compute the position of one row (D,), written into ``placed`` (d,), from its observed entries.

    Returns the log predictive density of these, the row completed by predictions, and what :func:`update_belief` needs.
    """
    observed: Bool = ~np.isnan(row)
    theta = coefficients(belief, problem)
    seen = np.ascontiguousarray(theta[:, observed])
    known = row[observed]
    partial = Row(seen @ known, float(known @ known), float(len(known)))
    space = make_workspace(len(problem.frequencies), positions.shape[1])
    starts = np.empty((len(neighbours), positions.shape[1]))
    start_from(neighbours, positions, starts)
    observed_problem = problem._replace(second=np.ascontiguousarray(seen @ seen.T))
    log_score = locate(observed_problem, partial, starts, problem.n_steps, space, placed)
    completed = np.where(observed, row, space.waves[0] @ theta)
    return log_score, completed, partial, space


def learn_partial(
    belief: Belief, problem: RowProblem, row: Float, neighbours: Int, positions: Float, first: int
) -> tuple[float, Float]:
    """Embed and learn one row (D,) in place, its position at ``positions[first]``; its log score and its completion."""
    forgetting = problem.forgetting
    if forgetting < 1.0:
        belief.inverse[:] /= forgetting
        belief.gram[:] *= forgetting
        belief.cross[:] *= forgetting
    belief.inverse[np.diag_indices_from(belief.inverse)] += problem.walk
    log_score, completed, partial, space = place_partial(belief, problem, row, neighbours, positions, positions[first])
    phi = space.waves[0].copy()
    gain = space.by_inverse / (1.0 + phi @ space.by_inverse)
    update_belief(belief, partial, space)
    if problem.walk > 0.0:
        belief.cross[:] += np.outer(gain, completed - phi @ belief.cross)
        return log_score, completed
    belief.gram[:] += np.outer(phi, phi)
    belief.cross[:] += np.outer(phi, completed)
    return log_score, completed
