"""An ensemble of experts on standardised rows: predict, and predict-then-learn.

What the experts *are* (frequencies, ratios, rules) is an :class:`Ensemble`, fixed once the warm-up is over. What they
have *learned* is a :class:`State`: only what must be carried from row to row, and stored. A pass over rows gives
:class:`Predictions`.

An expert's loss is minus the log predictive density of the label (eq:p_y_pre_1); where labels are not Gaussian it is
found by quadrature over the latent value. The weights follow from the table of these losses (eq:w_update_1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from iegp._compile import compiled
from iegp.core import conformal as conf
from iegp.core import weights
from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import (
    CHANGES_PREVAIL,
    CHUNK_ROWS,
    FEW_ROWS,
    LONGEST_SPAN,
    NEGLIGIBLE_TAIL_SHARE,
    SPAN_AFTER_GLITCH,
)
from iegp.core.expert import belief, noise
from iegp.core.expert.belief import Ahead
from iegp.core.expert.sweep import (
    Rows,
    Workspace,
    learn_row,
    predict_row,
    predict_rows,
    sweep_blocks,
    sweep_rows,
    workspace_for,
)
from iegp.core.followers import Followers
from iegp.core.glitches import is_far, is_left_out, note_row, note_skipped, rows_before_glitch
from iegp.core.lags import follow_change, remember, with_known_lags, with_lags
from iegp.core.likelihoods import GAUSSIAN, likelihood_of
from iegp.core.likelihoods.mixture import Latent
from iegp.core.likelihoods.sites import LabelModel, log_predictive, of_belief
from iegp.core.predictions import Predictions, allocate_predictions, some_rows
from iegp.core.predictive.classes import mid_pit_rows, mix_classes, sharpened_score
from iegp.core.predictive.components import Components, inflation
from iegp.core.predictive.distribution import central_levels
from iegp.core.predictive.mixture import Mixture, cdf_rows
from iegp.core.predictive.quantiles import quantiles
from iegp.core.spread import follow_spread
from iegp.core.state import Ensemble, State, active_experts, belief_at, drift_at, label_model, restore, weight_rule
from iegp.errors import InputError
from iegp.typing import Bool, Float

__all__ = ["Ensemble", "Predictions", "State", "learn", "learn_chunks", "predict", "start"]


def start(ensemble: Ensemble) -> State:
    """The state before any row: prior beliefs, equal weights."""
    layout, n_outputs = ensemble.layout, ensemble.noise_var.shape[1]
    # Compiled code trusts the layout.
    sizes = len(ensemble.basis.amplitudes), len(ensemble.basis.slopes), len(ensemble.drift), ensemble.n_beliefs
    expected = layout.waves[-1], layout.affine[-1], layout.features[-1], layout.n_beliefs
    if sizes != tuple(map(int, expected)):
        raise InputError(
            f"the layout is of {expected} waves, affine features, drifts and beliefs, but there are {sizes}; "
            "make it with layout_of"
        )
    levels = noise.start(ensemble.forgetting, ensemble.tails, ensemble.noise_of, ensemble.noise_var[ensemble.belief_of])
    state = State(
        np.zeros(layout.matrix[-1]),
        np.zeros((layout.features[-1], n_outputs)),
        *levels,
        np.full(ensemble.n_experts, -np.log(ensemble.n_experts)),
        np.zeros(2),
        np.zeros((ensemble.lags.n_recent, ensemble.lags.table.shape[1])),
        np.zeros(2 + n_outputs),
        np.ones(n_outputs),
    )
    for b, prior_ratio in enumerate(ensemble.prior_ratio):
        belief_at(layout, state, b).matrix[...] = belief.prior(prior_ratio, drift_at(ensemble, b), n_outputs).matrix
    return state


# -- predicting ------------------------------------------------------------------------------------------------------


class Lead(NamedTuple):
    """How far ahead of what is known rows are predicted."""

    walk: Float
    """(n,): steps of the beliefs' walk, and of the weights."""
    noise: Float
    """(n,): steps of the noise, which counts a label that comes some rows late as one."""
    n_rows: int
    """Rows, which lags count."""


@compiled
def rows_ahead(n: int, n_rows: int) -> Lead:
    """The lead of n rows, each so many rows ahead."""
    return Lead(np.full(n, float(n_rows)), np.ones(n), n_rows)


def lead(n: int, n_steps: int = 1, elapsed: Float | None = None) -> Lead:
    """The lead of n rows, each so many rows ahead; or after so much time (n,)."""
    ahead: Lead = rows_ahead(n, n_steps)
    return ahead if elapsed is None else ahead._replace(walk=elapsed, noise=elapsed)


def predict(ensemble: Ensemble, state: State, x: Float, n_steps: int = 1, elapsed: Float | None = None) -> Mixture:
    """Predictive distribution of every row of ``x`` (n, d), were it so many rows ahead. Changes nothing.

    ``elapsed`` (n,) says how many steps ahead each row is, whole or not, in place of ``n_steps``.
    """
    shape = len(x), ensemble.n_experts, ensemble.noise_var.shape[1]
    components = Components(np.empty(shape[:2]), np.empty(shape), np.empty(shape), np.empty(shape))
    predict_into(ensemble, state, x, components, lead(len(x), n_steps, elapsed))
    return Mixture.unchecked(*components, single_output=False)


@compiled
def predict_into(ensemble: Ensemble, state: State, x: Float, components: Components, lead: Lead) -> None:
    """Every row's mixture of experts into ``components``."""
    mix_into(ensemble, state, _predict_beliefs(ensemble, state, x, lead), components, lead)


@compiled
def _predict_beliefs(ensemble: Ensemble, state: State, x: Float, lead: Lead) -> Ahead:
    """Means (beliefs, n, D) and variances (beliefs, n); 0 and 1 of beliefs that are not active."""
    n, n_beliefs, n_outputs = x.shape[0], ensemble.prior_ratio.size, ensemble.noise_var.shape[1]
    ahead = Ahead(np.zeros((n_beliefs, n, n_outputs)), np.ones((n_beliefs, n)))
    rows = with_known_lags(ensemble.lags, state.recent, x, lead.n_rows)
    predict_rows(ensemble, state, active_experts(ensemble, state).beliefs, rows, ahead, lead.walk)
    return ahead


@compiled
def mix_into(ensemble: Ensemble, state: State, ahead: Ahead, components: Components, lead: Lead) -> None:
    """The mixture of experts from what the beliefs predict: means (beliefs, n, D), variances (beliefs, n)."""
    means, variances = ahead
    used, loc, scales, dof = components
    n, n_experts, n_outputs = loc.shape
    n_noise = ensemble.forgetting.size
    weights_ahead(ensemble, state, lead.walk, used)
    for e in range(n_experts):
        b, k = e // n_noise, e % n_noise
        for t in range(n):
            nu = noise.next_dof(state.noise_shape[k], ensemble.forgetting[k], ensemble.tails[k], lead.noise[t])
            for d in range(n_outputs):
                level = noise.squared_scale(state.noise_scale[e, d], state.noise_shape[k])
                loc[t, e, d] = means[b, t, d]
                scales[t, e, d] = math.sqrt(state.spread[d] * level * variances[b, t])
                dof[t, e, d] = nu


@compiled
def weights_ahead(ensemble: Ensemble, state: State, steps: Float, used: Float) -> None:
    """The weights so many ``steps`` (n,) ahead, into ``used`` (n, experts)."""
    rule = weight_rule(ensemble)
    for t in range(steps.size):
        if t > 0 and steps[t] == steps[t - 1]:
            used[t] = used[t - 1]
        else:
            used[t] = np.exp(weights.diffuse_over(rule, state.log_weights, steps[t]))


def predict_classes(
    ensemble: Ensemble, state: State, x: Float, n_steps: int = 1, elapsed: Float | None = None
) -> Float:
    """Class probabilities (n, K) of every row, as :func:`predict`. Changes nothing."""
    proba = np.empty((len(x), ensemble.n_classes))
    _predict_classes(ensemble, state, label_model(ensemble), x, proba, lead(len(x), n_steps, elapsed))
    likelihood_of(ensemble.likelihood).require_sound(proba)
    return proba


@compiled
def _predict_classes(ensemble: Ensemble, state: State, labels: LabelModel, x: Float, proba: Float, lead: Lead) -> None:
    used, ahead = _predict_latent(ensemble, state, x, lead)
    outcomes = np.zeros((ahead.variances.shape[0], x.shape[0], proba.shape[1]))
    log_classes(labels, active_experts(ensemble, state).beliefs, ahead, outcomes)
    mix_classes(ensemble.sharpness, used, outcomes, proba)


def predict_counts(
    ensemble: Ensemble, state: State, x: Float, exposure: Float, n_steps: int = 1, elapsed: Float | None = None
) -> Any:
    """Predictive distribution of the counts of every row under its exposure (n,), as :func:`predict`."""
    ahead = _predict_latent(ensemble, state, x, lead(len(x), n_steps, elapsed))
    return count_distribution(ensemble, *ahead, exposure)


@compiled
def _predict_latent(ensemble: Ensemble, state: State, x: Float, lead: Lead) -> tuple[Float, Ahead]:
    """Weights (n, experts), latent means (beliefs, n, L) and variances (beliefs, n)."""
    ahead = _predict_beliefs(ensemble, state, x, lead)
    used = np.empty((x.shape[0], state.log_weights.size))
    weights_ahead(ensemble, state, lead.walk, used)
    # Beliefs predict a label with unit noise; here it is the latent value that is wanted.
    return used, Ahead(ahead.means, np.maximum(ahead.variances - 1.0, 0.0))


@compiled
def log_classes(labels: LabelModel, active: Bool, ahead: Ahead, outcomes: Float) -> None:
    """Log predictive probabilities of all classes under every active belief."""
    means, variances = ahead
    n_beliefs, n = variances.shape
    label = np.zeros(1)
    for b in range(n_beliefs):
        if active[b]:
            own = of_belief(labels, b)
            for t in range(n):
                log_predictive(own, label, means[b, t], variances[b, t], outcomes[b, t])


def count_distribution(ensemble: Ensemble, used: Float, ahead: Ahead, exposure: Float) -> Any:
    """Predictive distribution of counts from latent means and variances, and weights (n, experts)."""
    means, variances = np.ascontiguousarray(ahead.means[:, :, 0].T), np.ascontiguousarray(ahead.variances.T)
    return likelihood_of(ensemble.likelihood).predictive(Latent(used, means, variances), ensemble.link, exposure)


# -- predict, then learn ---------------------------------------------------------------------------------------------


class PassOptions(NamedTuple):
    """How a pass over rows is made."""

    n_threads: int = 1
    level: float | None = None
    """Central intervals of this probability are asked for, which cost extra."""
    is_live: bool = True
    """Few rows must be quick. Those of a warm-up need not be: they share the code of blocks, so that no user waits for
    both to be compiled before the first stream is through."""
    is_timed: bool = False
    """Steps between rows are elapsed time, which noise and weights count up to a row whose label comes late."""
    followers: Followers | None = None


def learn(
    ensemble: Ensemble, state: State, x: Float, y: Float, n_threads: int = 1, level: float | None = None
) -> Predictions:
    """Predict every row, then learn it, in order: exactly as if one by one. ``state`` is updated in place.

    ``x`` is (n, d) and ``y`` (n, D), or the columns of the likelihood. O(F²) per row and belief. ``level`` asks for
    central intervals, which cost extra.
    """
    return Predictions.concatenate(list(learn_chunks(ensemble, state, x, y, PassOptions(n_threads, level))))


def learn_chunks(
    ensemble: Ensemble, state: State, x: Float, y: Float, options: PassOptions, steps: Float | None = None
) -> Iterator[Predictions]:
    """As :func:`learn`, chunk by chunk: for long passes whose predictions are not kept.

    ``steps`` (n,) are those between a row and the one before it, one each by default.
    """
    rows = Rows(x, y, np.ones(len(x)) if steps is None else steps)
    if len(x) <= FEW_ROWS and options.is_live:
        yield completed(ensemble, *learn_few(ensemble, state, rows), rows.y, options)
        return
    with one_blas_thread():
        if not math.isinf(ensemble.glitch):
            yield from learn_without_glitches(ensemble, state, rows, options, _learn_chunk)
            return
        for i in range(0, max(len(x), 1), CHUNK_ROWS):
            part = part_of(rows, i, i + CHUNK_ROWS)
            yield completed(ensemble, *_learn_chunk(ensemble, state, part, options.n_threads), part.y, options)


AnyRows = TypeVar("AnyRows", bound=tuple[Float, ...])
LearnChunk = Callable[[Ensemble, State, AnyRows, int], tuple[Predictions, "ExpertPredictions"]]


def part_of(rows: AnyRows, start: int, stop: int) -> AnyRows:
    """Some of the rows."""
    return type(rows)(*(array[start:stop] for array in rows))


def learn_without_glitches(
    ensemble: Ensemble, state: State, rows: AnyRows, options: PassOptions, learn_chunk: LearnChunk[AnyRows]
) -> Iterator[Predictions]:
    """As :func:`learn_chunks`, but glitches are not learned: chunks are learned as if without any, then up to one.

    A chunk also ends with a label that is far out and learned, if rows see lags: later rows see those before it anew.
    Predictions are those of the first time, which know nothing of later labels, not even to the last bit. After a label
    that is far out, and where changes prevail, chunks are short for a while, so that many of them do not make all work
    twice; they grow slowly, because a copy of the state is cheaper than rows that are learned again.
    """
    (x, y, steps), start, n_threads = rows[:3], 0, options.n_threads
    span = LONGEST_SPAN if state.far[0] < CHANGES_PREVAIL else SPAN_AFTER_GLITCH
    while start < max(len(x), 1):
        stop = min(start + span, len(x))
        before = state.copy()
        chunk, experts = learn_chunk(ensemble, state, part_of(rows, start, stop), n_threads)
        n_good, change = note_to_change(ensemble, state, y[start:stop], chunk)
        if n_good == stop - start:
            follow_change(ensemble.lags, state.recent, change)
            yield completed(ensemble, chunk, experts, y[start:stop], options)
            if stop == len(x):
                return
            start, span = stop, min(span + span // 4, LONGEST_SPAN)
            continue
        restore(state, before)
        end, n_known = start + n_good, n_good + (0 if change.size else 1)
        known = some_rows(chunk, 0, n_known), first_rows(experts, n_known)
        yield completed(ensemble, *known, y[start : start + n_known], options)
        if n_good:
            again, _ = learn_chunk(ensemble, state, part_of(rows, start, end), n_threads)
            note_outliers(ensemble, state, y[start:end], again)
            follow_change(ensemble.lags, state.recent, change)
        if not change.size:
            skip_row(ensemble, state, float(steps[end]), y[end] - chunk.mean[n_good])
            remember_prediction(ensemble, state, chunk.mean[n_good : n_good + 1])
        start, span = start + n_known, SPAN_AFTER_GLITCH
        if start >= len(x):
            return


@compiled
def note_to_change(ensemble: Ensemble, state: State, y: Float, predictions: Predictions) -> tuple[int, Float]:
    """How many rows come before the first glitch or up to the first label that is far out and learned; and its error.

    The error (D,) is that of the prediction; none (0,) if the rows end otherwise. Without lags a label that is far out
    does not end them.
    """
    n, errors = y.shape[0], y - predictions.mean
    far = np.empty(n, np.bool_)
    for t in range(n):
        far[t] = is_far(ensemble.glitch, y[t], predictions.mean[t], predictions.std[t])
        if far[t] and ensemble.lags.offsets.size > 0:
            n = t + 1
            break
    n_good = int(rows_before_glitch(state, far[:n], errors[:n]))
    is_change = ensemble.lags.offsets.size > 0 and n_good == n and n > 0 and far[n - 1]
    return n_good, errors[n - 1] if is_change else np.empty(0)


@compiled
def note_outliers(ensemble: Ensemble, state: State, y: Float, predictions: Predictions) -> int:
    """How many rows come before the first glitch; if there is none, all are noted."""
    far = np.empty(y.shape[0], np.bool_)
    for t in range(y.shape[0]):
        far[t] = is_far(ensemble.glitch, y[t], predictions.mean[t], predictions.std[t])
    return int(rows_before_glitch(state, far, y - predictions.mean))


def learn_few(ensemble: Ensemble, state: State, rows: Rows) -> tuple[Predictions, ExpertPredictions]:
    """Predict and learn a handful of rows; the predictions are not completed."""
    predictions = allocate_predictions(ensemble, len(rows.x))
    if math.isinf(ensemble.glitch):
        experts = learn_rows(ensemble, state, labels_of(ensemble), rows, predictions)
    else:
        experts = learn_rows_without_glitches(ensemble, state, rows, predictions)
    require_sound(ensemble, state, experts)
    return predictions, experts


def _learn_chunk(ensemble: Ensemble, state: State, rows: Rows, n_threads: int) -> tuple[Predictions, ExpertPredictions]:
    """Kernel by kernel in blocks, then the meta-learner over the table of scores."""
    labels, predictions = labels_of(ensemble), allocate_predictions(ensemble, len(rows.x))
    if len(rows.x) <= FEW_ROWS and ensemble.likelihood == GAUSSIAN and math.isinf(ensemble.glitch):
        return predictions, learn_rows(ensemble, state, labels, rows, predictions)
    lagged = lagged_rows(ensemble, state, rows)
    work = workspace_for(ensemble, active_experts(ensemble, state), lagged, ensemble.n_classes)
    sweep_blocks(ensemble, state, labels, work, n_threads)
    weigh(ensemble, state, labels, work, predictions)
    experts = expert_predictions(work)
    require_sound(ensemble, state, experts)
    return predictions, experts


def require_sound(ensemble: Ensemble, state: State, experts: ExpertPredictions) -> None:
    """A likelihood of a user may have failed; the state is then of no use."""
    if ensemble.likelihood != GAUSSIAN:
        likelihood_of(ensemble.likelihood).require_sound(experts.belief_scores, state.vector, state.matrix)


def labels_of(ensemble: Ensemble) -> LabelModel | None:
    """The label model that the sweep takes: None where labels are Gaussian.

    A type of its own, so that neither kind of label waits for the code of the other to be compiled.
    """
    return None if ensemble.likelihood == GAUSSIAN else label_model(ensemble)


class ExpertPredictions(NamedTuple):
    """What the beliefs and experts predict of n rows, for the mixture of it; fields as in :class:`Workspace`."""

    means: Float
    variances: Float
    belief_scores: Float
    scales: Float
    dof: Float


@compiled
def expert_predictions(work: Workspace) -> ExpertPredictions:
    """What is kept of a workspace: views, filled in as its rows are swept and weighed."""
    return ExpertPredictions(work.means, work.variances, work.belief_scores, work.scales, work.dof)


@compiled
def learn_rows(
    ensemble: Ensemble, state: State, labels: LabelModel | None, rows: Rows, predictions: Predictions
) -> ExpertPredictions:
    """A handful of rows in one compiled call: quick, and never interrupted halfway."""
    active = active_experts(ensemble, state)
    work = workspace_for(ensemble, active, lagged_rows(ensemble, state, rows), predictions.proba.shape[1])
    sweep_rows(ensemble, state, labels, work)
    weigh(ensemble, state, labels, work, predictions)
    return expert_predictions(work)


@compiled
def learn_rows_without_glitches(
    ensemble: Ensemble, state: State, rows: Rows, predictions: Predictions
) -> ExpertPredictions:
    """As :func:`learn_rows` for Gaussian labels, where a glitch is predicted and scored but not learned."""
    x, y, steps = rows
    n = x.shape[0]
    active = active_experts(ensemble, state)
    work = workspace_for(ensemble, active, rows, n - n)
    experts = expert_predictions(work)
    for t in range(n):
        one = Rows(x[t : t + 1], y[t : t + 1], steps[t : t + 1])
        row = workspace_for(ensemble, active, lagged_rows(ensemble, state, one), n - n)
        own = some_rows(predictions, t, t + 1)
        _learn_unless_far(ensemble, state, row, own)
        keep_experts(experts, t, expert_predictions(row))
    return experts


@compiled
def keep_experts(experts: ExpertPredictions, start: int, found: ExpertPredictions) -> None:
    """Put what was predicted of some rows in its place among that of more."""
    stop = start + found.dof.shape[0]
    experts.means[:, start:stop] = found.means
    experts.variances[:, start:stop] = found.variances
    experts.scales[start:stop] = found.scales
    experts.dof[start:stop] = found.dof


@compiled
def _learn_unless_far(ensemble: Ensemble, state: State, row: Workspace, own: Predictions) -> None:
    """Predict a row, with what is known beside the beliefs set aside; learn it unless its label is a glitch."""
    seen = predict_row(ensemble, state, row)
    aside = State(
        state.matrix,
        state.vector,
        state.noise_shape.copy(),
        state.noise_scale.copy(),
        state.log_weights.copy(),
        state.rows.copy(),
        state.recent.copy(),
        state.far,
        state.spread.copy(),
    )
    weigh(ensemble, aside, None, row, own)
    error = row.y[0] - own.mean[0]
    far = is_far(ensemble.glitch, row.y[0], own.mean[0], own.std[0])
    if not (far and is_left_out(state, error)):
        learn_row(ensemble, state, row, seen)
        state.noise_shape[:] = aside.noise_shape
        state.noise_scale[:] = aside.noise_scale
        state.log_weights[:] = aside.log_weights
        state.rows[0] = aside.rows[0]
        state.recent[:] = aside.recent
        state.spread[:] = aside.spread
        note_row(state, far, error)
        if far:
            follow_change(ensemble.lags, state.recent, error)
        return
    skip_row(ensemble, state, row.steps[0], error)
    remember_prediction(ensemble, state, own.mean)


@compiled
def lagged_rows(ensemble: Ensemble, state: State, rows: Rows) -> Rows:
    """Consecutive rows with the labels that they see as further columns."""
    return Rows(with_lags(ensemble.lags, state.recent, rows.x, rows.y), rows.y, rows.steps)


@compiled
def skip_row(ensemble: Ensemble, state: State, steps: float, error: Float) -> None:
    """A glitch so many steps after the row before: beliefs walk and learn nothing.

    ``error`` (D,) is that of its prediction; none (0,) if the next row is predicted before its label is known.
    """
    walk(ensemble, state, steps)
    state.rows[0] += 1.0
    note_skipped(state, error)


@compiled
def remember_prediction(ensemble: Ensemble, state: State, mean: Float) -> None:
    """Later rows see the prediction ``mean`` (1, D) in place of a glitch.

    Even at the limit beyond which it is a glitch, a label would mislead the rows that see it: they would be far from
    their predictions too and pass for a change.
    """
    remember(ensemble.lags, state.recent, mean)


@compiled
def walk(ensemble: Ensemble, state: State, steps: float) -> None:
    """So many steps pass, in which nothing is learned."""
    if steps == 0.0:
        return
    for b in range(ensemble.prior_ratio.size):
        drift, belief_b = drift_at(ensemble, b), belief_at(ensemble.layout, state, b)
        for i in range(drift.size):
            # Zero for a static belief, of which the matrix is no covariance.
            belief_b.matrix[i, i] += steps * drift[i]
    state.log_weights[:] = weights.diffuse_over(weight_rule(ensemble), state.log_weights, steps)


@compiled
def weigh(
    ensemble: Ensemble, state: State, labels: LabelModel | None, work: Workspace, predictions: Predictions
) -> None:
    """Score the experts, learn their noise, weigh them, and sum the mixture up."""
    if labels is None:
        noise.score_rows(ensemble, state, work)
    else:
        score_labels(ensemble, work)
    rule, log_score = weight_rule(ensemble), predictions.log_score
    used = predictions.weights
    weights.weigh_spaced_rows(rule, work.log_scores, work.steps, state.log_weights, used, log_score)
    if labels is None:
        if ensemble.learns_spread:
            follow_spread(state, work, predictions, np.ones(log_score.size))
        summarise(work, predictions)
    else:
        mix_labels(ensemble, work, predictions)
    state.rows[0] += log_score.size
    remember(ensemble.lags, state.recent, work.y)


@compiled
def score_labels(ensemble: Ensemble, work: Workspace) -> None:
    """Log score of every expert, each belief at its sharpness, where labels are not Gaussian."""
    n_noise = ensemble.sharpness.size
    for t in range(work.x.shape[0]):
        for e in range(work.log_scores.shape[1]):
            b, power = e // n_noise, ensemble.sharpness[e % n_noise]
            if not work.active.experts[e]:
                work.log_scores[t, e] = -math.inf
            elif power == 1.0:
                work.log_scores[t, e] = work.belief_scores[b, t]
            else:
                work.log_scores[t, e] = sharpened_score(work.outcomes[b, t], int(work.y[t, 0]), power)


@compiled
def mix_labels(ensemble: Ensemble, work: Workspace, predictions: Predictions) -> None:
    """Probabilities of classes, and where in their order the labels lie."""
    if predictions.proba.shape[1] > 0:
        mix_classes(ensemble.sharpness, predictions.weights, work.outcomes, predictions.proba)
        if predictions.pit.shape[0] > 0:
            mid_pit_rows(predictions.proba, work.y, predictions.pit)


@compiled
def summarise(work: Workspace, predictions: Predictions) -> None:
    """Mean and standard deviation of every row's mixture of Gaussian labels (eq:y_pre_static)."""
    means, scales, dof, used = work.means, work.scales, work.dof, predictions.weights
    mean, std = predictions.mean, predictions.std
    n, n_experts = used.shape
    n_noise = dof.shape[1]
    for t in range(n):
        for d in range(mean.shape[1]):
            centre = 0.0
            for e in range(n_experts):
                centre += used[t, e] * means[e // n_noise, t, d]
            spread = 0.0
            for e in range(n_experts):
                if used[t, e] > 0.0:
                    gap = means[e // n_noise, t, d] - centre
                    within = inflation(dof[t, e % n_noise]) * scales[t, e, d] ** 2
                    spread += used[t, e] * (within + gap * gap)
            mean[t, d] = centre
            std[t, d] = math.sqrt(spread)


def first_rows(experts: ExpertPredictions, n: int) -> ExpertPredictions:
    """What was predicted of the first n rows."""
    means, variances, belief_scores, scales, dof = experts
    first = [np.ascontiguousarray(array[:, :n]) for array in (means, variances, belief_scores)]
    return ExpertPredictions(first[0], first[1], first[2], scales[:n], dof[:n])


class Weighed(NamedTuple):
    """Rows that have been learned, and are not followed yet."""

    predictions: Predictions
    experts: ExpertPredictions
    y: Float

    @classmethod
    def concatenate(cls, parts: Sequence[Weighed]) -> Weighed:
        """Join consecutive rows."""
        predictions = Predictions.concatenate([part.predictions for part in parts])
        axes = 1, 1, 1, 0, 0
        fields = zip(*(part.experts for part in parts), strict=True)
        experts = [np.concatenate(arrays, axis=axis) for arrays, axis in zip(fields, axes, strict=True)]
        return cls(predictions, ExpertPredictions(*experts), np.concatenate([part.y for part in parts]))


def completed(
    ensemble: Ensemble, predictions: Predictions, experts: ExpertPredictions, y: Float, options: PassOptions
) -> Predictions:
    """Predictions of rows that have been weighed, with what follows from the whole mixture."""
    level, followers = options.level, options.followers
    if ensemble.n_classes:
        return predictions
    if ensemble.likelihood != GAUSSIAN:
        return _completed_numbers(ensemble, experts, y, predictions, level)
    if level is None and followers is None:
        return predictions
    shape = experts.scales.shape
    components = Components(predictions.weights, np.empty(shape), experts.scales, np.empty(shape))
    expand_components(experts, components)
    if followers is None:
        assert level is not None
        return with_intervals(predictions, components, y, level)
    if level is None:
        followers.follow(with_pit(predictions, components, y), components, y, level)
        return predictions
    if followers.conformal is None:
        return followers.follow(with_intervals(predictions, components, y, level), components, y, level)
    return followers.follow(with_pit(predictions, components, y), components, y, level)


@compiled
def expand_components(experts: ExpertPredictions, components: Components) -> None:
    """Centres, scales and degrees of freedom of every row's mixture, each (n, n_experts, D)."""
    _, loc, scales, dof = components
    n, n_experts, n_outputs = loc.shape
    n_noise = experts.dof.shape[1]
    for t in range(n):
        for e in range(n_experts):
            for d in range(n_outputs):
                loc[t, e, d] = experts.means[e // n_noise, t, d]
                scales[t, e, d] = experts.scales[t, e, d]
                dof[t, e, d] = experts.dof[t, e % n_noise]


def with_intervals(predictions: Predictions, components: Components, y: Float, level: float) -> Predictions:
    """Add central intervals, and the predicted probability of a smaller label than ``y`` (n, D)."""
    tails = central_levels(level)
    lower, upper = quantiles(*components, tails)
    return with_pit(predictions, components, y, tails[0])._replace(lower=lower, upper=upper)


def with_pit(
    predictions: Predictions, components: Components, y: Float, tail: float = conf.FARTHEST_TAIL
) -> Predictions:
    """Add the predicted probability of a smaller label than ``y`` (n, D), down to tails of this probability."""
    pit = cdf_rows(*components, y, NEGLIGIBLE_TAIL_SHARE * tail)
    return predictions._replace(pit=pit)


def _completed_numbers(
    ensemble: Ensemble, experts: ExpertPredictions, y: Float, predictions: Predictions, level: float | None
) -> Predictions:
    dist = count_distribution(ensemble, predictions.weights, Ahead(experts.means, experts.variances), y[:, 1])
    mean, var = dist.moments()
    predictions = predictions._replace(mean=mean[:, None], std=np.sqrt(var)[:, None])
    if level is None:
        return predictions
    lower, upper, pit = dist.with_intervals(level, y[:, 0])
    return predictions._replace(lower=lower[:, None], upper=upper[:, None], pit=pit[:, None])
