"""Rows that are answered now and learned when their labels come, each in its own time.

A row that was asked is remembered with the answer of every expert (:class:`Asked`). When its label comes, that answer
is scored: stacking and heavy-tailed noise learn from it, as they do with a fixed delay (:mod:`iegp.core.delay`). Labels
that come in the order of their rows are learned as with such a delay, and rows between that are never labelled are
steps of the walk. A label that comes after that of a later row is an observation of the present coefficients, with
``age * phi' diag(q) phi`` added to the variance of its noise, for the steps that were taken since its row. That is
exact for static Gaussian experts and an approximation for the others; labels that are not Gaussian have no noise to add
to.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core import ensemble as ens
from iegp.core.compute.threads import one_blas_thread
from iegp.core.delay import AnswerScores, arrive_all
from iegp.core.expert import noise
from iegp.core.expert.belief import Ahead, drifting_row, is_moving, static_row, walked
from iegp.core.expert.delayed import look_ahead
from iegp.core.expert.laplace_block import drifting_site_row, score_rows, static_site_row
from iegp.core.expert.sweep import Rows, Workspace, kernel_features, sweep_rows, workspace_for
from iegp.core.glitches import is_left_out, note_row, note_skipped
from iegp.core.lags import repeat_newest, with_known_lags
from iegp.core.likelihoods import GAUSSIAN, likelihood_of
from iegp.core.likelihoods.sites import LabelModel, of_belief
from iegp.core.predictions import allocate_predictions
from iegp.core.predictive.classes import mix_classes
from iegp.core.predictive.components import Components
from iegp.core.predictive.mixture import Mixture
from iegp.core.spread import spread_row
from iegp.core.state import Active, Ensemble, State, active_experts, belief_at, drift_at, label_model
from iegp.typing import Float


class Asked(NamedTuple):
    """What the experts answered to n rows, so that it can be scored when their labels come."""

    used: Float
    """(n, n_experts): weights."""
    means: Float
    """(n_beliefs, n, D): of labels, or of latent values where labels are not Gaussian."""
    variances: Float
    """(n_beliefs, n): likewise, Gaussian labels in units of the noise."""
    steps: Float
    """(n,): of the noise, up to each row."""
    noise_shape: Float
    """(n_noise,): as it was then."""
    noise_scale: Float
    """(n_experts, D)"""
    lags: Float
    """(n, columns): labels that the rows saw."""
    units: Float
    """(2, columns of y): mean and scale by which labels were standardised."""
    link: Float
    """(n_beliefs, P): parameters of the likelihood, which a refit changes."""
    spread: Float
    """(D,): of the mixture, as it was then."""

    def row(self, i: int) -> Asked:
        """What was answered to a single row; shares no memory with the others."""
        of_row = self.used[i : i + 1], self.means[:, i : i + 1], self.variances[:, i : i + 1], self.steps[i : i + 1]
        of_all = self.noise_shape, self.noise_scale, self.lags[i : i + 1], self.units, self.link, self.spread
        return Asked(*(array.copy() for array in (*of_row, *of_all)))

    def flat(self) -> Float:
        """All numbers, one after another."""
        return np.concatenate([array.ravel() for array in self])


def asked_shapes(ensemble: Ensemble, n_labels: int) -> list[tuple[int, ...]]:
    """Shapes of what is stored of one row."""
    n_beliefs, n_experts, n_outputs = ensemble.n_beliefs, ensemble.n_experts, ensemble.noise_var.shape[1]
    n_noise = len(ensemble.forgetting)
    return [
        (1, n_experts),
        (n_beliefs, 1, n_outputs),
        (n_beliefs, 1),
        (1,),
        (n_noise,),
        (n_experts, n_outputs),
        (1, ensemble.lags.n_columns),
        (2, n_labels),
        ensemble.link.shape,
        (n_outputs,),
    ]


def asked_from(flat: Float, ensemble: Ensemble, n_labels: int) -> Asked:
    """The inverse of :meth:`Asked.flat`."""
    shapes = asked_shapes(ensemble, n_labels)
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    parts = np.split(flat, ends[:-1])
    return Asked(*(part.reshape(shape).copy() for part, shape in zip(parts, shapes, strict=True)))


def ask_rows(ensemble: Ensemble, state: State, x: Float, lead: ens.Lead, units: Float) -> Asked:
    """Predict rows, each so far ahead of the last that was learned. Changes nothing."""
    shape = ensemble.n_beliefs, len(x)
    ahead = Ahead(np.zeros((*shape, ensemble.noise_var.shape[1])), np.ones(shape))
    used = np.empty((len(x), ensemble.n_experts))
    rows = with_known_lags(ensemble.lags, state.recent, x, lead.n_rows)
    with one_blas_thread():
        _ask(ensemble, state, rows, lead.walk, ahead, used)
    noise_then = state.noise_shape.copy(), state.noise_scale.copy()
    rest = rows[:, x.shape[1] :], units, ensemble.link, state.spread.copy()
    return Asked(used, *ahead, lead.noise, *noise_then, *rest)


@compiled
def _ask(ensemble: Ensemble, state: State, x: Float, steps: Float, ahead: Ahead, used: Float) -> None:
    layout, active = ensemble.layout, active_experts(ensemble, state)
    for kernel in range(layout.beliefs.size - 1):
        phi = kernel_features(ensemble, kernel, x)
        for b in range(layout.beliefs[kernel], layout.beliefs[kernel + 1]):
            if active.beliefs[b]:
                own = Ahead(ahead.means[b], ahead.variances[b])
                belief, drift = belief_at(layout, state, b), drift_at(ensemble, b)
                look_ahead(belief, drift, phi, steps, own, ensemble.likelihood == GAUSSIAN)
    ens.weights_ahead(ensemble, state, steps, used)


def mixture(ensemble: Ensemble, asked: Asked) -> Mixture:
    """Predictive distribution of Gaussian labels, in the units of y at the time."""
    _, n, n_outputs = asked.means.shape
    shape = n, asked.used.shape[1], n_outputs
    components = Components(np.empty(shape[:2]), np.empty(shape), np.empty(shape), np.empty(shape))
    ahead, lead = Ahead(asked.means, asked.variances), ens.lead(n, 1, asked.steps)
    ens.mix_into(ensemble, _noise_of(asked), ahead, components, lead)
    centre, scale = asked.units
    loc, scales = centre + scale * components.loc, scale * components.scale
    return Mixture.unchecked(asked.used, loc, scales, components.dof, single_output=n_outputs == 1)


def counts(ensemble: Ensemble, asked: Asked, exposure: Float) -> Any:
    """Predictive distribution of counts under their exposure (n,)."""
    ensemble = ensemble._replace(link=asked.link)
    return ens.count_distribution(ensemble, asked.used, Ahead(asked.means, asked.variances), exposure)


def classes(ensemble: Ensemble, asked: Asked) -> Float:
    """Class probabilities (n, K)."""
    proba = np.empty((len(asked.used), ensemble.n_classes))
    outcomes = np.zeros((*asked.variances.shape, ensemble.n_classes))
    all_active = np.ones(ensemble.n_beliefs, dtype=bool)
    ens.log_classes(label_model(ensemble), all_active, Ahead(asked.means, asked.variances), outcomes)
    mix_classes(ensemble.sharpness, asked.used, outcomes, proba)
    likelihood_of(ensemble.likelihood).require_sound(proba)
    return proba


def _noise_of(asked: Asked) -> State:
    """A state that knows the noise of the time, and nothing else."""
    n_experts, n_outputs = asked.noise_scale.shape
    before = np.empty(0), np.empty((0, n_outputs))
    after = np.zeros(n_experts), np.zeros(2), np.empty((0, 0)), np.empty(0), asked.spread
    return State(*before, asked.noise_shape, asked.noise_scale, *after)


class Label(NamedTuple):
    """A label (1, columns of y) that has come, in the units of y, and what was answered to its row."""

    y: Float
    asked: Asked | None
    """None if the experts that answered are no more: they were fitted anew, or got another class."""
    n_steps: int
    """Rows from the last that was learned to this one; from 0 down if that was a later row, or a row as old."""
    is_far: bool = False
    """Whether it is too far from the answer to be believed."""
    walk: float = 1.0
    """Steps of the walk from the last row learned to this one, or from this one if that was a later row."""
    noise: float = 1.0
    """Steps of the noise between them."""
    interval: tuple[float, float] | None = None
    """The one that was answered, in the units of y."""
    delay: int = 0
    """Rows that came between its row and the label."""
    lags: Float | None = None
    """(1, columns): those that its row was predicted with; None if they are not known."""
    n_known: int | None = None
    """Labels of the warm-up that were known when the row was predicted; None if it was predicted later."""


def learn_asked_row(ensemble: Ensemble, state: State, x: Float, y: Float, label: Label) -> None:
    """Learn a standardised row now that its label has come; rows before it have passed. Updates the state in place."""
    if label.is_far and is_left_out(state, np.empty(0)):
        _skip(ensemble, state, label)
    else:
        note_row(state, label.is_far, np.empty(0))
        _learn(ensemble, state, x, y, label)


def _skip(ensemble: Ensemble, state: State, label: Label) -> None:
    repeat_newest(ensemble.lags, state.recent)
    if label.n_steps > 0:
        ens.skip_row(ensemble, state, label.walk, np.empty(0))
        return
    state.rows[0] += 1.0
    note_skipped(state, np.empty(0))


def _learn(ensemble: Ensemble, state: State, x: Float, y: Float, label: Label) -> None:
    labels = ens.labels_of(ensemble)
    if label.lags is None:
        x = with_known_lags(ensemble.lags, state.recent, x, 1)
    else:
        x = np.concatenate([x, label.lags], axis=1)
    rows = Rows(x, y, np.array([label.walk if label.n_steps > 0 else label.noise]))
    work = workspace_for(ensemble, active_experts(ensemble, state), rows, ensemble.n_classes)
    answers = answer_scores(ensemble, label)
    with one_blas_thread():
        if label.n_steps > 0:
            sweep_rows(ensemble, state, labels, work)
            arrive_all(ensemble, state, labels, work, answers)
        else:
            learn_old_row(ensemble, state, labels, work, label.walk)
            still = ensemble._replace(transitions=np.eye(len(ensemble.transitions)), switch_prob=np.nan)
            arrive_all(still, state, labels, work, answers)
    if labels is not None:
        likelihood_of(ensemble.likelihood).require_sound(work.belief_scores, state.vector, state.matrix)


def answer_scores(ensemble: Ensemble, label: Label) -> AnswerScores:
    """How well every expert had answered; see :class:`iegp.core.delay.Waiting`."""
    n_beliefs, n_experts, n_outputs = ensemble.n_beliefs, ensemble.n_experts, ensemble.noise_var.shape[1]
    unknown = np.full((1, n_beliefs, n_outputs), np.nan), np.full((1, n_outputs), np.nan)
    answers = AnswerScores(np.empty(0), np.zeros((1, n_experts)), *unknown)
    asked = label.asked
    if asked is None:
        return answers
    y = (label.y - asked.units[0]) / asked.units[1]
    all_active = Active(np.ones(n_experts, dtype=bool), np.ones(n_beliefs, dtype=bool))
    work = workspace_for(ensemble, all_active, Rows(np.empty((1, 0)), y, asked.steps), ensemble.n_classes)
    work.means[:], work.variances[:] = asked.means, asked.variances
    labels = ens.labels_of(ensemble._replace(link=asked.link))
    if labels is None:
        noise.score_ahead(ensemble, _noise_of(asked), work, 0, answers.log_scores[0], answers.squares[0])
        if ensemble.learns_spread:
            given = allocate_predictions(ensemble, 1)._replace(weights=asked.used)
            spread_row(asked.spread, work, given, 0, answers.spread[0])
        return answers
    for b in range(n_beliefs):
        ahead = Ahead(work.means[b], work.variances[b])
        score_rows(of_belief(labels, b), y, ahead, work.belief_scores[b], work.outcomes[b])
    ens.score_labels(ensemble, work)
    return answers._replace(log_scores=work.log_scores)


def log_score(ensemble: Ensemble, label: Label) -> float:
    """Log predictive density or probability of a label under the answer that was given, in the units of y."""
    assert label.asked is not None
    if ensemble.learns_spread:
        return float(mixture(ensemble, label.asked).logpdf(label.y[0])[0])
    with np.errstate(divide="ignore"):
        joint = np.log(label.asked.used[0]) + answer_scores(ensemble, label).log_scores[0]
    return float(np.logaddexp.reduce(joint) - np.log(label.asked.units[1]).sum())


@compiled
def learn_old_row(ensemble: Ensemble, state: State, labels: LabelModel | None, work: Workspace, age: float) -> None:
    """Learn a row so many steps older than the last that was learned, as an observation of the present coefficients."""
    layout = ensemble.layout
    for kernel in range(layout.beliefs.size - 1):
        phi = kernel_features(ensemble, kernel, work.x)[0]
        for b in range(layout.beliefs[kernel], layout.beliefs[kernel + 1]):
            if not work.active.beliefs[b]:
                continue
            belief, drift, mean = belief_at(layout, state, b), drift_at(ensemble, b), work.means[b, 0]
            still, extra = np.zeros(drift.size), age * walked(drift, phi)
            if labels is None:
                if is_moving(drift):
                    # A row of noise variance v is learned as the row over sqrt(v) is with a noise variance of one.
                    root = math.sqrt(1.0 + extra)
                    variance = drifting_row(belief, still, phi / root, work.y[0] / root, mean)
                    mean *= root
                    work.variances[b, 0] = variance * (1.0 + extra)
                else:
                    work.variances[b, 0] = static_row(belief, phi, work.y[0], mean)
            else:
                own = of_belief(labels, b)
                if is_moving(drift):
                    variance = drifting_site_row(own, belief, still, phi, work.y[0], mean)
                    work.variances[b, 0] = variance + extra
                else:
                    work.variances[b, 0] = static_site_row(own, belief, phi, work.y[0], mean)
                ahead = Ahead(work.means[b], work.variances[b])
                score_rows(own, work.y, ahead, work.belief_scores[b], work.outcomes[b])
