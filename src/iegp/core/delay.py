"""Labels that arrive some rows late: every row is predicted from the labels that are known then.

A row that was predicted waits until its label arrives, ``delay`` rows later. Then the answer given is scored, weights
move, the noise is learned, and the row is learned in order. Stacking and heavy-tailed noise learn from the answers
given; posterior probabilities and conjugate noise use one-step-ahead scores in the order of rows, because scores of
overlapping horizons are no likelihood.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core import weights
from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import CHUNK_ROWS
from iegp.core.ensemble import (
    PassOptions,
    completed,
    expert_predictions,
    labels_of,
    mix_labels,
    score_labels,
    summarise,
)
from iegp.core.expert import noise
from iegp.core.expert.delayed import Queue, sweep_delayed
from iegp.core.expert.sweep import Rows, Workspace, sweep_blocks, workspace_for
from iegp.core.likelihoods.sites import LabelModel
from iegp.core.predictions import Predictions, allocate_predictions
from iegp.core.state import Ensemble, State, active_experts, weight_rule
from iegp.typing import Float


class Waiting(NamedTuple):
    """Rows whose labels have not arrived, oldest first, and how well they were predicted."""

    x: Float
    """(k, d)"""
    y: Float
    """(k, columns of y)"""
    log_scores: Float
    """(k, n_experts): of the answers given. All zero for rows that waited while the experts were fitted anew."""
    squares: Float
    """(k, n_beliefs, D): squared errors of the answers over their variances, in units of the noise; NaN likewise."""
    steps: Float
    """(k,): steps between a row and the one before it."""

    def forgotten(self, ensemble: Ensemble) -> Waiting:
        """The same rows for other experts, whose answers are not known."""
        k, n_outputs = len(self.x), ensemble.noise_var.shape[1]
        unknown = np.full((k, ensemble.n_beliefs, n_outputs), np.nan)
        return self._replace(log_scores=np.zeros((k, ensemble.n_experts)), squares=unknown)


def none_waiting(ensemble: Ensemble, n_columns: int, n_labels: int) -> Waiting:
    """The beginning of a stream."""
    return _room(ensemble, Rows(np.empty((0, n_columns)), np.empty((0, n_labels)), np.empty(0)))


def learn_delayed(
    ensemble: Ensemble, state: State, waiting: Waiting, new: Rows, delay: int, options: PassOptions
) -> tuple[Predictions, Waiting]:
    """Predict new rows, each from the labels known then, and learn those that arrive meanwhile.

    All in standardised units; ``state`` is updated in place. Returns what is waiting afterwards.
    """
    parts = []
    with one_blas_thread():
        for i in range(0, max(len(new.x), 1), CHUNK_ROWS):
            rows = Rows(*(array[i : i + CHUNK_ROWS] for array in new))
            predictions, waiting = _learn_chunk(ensemble, state, waiting, rows, delay, options)
            parts.append(predictions)
    return Predictions.concatenate(parts), waiting


def _learn_chunk(
    ensemble: Ensemble, state: State, waiting: Waiting, new: Rows, delay: int, options: PassOptions
) -> tuple[Predictions, Waiting]:
    n, n_waiting = len(new.x), len(waiting.x)
    n_arrived = max(0, n_waiting + n - delay)
    after = Waiting(*(np.concatenate(pair) for pair in zip(waiting, _room(ensemble, new), strict=True)))
    active, labels = active_experts(ensemble, state), labels_of(ensemble)
    rows = Rows(after.x[:n_arrived], after.y[:n_arrived], after.steps[:n_arrived])
    arrived = workspace_for(ensemble, active, rows, ensemble.n_classes)
    queue = _queue(after.steps, delay, n_waiting)
    rest = queue.ahead if options.is_timed else np.ones(n)
    work = workspace_for(ensemble, active, new._replace(steps=rest), ensemble.n_classes)
    sweep_delayed(ensemble, state, labels, (arrived, work), queue)
    predictions = allocate_predictions(ensemble, n)
    answers = Answers(1 if options.is_timed else delay + 1, after.log_scores, after.squares)
    weigh_delayed(ensemble, state, labels, Works(arrived, work), answers, predictions)
    done = completed(ensemble, expert_predictions(work), new.y, predictions, options.level)
    return done, Waiting(*(array[n_arrived:].copy() for array in after))


def _queue(steps: Float, delay: int, n_waiting: int) -> Queue:
    """Where a call stands, with so many steps between the rows that wait or are new."""
    clock = np.cumsum(steps)
    # New row i is predicted after so many of the rows before it have been learned.
    n_learned = np.maximum(np.arange(n_waiting, len(steps)) - delay, 0)
    learned = np.concatenate([np.zeros(1), clock])[n_learned]
    return Queue(delay, n_waiting, clock, clock[n_waiting:] - learned)


def _room(ensemble: Ensemble, rows: Rows) -> Waiting:
    return Waiting(rows.x, rows.y, np.empty((0, 0)), np.empty((0, 0, 0)), rows.steps).forgotten(ensemble)


def with_all_arrived(ensemble: Ensemble, state: State, waiting: Waiting) -> State:
    """A copy of the state in which the labels of all waiting rows have arrived."""
    state = state.copy()
    if len(waiting.x):
        labels = labels_of(ensemble)
        rows = Rows(waiting.x, waiting.y, waiting.steps)
        work = workspace_for(ensemble, active_experts(ensemble, state), rows, ensemble.n_classes)
        with one_blas_thread():
            sweep_blocks(ensemble, state, labels, work)
        answers = Answers(1, waiting.log_scores, waiting.squares)
        arrive_all(ensemble, state, labels, work, answers)
    return state


class Works(NamedTuple):
    """Workspaces of the rows that arrive and of the new ones."""

    arrived: Workspace
    new: Workspace


class Answers(NamedTuple):
    """How well rows were predicted, those that were waiting first; see :class:`Waiting`."""

    n_rows: int
    """Rows by which the weights move on their own between labels and answers, each ``steps`` of the workspace."""
    log_scores: Float
    squares: Float


@compiled
def weigh_delayed(
    ensemble: Ensemble,
    state: State,
    labels: LabelModel | None,
    works: Works,
    answers: Answers,
    out: Predictions,
) -> None:
    """Weigh the experts for every new row, with what is known then; learn noise and weights from labels that arrive."""
    arrived, new = works
    n, n_arrived = new.x.shape[0], arrived.x.shape[0]
    n_waiting = answers.log_scores.shape[0] - n
    if labels is not None:
        score_labels(ensemble, new)
        score_labels(ensemble, arrived)
        answers.log_scores[n_waiting:] = new.log_scores
    for i in range(n):
        ahead = weights_ahead(ensemble, state, answers.n_rows, new.steps[i])
        scores = answers.log_scores[n_waiting + i]
        if labels is None:
            noise.score_ahead(ensemble, state, new, i, scores, answers.squares[n_waiting + i])
        total = -math.inf
        for e in range(ahead.size):
            out.weights[i, e] = math.exp(ahead[e])
            total = weights.log_add_exp(total, ahead[e] + scores[e] if ahead[e] > -math.inf else -math.inf)
        out.log_score[i] = total
        s = i - (n - n_arrived)
        if s >= 0:
            _arrive(ensemble, state, labels, arrived, answers, s)
    if labels is None:
        summarise(new, out)
    else:
        mix_labels(ensemble, new, out)


@compiled
def arrive_all(
    ensemble: Ensemble, state: State, labels: LabelModel | None, arrived: Workspace, answers: Answers
) -> None:
    """Learn noise and weights from the labels of rows that were waiting."""
    if labels is not None:
        score_labels(ensemble, arrived)
    for s in range(arrived.x.shape[0]):
        _arrive(ensemble, state, labels, arrived, answers, s)


@compiled
def _arrive(
    ensemble: Ensemble, state: State, labels: LabelModel | None, arrived: Workspace, answers: Answers, s: int
) -> None:
    """The label of row ``s`` has come: the noise is learned, and the weights move."""
    if labels is None:
        noise.learn_arrived(ensemble, state, arrived, s, answers.squares[s])
    rule = weight_rule(ensemble)
    scores = answers.log_scores if rule.rule == weights.STACKING else arrived.log_scores
    used, log_score = np.empty((1, state.log_weights.size)), np.empty(1)
    steps = arrived.steps[s : s + 1]
    weights.weigh_spaced_rows(rule, scores[s : s + 1], steps, state.log_weights, used, log_score)
    state.rows[0] += 1.0


@compiled
def weights_ahead(ensemble: Ensemble, state: State, n_rows: int, steps: float) -> Float:
    """Logs of the weights so many rows ahead; without switching they do not move on their own."""
    rule = weight_rule(ensemble)
    ahead = weights.diffuse_over(rule, state.log_weights, steps)
    if ensemble.transitions.shape[0] > 1:
        for _ in range(n_rows - 1):
            ahead = weights.diffuse_over(rule, ahead, steps)
    return ahead
