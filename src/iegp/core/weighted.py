"""Rows that count with a weight: predict every row, then learn it as so many.

The weight of a row multiplies the log likelihood of its label: Gaussian noise is divided by it, and slope and curvature
of other labels are multiplied by it. The weights of the experts and their noise learn with the log score times the
weight. Predictions and their scores are for rows of weight one. A row of weight zero is predicted and not learned.

A Gaussian label with a weight is a site of known slope and curvature (``core/likelihoods/sites.py``), so that blocks
are those of ``core/expert/laplace_block.py``: exact, and without a division by the weight. Passes without weights do
not come here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core import ensemble as ens
from iegp.core import weights as rules
from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import CHUNK_ROWS, LARGEST_SQUARE, NOISE_FLOOR
from iegp.core.expert import noise
from iegp.core.expert.belief import Ahead, Block, no_trail
from iegp.core.expert.laplace_block import score_rows
from iegp.core.expert.sweep import Rows, Workspace, block_rows, kernel_features, learn_other_block, workspace_for
from iegp.core.lags import remember
from iegp.core.likelihoods import GAUSSIAN
from iegp.core.likelihoods.sites import LabelModel, of_belief
from iegp.core.predictions import Predictions, allocate_predictions
from iegp.core.spread import follow_spread
from iegp.core.state import Ensemble, State, active_experts, belief_at, drift_at, label_model, weight_rule
from iegp.core.weights import WeightRule
from iegp.typing import Float


class Weighted(NamedTuple):
    """Labels, and how much each row counts."""

    y: Float
    """(n, D), or the columns of the likelihood."""
    weights: Float | None
    """(n,): finite, 0 or larger; None if all rows count alike."""

    def part(self, start: int, stop: int) -> Weighted:
        """Some of the rows."""
        return Weighted(self.y[start:stop], None if self.weights is None else self.weights[start:stop])


class WeightedRows(NamedTuple):
    """Rows to learn, standardised, as :class:`~iegp.core.expert.sweep.Rows`."""

    x: Float
    y: Float
    steps: Float
    weights: Float
    """(n,)"""


def learn_chunks(
    ensemble: Ensemble, state: State, rows: WeightedRows, options: ens.PassOptions
) -> Iterator[Predictions]:
    """Predict every row, then learn it with its weight, chunk by chunk, in one thread; ``state`` is changed."""
    with one_blas_thread():
        if not math.isinf(ensemble.glitch):
            yield from ens.learn_without_glitches(ensemble, state, rows, options, _learn_chunk)
            return
        for i in range(0, max(len(rows.x), 1), CHUNK_ROWS):
            part = ens.part_of(rows, i, i + CHUNK_ROWS)
            yield ens.completed(ensemble, *_learn_chunk(ensemble, state, part, 1), part.y, options)


def learn_labelled(
    ensemble: Ensemble, state: State, x: Float, labels: Weighted, options: ens.PassOptions, steps: Float | None
) -> Iterator[Predictions]:
    """A pass over standardised rows, with or without weights."""
    if labels.weights is None:
        return ens.learn_chunks(ensemble, state, x, labels.y, options, steps)
    rows = WeightedRows(x, labels.y, np.ones(len(x)) if steps is None else steps, labels.weights)
    return learn_chunks(ensemble, state, rows, options)


def _learn_chunk(
    ensemble: Ensemble, state: State, rows: WeightedRows, n_threads: int
) -> tuple[Predictions, ens.ExpertPredictions]:
    del n_threads
    predictions, labels = allocate_predictions(ensemble, len(rows.x)), _labels_of(ensemble)
    lagged = ens.lagged_rows(ensemble, state, Rows(*rows[:3]))
    work = workspace_for(ensemble, active_experts(ensemble, state), lagged, ensemble.n_classes)
    _sweep(ensemble, state, labels, work, np.column_stack([rows.y, rows.weights]))
    if ensemble.likelihood == GAUSSIAN:
        _weigh_numbers(ensemble, state, work, rows.weights, predictions)
    else:
        _weigh_labels(ensemble, state, work, rows.weights, predictions)
    experts = ens.expert_predictions(work)
    ens.require_sound(ensemble, state, experts)
    return predictions, experts


def _labels_of(ensemble: Ensemble) -> LabelModel:
    """The label model of labels whose last column is their weight."""
    if ensemble.likelihood == GAUSSIAN:
        return LabelModel(0, 0, 0, np.zeros((ensemble.n_beliefs, 0)), np.zeros((1, 0)), True)
    return label_model(ensemble)._replace(is_weighted=True)


@compiled
def _sweep(ensemble: Ensemble, state: State, labels: LabelModel, work: Workspace, y: Float) -> None:
    """Predict then learn rows with all active beliefs, block by block; the last column of ``y`` holds the weights."""
    layout, n = ensemble.layout, y.shape[0]
    is_gaussian = ensemble.likelihood == GAUSSIAN
    trail = no_trail(ensemble.noise_var.shape[1])
    for kernel in range(layout.beliefs.size - 1):
        first, end = layout.beliefs[kernel], layout.beliefs[kernel + 1]
        size = block_rows(layout.features[first + 1] - layout.features[first], True, False)
        for start in range(0, n, size):
            stop = min(n, start + size)
            phi = kernel_features(ensemble, kernel, work.x[start:stop])
            block = Block(phi, y[start:stop], work.steps[start:stop])
            for b in range(first, end):
                if work.active.beliefs[b]:
                    own = of_belief(labels, b)
                    ahead = Ahead(work.means[b, start:stop], work.variances[b, start:stop])
                    learn_other_block(own, belief_at(layout, state, b), drift_at(ensemble, b), block, ahead, trail)
                    if is_gaussian:
                        # Of the label, noise of weight one included.
                        ahead.variances[:] += 1.0
                    else:
                        outcomes = work.outcomes[b, start:stop]
                        score_rows(own, block.y, ahead, work.belief_scores[b, start:stop], outcomes)


@compiled
def _weigh_numbers(ensemble: Ensemble, state: State, work: Workspace, weights: Float, predictions: Predictions) -> None:
    """Score the experts, learn their noise, weigh them, and sum the mixture of Gaussian labels up."""
    rule = weight_rule(ensemble)
    for t in range(weights.size):
        _learn_noise(ensemble, state, _row_of(work, t), weights[t])
        _learn_weights(rule, state, work, weights, t, predictions)
    if ensemble.learns_spread:
        follow_spread(state, work, predictions, weights)
    ens.summarise(work, predictions)
    state.rows[0] += weights.size
    remember(ensemble.lags, state.recent, work.y)


@compiled
def _weigh_labels(ensemble: Ensemble, state: State, work: Workspace, weights: Float, predictions: Predictions) -> None:
    """Score and weigh the experts, and sum up their mixture, where labels are not Gaussian and have no noise."""
    rule = weight_rule(ensemble)
    ens.score_labels(ensemble, work)
    for t in range(weights.size):
        _learn_weights(rule, state, work, weights, t, predictions)
    ens.mix_labels(ensemble, work, predictions)
    state.rows[0] += weights.size
    remember(ensemble.lags, state.recent, work.y)


@compiled
def _row_of(work: Workspace, t: int) -> Workspace:
    """One row of a workspace of Gaussian labels."""
    return Workspace(
        work.x[t : t + 1],
        work.y[t : t + 1],
        work.steps[t : t + 1],
        work.active,
        work.means[:, t : t + 1],
        work.variances[:, t : t + 1],
        work.belief_scores,
        work.outcomes,
        work.log_scores[t : t + 1],
        work.scales[t : t + 1],
        work.dof[t : t + 1],
        work.failures,
    )


@compiled
def _learn_noise(ensemble: Ensemble, state: State, row: Workspace, weight: float) -> None:
    """Score a row and learn the noise from it with its weight: so much of the way that a row of weight one goes.

    Conjugate noise forgets with every row. Where little is learned instead, its shape stays at what it starts from, so
    that tails do not widen without end; the level is not touched by that. Heavy-tailed noise goes as far as with so
    many rows of the same kind.
    """
    forgetting, tails, shape, scale = ensemble.forgetting, ensemble.tails, state.noise_shape, state.noise_scale
    n_noise = shape.size
    before, level = np.empty(n_noise), scale.copy()
    for k in range(n_noise):
        before[k] = 1.0 if math.isinf(shape[k]) else noise.share_kept(shape[k], forgetting[k], row.steps[0])
    kept = before * shape
    noise.score_rows(ensemble, state, row)
    if weight == 1.0:
        return
    growth = np.ones(n_noise)
    for k in range(n_noise):
        if not math.isinf(shape[k]):
            raw = kept[k] + 0.5 * weight
            shape[k] = raw if forgetting[k] == 1.0 else max(raw, 0.5 / (1.0 - forgetting[k]))
            growth[k] = shape[k] / raw
    for e in range(row.active.experts.size):
        b, k = e // n_noise, e % n_noise
        if not row.active.experts[e]:
            continue
        for d in range(scale.shape[1]):
            residual = row.y[0, d] - row.means[b, 0, d]
            square = min(residual * residual / row.variances[b, 0], LARGEST_SQUARE)
            start = before[k] * level[e, d]
            if not math.isinf(shape[k]):
                pulled = start + min(0.5 * weight * square, LARGEST_SQUARE)
                scale[e, d] = max(growth[k] * pulled, NOISE_FLOOR * shape[k])
            elif not math.isnan(tails[k]):
                scale[e, d] = noise.heavy_tailed(start, square, forgetting[k], tails[k], weight)


@compiled
def _learn_weights(
    rule: WeightRule, state: State, work: Workspace, weights: Float, t: int, predictions: Predictions
) -> None:
    """Weights and score of the answer to a row; then the weights learn with the log scores times the row's weight."""
    used, log_score = predictions.weights[t : t + 1], predictions.log_score[t : t + 1]
    scores, steps, weight = work.log_scores[t : t + 1], work.steps[t : t + 1], weights[t]
    log_weights = state.log_weights if weight == 1.0 else state.log_weights.copy()
    rules.weigh_spaced_rows(rule, scores, steps, log_weights, used, log_score)
    if weight != 1.0:
        # Zero times the score of an expert that is out, minus infinity, is no number.
        scores = weight * scores if weight > 0.0 else np.zeros(scores.shape)
        rules.weigh_spaced_rows(rule, scores, steps, state.log_weights, np.empty(used.shape), np.empty(1))
