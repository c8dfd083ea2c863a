"""Position of one new row: the most probable latent position under one expert (eq:test_point_prb).

An evaluation needs the data only through ``Theta y``, ``Theta Theta'`` and ``y'y``, so it costs O(F²) whatever the
number of columns of a row. Steps are Gauss-Newton with damping: the curvature of the misfit is ``J'J``, and
``Theta Theta'`` gives it at the cost of d more products. A step that does not help is undone and damped more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled, compiled_fast_sums
from iegp.core.compute.sincos import sincos
from iegp.core.compute.symmetric import symmetric_times
from iegp.core.compute.tolerances import DAMPING, DAMPING_DOWN, DAMPING_UP, LEAST_PIVOT
from iegp.typing import Float


class RowProblem(NamedTuple):
    """Data of one expert that the position of a new row depends on."""

    frequencies: Float
    """(n_frequencies, d)"""
    inverse: Float
    """(F, F), ``(Phi'Phi + ratio I)^-1``: the covariance of the parameters over the noise variance."""
    second: Float
    """(F, F), ``Theta Theta'``."""
    noise_var: float
    latent_var: float
    """Variance of the latent prior around zero."""
    longest_step: float
    n_steps: int
    """Steps by which the best start is improved."""
    forgetting: float
    """What is left of the weight of earlier rows when a row is learned."""
    walk: float = 0.0
    """Variance of the random walk of a coefficient per row, over the noise variance."""
    shortest_step: float = 0.0
    """A position has converged, and takes no more steps, when the next one is no longer than this; 0 takes all."""


@compiled_fast_sums
def _dot(a: Float, b: Float) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@compiled_fast_sums
def _three_times(matrix: Float, vectors: Float, first: int, out: Float) -> None:
    """Three products, with rows ``first`` and on of ``vectors``: the matrix is read once instead of three times."""
    n = len(matrix)
    f, g, h = first, first + 1, first + 2
    for j in range(n):
        out[f, j], out[g, j], out[h, j] = 0.0, 0.0, 0.0
    for i in range(0, n, 2):
        a0, a1 = vectors[f, i], vectors[f, i + 1]
        b0, b1 = vectors[g, i], vectors[g, i + 1]
        c0, c1 = vectors[h, i], vectors[h, i + 1]
        for j in range(n):
            one, two = matrix[i, j], matrix[i + 1, j]
            out[f, j] += a0 * one + a1 * two
            out[g, j] += b0 * one + b1 * two
            out[h, j] += c0 * one + c1 * two


@compiled
def symmetric_products(matrix: Float, vectors: Float, out: Float) -> None:
    """Compute ``out = vectors @ matrix`` for a symmetric matrix of even size and a few vectors (k, F)."""
    k = len(vectors)
    for first in range(0, k - 2, 3):
        _three_times(matrix, vectors, first, out)
    for last in range(k - k % 3, k):
        symmetric_times(matrix, vectors[last], out[last])


@compiled
def features_at(x: Float, frequencies: Float, angles: Float, phi: Float) -> None:
    """Compute ``phi_v(x)`` of one position, as :func:`iegp.core.features.feature_rows` does."""
    n, d = frequencies.shape
    for i in range(n):
        angle = 0.0
        for c in range(d):
            angle += frequencies[i, c] * x[c]
        angles[i] = angle
    sincos(angles, phi[:n], phi[n:])
    scale = 1.0 / math.sqrt(n)
    for i in range(2 * n):
        phi[i] *= scale


class Row(NamedTuple):
    """One observed row, projected on an expert's features."""

    theta_y: Float
    """(F,), ``Theta y``."""
    square: float
    """``y'y``."""
    width: float
    """How many entries were observed."""


class Workspace(NamedTuple):
    """Intermediate results of an evaluation; allocated once per block."""

    angles: Float
    waves: Float
    """(1 + d, F): the features, then their derivatives by each coordinate."""
    products: Float
    """(1 + d, F): the same, times ``Theta Theta'``."""
    by_inverse: Float
    """(F,): the features times the inverse."""
    gradient: Float
    curvature: Float


@compiled
def make_workspace(n_frequencies: int, d: int) -> Workspace:
    n_features = 2 * n_frequencies
    return Workspace(
        np.empty(n_frequencies),
        np.empty((1 + d, n_features)),
        np.empty((1 + d, n_features)),
        np.empty(n_features),
        np.empty(d),
        np.empty((d, d)),
    )


@compiled
def _prior_loss(problem: RowProblem, x: Float) -> float:
    loss = 0.0
    for c in range(x.size):
        loss += 0.5 * x[c] ** 2 / problem.latent_var
    return loss


@compiled
def _moments(problem: RowProblem, row: Row, phi: Float, by_second: Float, by_inverse: Float) -> tuple[float, float]:
    """Compute the squared misfit of the row, and the predictive variance of an entry (eq:subeqns)."""
    misfit = max(row.square - 2.0 * _dot(phi, row.theta_y) + _dot(phi, by_second), 0.0)
    return misfit, problem.noise_var * (1.0 + max(_dot(phi, by_inverse), 0.0))


@compiled
def _data_loss(row: Row, misfit: float, variance: float) -> float:
    return 0.5 * (row.width * math.log(2.0 * math.pi * variance) + misfit / variance)


@compiled
def evaluate(problem: RowProblem, row: Row, x: Float, space: Workspace) -> tuple[float, float]:
    """Compute minus log posterior density at ``x`` and minus log predictive density of the row there.

    Leaves the gradient and the Gauss-Newton curvature of the former in the workspace.
    """
    n, d = problem.frequencies.shape
    waves, products = space.waves, space.products
    features_at(x, problem.frequencies, space.angles, waves[0])
    for c in range(d):
        for i in range(n):
            waves[1 + c, i] = problem.frequencies[i, c] * waves[0, n + i]
            waves[1 + c, n + i] = -problem.frequencies[i, c] * waves[0, i]
    symmetric_products(problem.second, waves, products)
    symmetric_times(problem.inverse, waves[0], space.by_inverse)
    misfit, variance = _moments(problem, row, waves[0], products[0], space.by_inverse)
    by_spread = (row.width - misfit / variance) * problem.noise_var / variance
    for c in range(d):
        slope = waves[1 + c]
        space.gradient[c] = (
            (_dot(slope, products[0]) - _dot(slope, row.theta_y)) / variance
            + by_spread * _dot(slope, space.by_inverse)
            + x[c] / problem.latent_var
        )
        for e in range(c + 1):
            curvature = _dot(waves[1 + e], products[1 + c]) / variance
            space.curvature[c, e] = curvature
            space.curvature[e, c] = curvature
        space.curvature[c, c] += 1.0 / problem.latent_var
    loss = _data_loss(row, misfit, variance)
    return loss + _prior_loss(problem, x), loss


@compiled
def best_start(problem: RowProblem, row: Row, starts: Float, angles: Float) -> int:
    """Return the index of the most probable of the positions ``starts`` (k, d)."""
    k, n_features = len(starts), len(problem.second)
    phi, by_second, by_inverse = np.empty((k, n_features)), np.empty((k, n_features)), np.empty((k, n_features))
    for s in range(k):
        features_at(starts[s], problem.frequencies, angles, phi[s])
    symmetric_products(problem.second, phi, by_second)
    symmetric_products(problem.inverse, phi, by_inverse)
    best, best_loss = 0, math.inf
    for s in range(k):
        misfit, variance = _moments(problem, row, phi[s], by_second[s], by_inverse[s])
        loss = _data_loss(row, misfit, variance) + _prior_loss(problem, starts[s])
        if loss < best_loss:
            best, best_loss = s, loss
    return best


@compiled
def damped_step(gradient: Float, curvature: Float, damping: float, longest: float, step: Float) -> None:
    """Compute ``step = -(curvature + damping diag(curvature))^-1 gradient``, shortened to ``longest``."""
    d = gradient.size
    lower = np.empty((d, d))
    # A Cholesky factorisation by hand: d is two or three, and a LAPACK call costs more than the work.
    for c in range(d):
        for e in range(c + 1):
            total = curvature[c, e] * (1.0 + damping if c == e else 1.0)
            for k in range(e):
                total -= lower[c, k] * lower[e, k]
            lower[c, e] = math.sqrt(max(total, LEAST_PIVOT * curvature[c, c])) if c == e else total / lower[e, e]
    for c in range(d):
        total = -gradient[c]
        for k in range(c):
            total -= lower[c, k] * step[k]
        step[c] = total / lower[c, c]
    square = 0.0
    for c in range(d - 1, -1, -1):
        total = step[c]
        for k in range(c + 1, d):
            total -= lower[k, c] * step[k]
        step[c] = total / lower[c, c]
        square += step[c] ** 2
    if square > longest**2:
        for c in range(d):
            step[c] *= longest / math.sqrt(square)


@compiled
def locate(problem: RowProblem, row: Row, starts: Float, n_steps: int, space: Workspace, x: Float) -> float:
    """Write the position of a row into ``x``; return the log predictive density of the row there.

    The best of ``starts`` (k, d) is improved by ``n_steps`` steps, or fewer if it converges. The workspace describes
    ``x`` afterwards.
    """
    d = x.size
    start = starts[best_start(problem, row, starts, space.angles)]
    trial, step, gradient, curvature = np.empty(d), np.zeros(d), np.empty(d), np.empty((d, d))
    best, best_loss, damping, is_current = math.inf, math.inf, DAMPING, False
    # The first evaluation is at the start, then one per step; one more if the last step was not taken.
    for number in range(n_steps + 2):  # n_steps may shrink below
        if number == n_steps + 1 and is_current:
            break
        for c in range(d):
            trial[c] = start[c] if number == 0 else (x[c] + step[c] if number <= n_steps else x[c])
        value, loss = evaluate(problem, row, trial, space)
        is_current = value < best or number == 0 or number == n_steps + 1
        if is_current:
            best, best_loss = value, loss
            for c in range(d):
                x[c], gradient[c] = trial[c], space.gradient[c]
                for e in range(d):
                    curvature[c, e] = space.curvature[c, e]
        if number > 0:
            damping *= DAMPING_DOWN if is_current else DAMPING_UP
        if number > n_steps:
            break
        damped_step(gradient, curvature, damping, problem.longest_step, step)
        if problem.shortest_step > 0.0 and _dot(step, step) <= problem.shortest_step**2:
            n_steps = number
    return -best_loss
