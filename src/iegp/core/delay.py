"""Labels that arrive some rows late: every row is predicted from the labels that are known then.

A row that was predicted waits until its label arrives, ``delay`` rows later. Then the answer given is scored, weights
move, the noise is learned, and the row is learned in order. Stacking and heavy-tailed noise learn from the answers
given; posterior probabilities and conjugate noise use one-step-ahead scores in the order of rows, because scores of
overlapping horizons are no likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core import weights
from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import CHUNK_ROWS, SPAN_AFTER_GLITCH
from iegp.core.ensemble import (
    ExpertPredictions,
    PassOptions,
    completed,
    expert_predictions,
    first_rows,
    labels_of,
    lagged_rows,
    mix_labels,
    score_labels,
    skip_row,
    summarise,
)
from iegp.core.expert import noise
from iegp.core.expert.delayed import Queue, sweep_delayed
from iegp.core.expert.sweep import Rows, Workspace, sweep_blocks, workspace_for
from iegp.core.glitches import rows_before_glitch
from iegp.core.lags import remember, repeat_newest, with_lags
from iegp.core.likelihoods.sites import LabelModel
from iegp.core.predictions import Predictions, allocate_predictions
from iegp.core.spread import learn_spread, spread_row
from iegp.core.state import Ensemble, State, active_experts, restore, weight_rule
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
    spread: Float
    """(k, D): the one that the label asks for (:mod:`iegp.core.spread`); NaN likewise, and where none is learned."""
    far: Float
    """(k,): 1 if the label is too far from the answer to be believed (``Ensemble.glitch``), 0 if not."""
    steps: Float
    """(k,): steps between a row and the one before it."""

    def forgotten(self, ensemble: Ensemble) -> Waiting:
        """The same rows for other experts, whose answers are not known."""
        k, n_outputs = len(self.x), ensemble.noise_var.shape[1]
        unknown = np.full((k, ensemble.n_beliefs, n_outputs), np.nan), np.full((k, n_outputs), np.nan)
        return Waiting(self.x, self.y, np.zeros((k, ensemble.n_experts)), *unknown, self.far, self.steps)

    def stored(self) -> dict[str, Float]:
        """What files hold: steps follow from times, and are one each where there are none."""
        return {name: array for name, array in self._asdict().items() if name != "steps"}

    @classmethod
    def restored(cls, stored: Mapping[str, Float]) -> Waiting:
        """The inverse."""
        return cls(**stored, steps=np.ones(len(stored["x"])))

    def part(self, start: int, stop: int) -> Waiting:
        """A copy of some of the rows."""
        return Waiting(*(array[start:stop].copy() for array in self))


def none_waiting(ensemble: Ensemble, n_columns: int, n_labels: int) -> Waiting:
    """The beginning of a stream."""
    return _unanswered(ensemble, Rows(np.empty((0, n_columns)), np.empty((0, n_labels)), np.empty(0)))


def learn_delayed(
    ensemble: Ensemble, state: State, waiting: Waiting, new: Rows, delay: int, options: PassOptions
) -> tuple[Predictions, Waiting]:
    """Predict new rows, each from the labels known then, and learn those that arrive meanwhile.

    All in standardised units; ``state`` is updated in place. Returns what is waiting afterwards.
    """
    parts, start, span = [], 0, CHUNK_ROWS
    with one_blas_thread():
        while start < max(len(new.x), 1):
            rows = Rows(*(array[start : start + span] for array in new))
            predictions, waiting = _learn_span(ensemble, state, waiting, rows, delay, options)
            parts.append(predictions)
            start += max(predictions.n_rows, 1)
            span = min(2 * span, CHUNK_ROWS) if predictions.n_rows == len(rows.x) else SPAN_AFTER_GLITCH
    return Predictions.concatenate(parts), waiting


def _learn_span(
    ensemble: Ensemble, state: State, waiting: Waiting, new: Rows, delay: int, options: PassOptions
) -> tuple[Predictions, Waiting]:
    """As :func:`learn_delayed` for rows at once, up to the first during which a glitch arrives, which is not learned.

    Rows are learned as if there were none, and again up to the first; as without delay.
    """
    can_skip, n_waiting = not math.isinf(ensemble.glitch), len(waiting.x)
    before = state.copy() if can_skip else state
    predictions, experts, after = _learn_chunk(ensemble, state, waiting, new, delay, options)
    n_arrived = max(0, n_waiting + len(new.x) - delay)
    good = _note_far(state, after.far[:n_arrived]) if can_skip else n_arrived
    if good == n_arrived:
        return completed(ensemble, predictions, experts, new.y, options), after.part(n_arrived, len(after.x))
    restore(state, before)
    # The row that is answered just before the glitch arrives.
    last = good + delay - n_waiting
    if last > 0:
        first = Rows(*(array[:last] for array in new))
        _learn_chunk(ensemble, state, waiting, first, delay, options)
    _note_far(state, after.far[:good])
    skip_row(ensemble, state, float(after.steps[good]), np.empty(0))
    repeat_newest(ensemble.lags, state.recent)
    some = Predictions(*(array[: last + 1] for array in predictions)), first_rows(experts, last + 1)
    return completed(ensemble, *some, new.y[: last + 1], options), after.part(good + 1, n_waiting + last + 1)


def _note_far(state: State, far: Float) -> int:
    """How many labels arrive before the first glitch; if there is none, all are noted.

    The next row was answered without the label of this one: whether it is far out too says if it is a change.
    """
    return int(rows_before_glitch(state, far > 0.0, np.empty((len(far), 0))))


def _learn_chunk(
    ensemble: Ensemble, state: State, waiting: Waiting, new: Rows, delay: int, options: PassOptions
) -> tuple[Predictions, ExpertPredictions, Waiting]:
    """Predict and learn; also returns all rows, those that were waiting first, with the scores of their answers."""
    n, n_waiting = len(new.x), len(waiting.x)
    n_arrived = max(0, n_waiting + n - delay)
    after = Waiting(*(np.concatenate(pair) for pair in zip(waiting, _unanswered(ensemble, new), strict=True)))
    active, labels = active_experts(ensemble, state), labels_of(ensemble)
    # Offsets are larger than the delay: no row sees a label that has not arrived when it is predicted.
    x = with_lags(ensemble.lags, state.recent, after.x, after.y)
    rows = Rows(x[:n_arrived], after.y[:n_arrived], after.steps[:n_arrived])
    arrived = workspace_for(ensemble, active, rows, ensemble.n_classes)
    queue = _queue(after.steps, delay, n_waiting)
    noise_steps = queue.ahead if options.is_timed else np.ones(n)
    work = workspace_for(ensemble, active, Rows(x[n_waiting:], new.y, noise_steps), ensemble.n_classes)
    sweep_delayed(ensemble, state, labels, (arrived, work), queue)
    predictions = allocate_predictions(ensemble, n)
    ahead = queue.ahead if options.is_timed else np.full(n, delay + 1.0)
    answers = AnswerScores(ahead, after.log_scores, after.squares, after.spread)
    weigh_delayed(ensemble, state, labels, Works(arrived, work), answers, predictions)
    if labels is None:
        after.far[n_waiting:] = np.any(np.abs(new.y - predictions.mean) > ensemble.glitch * predictions.std, axis=1)
    return predictions, expert_predictions(work), after


def _queue(steps: Float, delay: int, n_waiting: int) -> Queue:
    """Where a call stands, with so many steps between the rows that wait or are new."""
    clock = np.cumsum(steps)
    # New row i is predicted after so many of the rows before it have been learned.
    n_learned = np.maximum(np.arange(n_waiting, len(steps)) - delay, 0)
    learned = np.concatenate([np.zeros(1), clock])[n_learned]
    return Queue(delay, n_waiting, clock, clock[n_waiting:] - learned)


def _unanswered(ensemble: Ensemble, rows: Rows) -> Waiting:
    unknown = np.empty((0, 0)), np.empty((0, 0, 0)), np.empty((0, 0)), np.zeros(len(rows.x))
    return Waiting(rows.x, rows.y, *unknown, rows.steps).forgotten(ensemble)


def with_all_arrived(ensemble: Ensemble, state: State, waiting: Waiting) -> State:
    """A copy of the state in which the labels of all waiting rows have arrived."""
    state = state.copy()
    while len(waiting.x):
        good = len(waiting.x) if math.isinf(ensemble.glitch) else _note_far(state, waiting.far)
        if good:
            _arrive_now(ensemble, state, waiting.part(0, good))
        if good < len(waiting.x):
            _note_far(state, waiting.far[:good])
            skip_row(ensemble, state, float(waiting.steps[good]), np.empty(0))
            repeat_newest(ensemble.lags, state.recent)
        waiting = waiting.part(good + 1, len(waiting.x))
    return state


def _arrive_now(ensemble: Ensemble, state: State, waiting: Waiting) -> None:
    labels = labels_of(ensemble)
    rows = lagged_rows(ensemble, state, Rows(waiting.x, waiting.y, waiting.steps))
    work = workspace_for(ensemble, active_experts(ensemble, state), rows, ensemble.n_classes)
    with one_blas_thread():
        sweep_blocks(ensemble, state, labels, work)
    arrive_all(
        ensemble, state, labels, work, AnswerScores(np.empty(0), waiting.log_scores, waiting.squares, waiting.spread)
    )


class Works(NamedTuple):
    """Workspaces of the rows that arrive and of the new ones."""

    arrived: Workspace
    new: Workspace


class AnswerScores(NamedTuple):
    """How well rows were predicted, those that were waiting first; see :class:`Waiting`."""

    ahead: Float
    """(n,): steps by which the weights move on their own between labels and answers to new rows."""
    log_scores: Float
    squares: Float
    spread: Float


@compiled
def weigh_delayed(
    ensemble: Ensemble,
    state: State,
    labels: LabelModel | None,
    works: Works,
    answers: AnswerScores,
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
        ahead = weights.diffuse_over(weight_rule(ensemble), state.log_weights, answers.ahead[i])
        scores = answers.log_scores[n_waiting + i]
        if labels is None:
            noise.score_ahead(ensemble, state, new, i, scores, answers.squares[n_waiting + i])
        total = -math.inf
        for e in range(ahead.size):
            out.weights[i, e] = math.exp(ahead[e])
            total = weights.log_add_exp(total, ahead[e] + scores[e] if ahead[e] > -math.inf else -math.inf)
        out.log_score[i] = total
        if ensemble.learns_spread:
            spread_row(state.spread, new, out, i, answers.spread[n_waiting + i])
        s = i - (n - n_arrived)
        if s >= 0:
            _arrive(ensemble, state, labels, arrived, answers, s)
    if labels is None:
        summarise(new, out)
    else:
        mix_labels(ensemble, new, out)


@compiled
def arrive_all(
    ensemble: Ensemble, state: State, labels: LabelModel | None, arrived: Workspace, answers: AnswerScores
) -> None:
    """Learn noise and weights from the labels of rows that were waiting."""
    if labels is not None:
        score_labels(ensemble, arrived)
    for s in range(arrived.x.shape[0]):
        _arrive(ensemble, state, labels, arrived, answers, s)


@compiled
def _arrive(
    ensemble: Ensemble, state: State, labels: LabelModel | None, arrived: Workspace, answers: AnswerScores, s: int
) -> None:
    """The label of row ``s`` has come: the noise is learned, and the weights move."""
    if labels is None:
        noise.learn_arrived(ensemble, state, arrived, s, answers.squares[s])
        if ensemble.learns_spread:
            learn_spread(state, answers.spread[s], 1.0)
    rule = weight_rule(ensemble)
    scores = answers.log_scores if weights.scores_answers[rule.rule] else arrived.log_scores
    used, log_score = np.empty((1, state.log_weights.size)), np.empty(1)
    steps = arrived.steps[s : s + 1]
    weights.weigh_spaced_rows(rule, scores[s : s + 1], steps, state.log_weights, used, log_score)
    state.rows[0] += 1.0
    remember(ensemble.lags, state.recent, arrived.y[s : s + 1])
