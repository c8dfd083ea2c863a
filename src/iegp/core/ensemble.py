"""An ensemble of experts on standardised rows: predict, and predict-then-learn.

What the experts *are* (frequencies, ratios, rules) is an :class:`Ensemble`, fixed once the warm-up is over. What they
have *learned* is a :class:`State`: only what must be carried from row to row, and stored. What a pass over rows
*showed* is a :class:`Trace`. This file is the Gaussian case and the way into both; ``laplace.py`` has other labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core import laplace, weights
from iegp.core.compute.threads import Piece, one_blas_thread, run_in_pieces, wrap_around
from iegp.core.expert import belief, noise
from iegp.core.expert import gaussian_block as blocks
from iegp.core.likelihoods import GAUSSIAN
from iegp.core.predictive.mixture import Mixture, cdf_rows
from iegp.core.predictive.quantiles import NEGLIGIBLE_WEIGHT, quantiles
from iegp.core.state import Ensemble, State, Trace, Who, weight_rule, who_is_who
from iegp.typing import Bool, Float, Int

__all__ = ["Ensemble", "State", "Trace", "learn", "learn_chunks", "predict", "start"]

# Up to this many rows are absorbed one by one: factoring such a small block costs more.
FEW_ROWS = 6
# Rows between two looks at who was shut down; also bounds the memory of a long pass.
CHUNK_ROWS = 2048


def start(ensemble: Ensemble) -> State:
    """The state before any row: prior beliefs, equal weights."""
    n_features, n_outputs = 2 * ensemble.frequencies.shape[1], ensemble.noise_var.shape[1]
    beliefs = belief.prior(ensemble.prior_ratio, ensemble.drift_ratio, n_features, n_outputs)
    levels = noise.start(ensemble.forgetting, ensemble.tails, ensemble.rung_of, ensemble.noise_var[ensemble.belief_of])
    return State(*beliefs, *levels, np.full(ensemble.n_experts, -np.log(ensemble.n_experts)), np.zeros(1))


def predict(ensemble: Ensemble, state: State, x: Float) -> Mixture:
    """Predictive distribution of every row of ``x`` (n, d), were it the next row. Changes nothing."""
    n, n_outputs = len(x), state.vector.shape[2]
    shape = n, ensemble.n_experts, n_outputs
    used, loc, scales, dof = np.empty(shape[:2]), np.empty(shape), np.empty(shape), np.empty(shape)
    predict_into(ensemble, state, who_is_who(ensemble, state), x, used, loc, scales, dof)
    return Mixture.trusted(used, loc, scales, dof, single_output=False)


@compiled
def predict_into(
    ensemble: Ensemble, state: State, who: Who, x: Float, used: Float, loc: Float, scales: Float, dof: Float
) -> None:
    """Weights (n, experts), centres, scales and degrees of freedom (n, experts, D) of every row's mixture."""
    n, n_outputs = loc.shape[0], loc.shape[2]
    n_beliefs = ensemble.drift_ratio.size
    means, variances = np.zeros((n_beliefs, n, n_outputs)), np.ones((n_beliefs, n))
    blocks.predict_rows(
        x, ensemble.frequencies, ensemble.drift_ratio, who.active, state.matrix, state.vector, means, variances
    )
    mix_into(ensemble, state, who, means, variances, used, loc, scales, dof)


@compiled
def mix_into(
    ensemble: Ensemble,
    state: State,
    who: Who,
    means: Float,
    variances: Float,
    used: Float,
    loc: Float,
    scales: Float,
    dof: Float,
) -> None:
    """The same from what the beliefs predict: ``means`` (beliefs, n, D), ``variances`` (beliefs, n)."""
    n, n_experts, n_outputs = loc.shape
    ahead = np.exp(weights.diffuse(weight_rule(ensemble), state.log_weights))
    for e in range(n_experts):
        b, k = who.belief_of[e], who.rung_of[e]
        nu = noise.next_dof(state.noise_shape[k], ensemble.forgetting[k], ensemble.tails[k])
        for t in range(n):
            used[t, e] = ahead[e]
            for d in range(n_outputs):
                level = noise.squared_scale(state.noise_scale[e, d], state.noise_shape[k])
                loc[t, e, d] = means[b, t, d]
                scales[t, e, d] = math.sqrt(level * variances[b, t])
                dof[t, e, d] = nu


def learn(
    ensemble: Ensemble, state: State, x: Float, y: Float, n_threads: int = 1, level: float | None = None
) -> Trace:
    """Predict every row, then learn it, in order: exactly as if one by one. ``state`` is updated in place.

    ``x`` is (n, d) and ``y`` (n, D), or the columns of the likelihood. O(F²) per row and belief. ``level`` asks for
    central intervals, which cost extra.
    """
    return Trace.concatenate(list(learn_chunks(ensemble, state, x, y, n_threads, level)))


def learn_chunks(
    ensemble: Ensemble,
    state: State,
    x: Float,
    y: Float,
    n_threads: int = 1,
    level: float | None = None,
    *,
    is_live: bool = True,
) -> Iterator[Trace]:
    """The same, one trace per chunk: for long passes whose traces nobody keeps.

    ``is_live=False`` says that few rows need not be quick: those of a warm-up. They then share the code of blocks, so
    that nobody waits for both to be compiled before the first stream is through.
    """
    if len(x) <= FEW_ROWS and (is_live or ensemble.likelihood == GAUSSIAN):
        yield _learn_chunk(ensemble, state, x, y, 1, level, few_rows=True)
        return
    with one_blas_thread():
        for i in range(0, max(len(x), 1), CHUNK_ROWS):
            rows_x, rows_y = x[i : i + CHUNK_ROWS], y[i : i + CHUNK_ROWS]
            yield _learn_chunk(ensemble, state, rows_x, rows_y, n_threads, level, few_rows=False)


def _learn_chunk(
    ensemble: Ensemble, state: State, x: Float, y: Float, n_threads: int, level: float | None, few_rows: bool
) -> Trace:
    if ensemble.likelihood != GAUSSIAN:
        return laplace.learn_chunk(ensemble, state, x, y, n_threads, level, few_rows)
    rows = room_for(ensemble, *y.shape)
    who = who_is_who(ensemble, state)
    if len(y) <= FEW_ROWS:
        _few_rows(ensemble, state, who, x, y, rows)
    else:
        _many_rows(ensemble, state, who, x, y, rows, n_threads)
    return trace_of(ensemble, rows, y, level)


def room_for(ensemble: Ensemble, n: int, n_outputs: int) -> Rows:
    """Room for a chunk of n rows, in which every belief that is not active predicts 0 with variance 1."""
    n_beliefs, n_experts, n_rungs = len(ensemble.drift_ratio), ensemble.n_experts, len(ensemble.forgetting)
    return Rows(
        means=np.zeros((n_beliefs, n, n_outputs)),
        variances=np.ones((n_beliefs, n)),
        log_scores=np.empty((n, n_experts)),
        scales=np.empty((n, n_experts, n_outputs)),
        dof=np.empty((n, n_rungs)),
        used=np.empty((n, n_experts)),
        log_score=np.empty(n),
        mean=np.empty((n, n_outputs)),
        std=np.empty((n, n_outputs)),
    )


def trace_of(ensemble: Ensemble, rows: Rows, y: Float, level: float | None) -> Trace:
    """What a chunk of rows that has been weighed showed."""
    if level is None:
        lower = upper = pit = np.empty((0, y.shape[1]))
    else:
        tails = np.array([0.5 - 0.5 * level, 0.5 + 0.5 * level])
        components = _components(ensemble, rows.means, rows.scales, rows.dof)
        lower, upper = quantiles(rows.used, *components, tails)
        pit = cdf_rows(rows.used, *components, y, NEGLIGIBLE_WEIGHT / ensemble.n_experts)
    return Trace(rows.mean, rows.std, lower, upper, rows.log_score, rows.used, pit)


class Rows(NamedTuple):
    """Room for what a chunk of rows shows; shapes as in the functions that fill it."""

    means: Float
    variances: Float
    log_scores: Float
    scales: Float
    dof: Float
    used: Float
    log_score: Float
    mean: Float
    std: Float


@compiled
def _few_rows(ensemble: Ensemble, state: State, who: Who, x: Float, y: Float, rows: Rows) -> None:
    """A handful of rows in one compiled call: quick, and never interrupted halfway."""
    blocks.step_rows(
        x,
        y,
        ensemble.frequencies,
        ensemble.drift_ratio,
        who.active,
        state.matrix,
        state.vector,
        rows.means,
        rows.variances,
    )
    weigh(ensemble, state, who, y, rows)


def _many_rows(ensemble: Ensemble, state: State, who: Who, x: Float, y: Float, rows: Rows, n_threads: int) -> None:
    """Kernel by kernel in blocks, then the meta-learner over the table of scores."""
    what = ensemble.frequencies, ensemble.drift_ratio, who.active, state.matrix, state.vector
    replay_beliefs(x, y, *what, rows.means, rows.variances, n_threads)
    weigh(ensemble, state, who, y, rows)


def replay_beliefs(
    x: Float,
    y: Float,
    frequencies: Float,
    drift_ratio: Float,
    active: Bool,
    matrix: Float,
    vector: Float,
    means: Float,
    variances: Float,
    n_threads: int = 1,
) -> None:
    """Stream rows in blocks through the active beliefs of some kernels, which threads share."""
    n_drifts = len(drift_ratio) // len(frequencies)
    kernels = [k for k in range(len(frequencies)) if active[k * n_drifts : (k + 1) * n_drifts].any()]

    def work(piece: Piece) -> None:
        k = kernels[piece.task]
        own = slice(k * n_drifts, (k + 1) * n_drifts)
        what = frequencies[k], drift_ratio[own], active[own], matrix[own], vector[own]
        blocks.replay_kernel(x, y, piece.begin, piece.stop, *what, means[own], variances[own])

    costs = [float(active[k * n_drifts : (k + 1) * n_drifts].sum()) for k in kernels]
    if not costs:
        return
    # Cut where blocks of either kind end, so that results do not depend on the number of threads.
    block = blocks.block_rows(frequencies.shape[1], False)
    run_in_pieces(work, wrap_around(costs, len(x), block, min(n_threads, len(kernels))))


@compiled
def weigh(ensemble: Ensemble, state: State, who: Who, y: Float, rows: Rows) -> None:
    """Score the experts, learn their noise, weigh them, and sum the mixture up."""
    noise.score_rows(
        rows.means,
        rows.variances,
        y,
        who.belief_of,
        who.rung_of,
        ensemble.forgetting,
        ensemble.tails,
        state.noise_shape,
        state.noise_scale,
        who.alive,
        rows.log_scores,
        rows.scales,
        rows.dof,
    )
    weights.weigh_rows(weight_rule(ensemble), rows.log_scores, state.log_weights, rows.used, rows.log_score)
    summarise(rows.used, rows.means, rows.scales, rows.dof, who.belief_of, who.rung_of, rows.mean, rows.std)
    state.rows[0] += len(y)


@compiled
def summarise(
    used: Float, means: Float, scales: Float, dof: Float, belief_of: Int, rung_of: Int, mean: Float, std: Float
) -> None:
    """Mean and standard deviation of every row's mixture (eq:y_pre_static), into ``mean`` and ``std`` (n, D)."""
    n, n_experts = used.shape
    for t in range(n):
        for d in range(mean.shape[1]):
            centre = 0.0
            for e in range(n_experts):
                centre += used[t, e] * means[belief_of[e], t, d]
            spread = 0.0
            for e in range(n_experts):
                if used[t, e] > 0.0:
                    nu = dof[t, rung_of[e]]
                    factor = 1.0 if math.isinf(nu) else (nu / (nu - 2.0) if nu > 2.0 else math.inf)
                    gap = means[belief_of[e], t, d] - centre
                    spread += used[t, e] * (factor * scales[t, e, d] ** 2 + gap * gap)
            mean[t, d] = centre
            std[t, d] = math.sqrt(spread)


def _components(ensemble: Ensemble, means: Float, scales: Float, dof: Float) -> tuple[Float, Float, Float]:
    """Centres, scales and degrees of freedom of every row's mixture, each (n, n_experts, D)."""
    loc = np.ascontiguousarray(means.transpose(1, 0, 2)[:, ensemble.belief_of])
    shape = np.broadcast_to(dof[:, ensemble.rung_of, None], scales.shape)
    return loc, scales, np.ascontiguousarray(shape)
