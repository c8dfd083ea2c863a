"""IE-GPLVM: an embedding that keeps learning from a stream (the paper's section 6 and Algorithm 2).

Until ``warmup`` rows have been seen they are kept. Then experts are fitted to them, and every later row is embedded,
scored and learned once, in order. Experts are independent, so each processes a whole block of rows alone; the weights
are then updated from the table of their scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import GAP_CANDIDATES, MAP_PIECE_ROWS, REFRESH, REFRESH_FORGETTING, SEARCH_AXES
from iegp.core.latent.blocks import (
    Belief,
    RowBlock,
    learn_block,
    learn_partial,
    learn_walking_block,
    place_block,
    place_partial,
    refresh,
    refresh_walking,
)
from iegp.core.latent.experts import InitialMap, LatentExperts, fit_latent_experts
from iegp.core.latent.memory import Memory, digests_of
from iegp.core.latent.neighbours import Vectors
from iegp.core.latent.row import RowProblem
from iegp.core.latent.settings import LatentSettings
from iegp.core.latent.warmup import RowScaling, filled_rows, fit_scaling, search_axes
from iegp.core.weights import RULES, WeightRule, diffuse, log_sum_exp, weigh_rows
from iegp.typing import Bool, Float, Int


@dataclass
class Embedder:
    """A latent variable model after its warm-up."""

    settings: LatentSettings
    scaling: RowScaling
    experts: LatentExperts
    axes: Float
    memory: Memory
    log_weights: Float
    transitions: Float
    n_seen: int
    n_warmup: int

    @property
    def best_expert(self) -> int:
        """Index of the expert with the largest weight."""
        return int(np.argmax(self.log_weights))

    @property
    def n_experts(self) -> int:
        return len(self.log_weights)


class EmbeddedRows(NamedTuple):
    """Positions of rows that were learned, each found before the row was learned."""

    positions: Float
    """(M, n, d): positions under every expert."""
    stitched: Float
    """(n, d): positions under the best expert of the moment."""
    log_score: Float
    """(n,): log predictive density, in scaled units; NaN for rows of the warm-up."""


def begin(settings: LatentSettings, rows: Float, initial_map: InitialMap) -> tuple[Embedder, EmbeddedRows]:
    """Fit a model to its warm-up rows (n, D); NaN marks entries that are missing."""
    with one_blas_thread():
        scaling = fit_scaling(rows)
        scaled = filled_rows(scaling.scaled(rows))
        experts, positions, objectives = fit_latent_experts(settings, scaled, initial_map)
        axes = search_axes(scaled, SEARCH_AXES)
        n, n_experts = len(rows), len(settings.kernels)
        memory = Memory(n_experts, settings.n_components, axes.shape[1])
        memory.allocate(n)[:, :n] = positions
        stitched = positions[int(np.argmin(objectives))]
        memory.append(_vectors(scaled, axes), stitched, digests_of(rows), 0)
    log_weights = np.full(n_experts, -math.log(n_experts))
    if settings.weigh_warmup:
        # The probability of an expert given the warm-up rows and its positions; the objective has their prior too.
        log_weights = 0.5 * np.sum(positions**2, axis=(1, 2)) / settings.latent_var - objectives
        log_weights -= log_sum_exp(log_weights)
    embedder = Embedder(settings, scaling, experts, axes, memory, log_weights, settings.transitions(), n, n)
    return embedder, EmbeddedRows(positions, stitched, np.full(n, np.nan))


def learn(model: Embedder, rows: Float, first: int = 0) -> EmbeddedRows:
    """Embed and learn rows (n, D) in order; the model changes in place. Rows are checked before anything changes.

    ``first`` is the number that errors give the first row.
    """
    n, d = len(rows), model.settings.n_components
    for piece in _pieces(n):
        model.scaling.check(rows[piece], first + piece.start)
    learned = EmbeddedRows(np.empty((model.n_experts, n, d)), np.empty((n, d)), np.empty(n))
    with one_blas_thread():
        # In pieces: scaled copies of a long stream would not fit into the processor's caches, nor always into memory.
        for piece in _pieces(n):
            part = EmbeddedRows(learned.positions[:, piece], learned.stitched[piece], learned.log_score[piece])
            _learn_piece(model, rows[piece], part)
    return learned


def _learn_piece(model: Embedder, rows: Float, learned: EmbeddedRows) -> None:
    scaled, digests = model.scaling.scaled(rows), digests_of(rows)
    has_gaps: Bool = np.asarray(np.isnan(scaled).any(axis=1))
    t = 0
    while t < len(rows):
        if model.memory.size == model.settings.max_stored:
            model.memory.thin()
        stop = t + 1 if has_gaps[t] else _end_of_block(model, has_gaps, t)
        block = slice(t, stop)
        log_scores, vectors = (_learn_incomplete if has_gaps[t] else _learn_complete)(model, scaled[block])
        _weigh(model, log_scores, learned, block)
        model.memory.append(vectors, learned.stitched[block], digests[block], model.n_seen)
        model.n_seen += stop - t
        _refresh_on_schedule(model)
        t = stop


def _pieces(n: int) -> Iterator[slice]:
    """Yield slices of a few blocks each."""
    for begin_at in range(0, n, MAP_PIECE_ROWS):
        yield slice(begin_at, min(begin_at + MAP_PIECE_ROWS, n))


def _end_of_block(model: Embedder, has_gaps: Bool, t: int) -> int:
    """Return the end of a block: at the next index update, refresh, thinning of the memory, or row with gaps."""
    n_free = model.memory.neighbours.n_free()
    if model.settings.max_stored is not None:
        n_free = min(n_free, model.settings.max_stored - model.memory.size)
    period = _refresh_period(model)
    n_free = min(n_free, period - (model.n_seen - model.n_warmup) % period)
    stop = min(len(has_gaps), t + n_free)
    gaps = np.flatnonzero(has_gaps[t:stop])
    return t + int(gaps[0]) if len(gaps) else stop


def _refresh_period(model: Embedder) -> int:
    settings = model.settings
    return REFRESH if settings.forgetting == 1.0 and settings.drift_var == 0.0 else REFRESH_FORGETTING


def _refresh_on_schedule(model: Embedder) -> None:
    if (model.n_seen - model.n_warmup) % _refresh_period(model) == 0:
        for m in range(model.n_experts):
            if model.settings.drift_var > 0.0:
                refresh_walking(model.experts.belief(m))
            else:
                refresh(model.experts.belief(m), model.experts.ratio(m))


def _learn_complete(model: Embedder, rows: Float) -> tuple[Float, Vectors]:
    """Learn rows without gaps; return scores (b, M) and search vectors (b, q)."""
    settings, memory = model.settings, model.memory
    vectors = _vectors(rows, model.axes)
    neighbours = memory.neighbours.nearest_in_order(vectors, settings.n_neighbors)
    block = RowBlock(rows, rows @ rows.T, neighbours)
    positions = memory.allocate(len(rows))
    log_scores = np.empty((model.n_experts, len(rows)))
    learn_rows = learn_walking_block if settings.drift_var > 0.0 else learn_block
    for m in range(model.n_experts):
        problem = model.experts.problem(m, settings)
        learn_rows(model.experts.belief(m), problem, block, positions[m], memory.size, log_scores[m])
    return np.ascontiguousarray(log_scores.T), vectors


def _learn_incomplete(model: Embedder, rows: Float) -> tuple[Float, Vectors]:
    """Learn one row with gaps; the neighbour index stores it as the expert with the largest weight completes it."""
    settings, memory = model.settings, model.memory
    neighbours = _nearest_to_incomplete(model, rows[0])
    positions = memory.allocate(1)
    log_scores, completed = np.empty((1, model.n_experts)), np.empty((model.n_experts, rows.shape[1]))
    for m in range(model.n_experts):
        problem = model.experts.problem(m, settings)
        log_scores[0, m], completed[m] = learn_partial(
            model.experts.belief(m), problem, rows[0], neighbours, positions[m], memory.size
        )
    return log_scores, _vectors(completed[model.best_expert][None, :], model.axes)


def _weigh(model: Embedder, log_scores: Float, learned: EmbeddedRows, block: slice) -> None:
    """Update the weights over the block, and record the expert chosen for each row."""
    settings, first = model.settings, model.memory.size
    positions = model.memory.allocate(0)[:, first : first + len(log_scores)]
    learned.positions[:, block] = positions
    log_priors = np.ascontiguousarray(-0.5 * np.sum(positions**2, axis=2).T / settings.latent_var)
    chosen: Int = np.empty(len(log_scores), dtype=np.int64)
    choose_and_weigh(_weight_rule(model), log_scores, log_priors, model.log_weights, chosen, learned.log_score[block])
    learned.stitched[block] = positions[chosen, np.arange(len(chosen))]


@compiled
def choose_and_weigh(
    rule: WeightRule, log_scores: Float, log_priors: Float, log_weights: Float, chosen: Int, log_score: Float
) -> None:
    """Find the expert with the most probable position for every row (n, experts); update the weights in place.

    The choice is made in logs: a row of hundreds of entries moves weights by hundreds of nats at once.
    """
    n, n_experts = log_scores.shape
    weights = np.empty((1, n_experts))
    for t in range(n):
        ahead = diffuse(rule, log_weights)
        best = 0
        for e in range(1, n_experts):
            if ahead[e] + log_scores[t, e] + log_priors[t, e] > ahead[best] + log_scores[t, best] + log_priors[t, best]:
                best = e
        chosen[t] = best
        row = slice(t, t + 1)
        weigh_rows(rule, log_scores[row], log_weights, weights, log_score[row])


def _weight_rule(model: Embedder) -> WeightRule:
    settings = model.settings
    return WeightRule(RULES.index(settings.weights), model.transitions, settings.stacking_rate, settings.shutdown)


def _vectors(rows: Float, axes: Float) -> Vectors:
    return np.ascontiguousarray(rows @ axes, dtype=np.float32)


def _nearest_to_incomplete(model: Embedder, row: Float) -> Int:
    """Find neighbours of a row (D,) with gaps: near it with gaps at the mean, then near in the observed entries."""
    neighbours, observed = model.memory.neighbours, ~np.isnan(row)
    filled = np.where(observed, row, 0.0)
    found = neighbours.nearest(_vectors(filled[None, :], model.axes), max(GAP_CANDIDATES, model.settings.n_neighbors))[
        0
    ]
    candidates = neighbours.rows_at(found) @ model.axes[observed].T
    order = np.argsort(np.sum((candidates - row[observed]) ** 2, axis=1), kind="stable")
    nearest: Int = np.ascontiguousarray(found[order[: model.settings.n_neighbors]])
    return nearest


# -- predictions without learning ------------------------------------------------------------------------------------


def place(model: Embedder, rows: Float, experts: list[int]) -> tuple[Float, Float]:
    """Compute positions (len(experts), n, d) and log densities (len(experts), n) of rows; the model is unchanged."""
    scaled = model.scaling.scaled(rows)
    positions = np.empty((len(experts), len(rows), model.settings.n_components))
    log_scores = np.empty((len(experts), len(rows)))
    has_gaps = np.isnan(scaled).any(axis=1)
    with one_blas_thread():
        numbers = np.flatnonzero(~has_gaps)
        for piece in _pieces(len(numbers)):
            chosen = numbers[piece]
            whole = np.ascontiguousarray(scaled[chosen])
            neighbours = model.memory.neighbours.nearest(_vectors(whole, model.axes), model.settings.n_neighbors)
            block = RowBlock(whole, whole[:0], neighbours)
            for i, m in enumerate(experts):
                placed, scores = np.empty((len(chosen), model.settings.n_components)), np.empty(len(chosen))
                place_block(*_ahead(model, m), block, model.memory.positions[m], placed, scores)
                positions[i, chosen], log_scores[i, chosen] = placed, scores
        for t in np.flatnonzero(has_gaps):
            neighbours = _nearest_to_incomplete(model, scaled[t])
            for i, m in enumerate(experts):
                stored = model.memory.positions[m]
                log_scores[i, t] = place_partial(*_ahead(model, m), scaled[t], neighbours, stored, positions[i, t])[0]
    return positions, log_scores


def _ahead(model: Embedder, m: int) -> tuple[Belief, RowProblem]:
    """Return an expert as it is at the next row: walk or forgetting between two rows are already applied."""
    belief, problem = model.experts.belief(m), model.experts.problem(m, model.settings)
    if problem.walk > 0.0:
        inverse = belief.inverse + problem.walk * np.eye(len(belief.inverse))
        return belief._replace(inverse=inverse), problem._replace(inverse=inverse)
    decay = model.settings.forgetting
    if decay == 1.0:
        return belief, problem
    inverse = belief.inverse / decay
    return belief._replace(inverse=inverse, cross=belief.cross * decay), problem._replace(inverse=inverse)


def log_densities(model: Embedder, rows: Float) -> Float:
    """Compute the log predictive density (n,) of each row's observed entries as the next row, in the user's units."""
    _, log_scores = place(model, rows, list(range(model.n_experts)))
    ahead = diffuse(_weight_rule(model), model.log_weights)
    mixture = np.array([log_sum_exp(ahead + scores) for scores in log_scores.T])
    n_observed = np.sum(~np.isnan(rows), axis=1)
    return np.asarray(mixture - n_observed * math.log(model.scaling.scale[0]))
