"""The ensemble where labels are not Gaussian: the same experts and weights around the sites of ``site_blocks.py``.

An expert's loss is minus the log predictive probability of the label (eq:p_y_pre_1), by quadrature over its latent
value; the weights follow from the table of these losses exactly as in regression (eq:w_update_1).

Averages of honest experts are too timid: a mixture of calibrated probabilities lies closer to one half than it should.
So every belief may stand on several rungs of *sharpness*: its class probabilities raised to a power and normalised,
each rung an expert of its own that costs no linear algebra. The weights find out how sharp to be.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core import weights
from iegp.core.compute.threads import Piece, run_in_pieces, wrap_around
from iegp.core.expert import laplace_block as site_blocks
from iegp.core.expert.gaussian_block import predict_rows
from iegp.core.likelihoods.sites import LabelModel, log_predictive, of_belief
from iegp.core.predictive.count_quantiles import count_quantiles
from iegp.core.predictive.counts import CountMixture
from iegp.core.state import Ensemble, State, Trace, Who, label_model, weight_rule, who_is_who
from iegp.typing import Float


class _Rows(NamedTuple):
    """Room for what a chunk of n rows shows."""

    means: Float
    """(n_beliefs, n, L), latent, before each row was learned."""
    variances: Float
    """(n_beliefs, n)"""
    belief_scores: Float
    """(n_beliefs, n): log predictive probability of the labels."""
    outcomes: Float
    """(n_beliefs, n, K): log predictive probabilities of the classes; K = 0 for counts."""
    log_scores: Float
    """(n, n_experts): the same for every expert, sharpened."""
    used: Float
    """(n, n_experts): weights before each row."""
    log_score: Float


def learn_chunk(
    ensemble: Ensemble, state: State, x: Float, y: Float, n_threads: int, level: float | None, few_rows: bool
) -> Trace:
    """Predict every row, then learn it; ``state`` is updated in place. ``few_rows``: one by one, all compiled."""
    n, n_beliefs, n_latents = len(x), len(ensemble.drift_ratio), state.vector.shape[2]
    rows = _Rows(
        means=np.zeros((n_beliefs, n, n_latents)),
        variances=np.ones((n_beliefs, n)),
        belief_scores=np.full((n_beliefs, n), -np.inf),
        outcomes=np.zeros((n_beliefs, n, ensemble.n_classes)),
        log_scores=np.empty((n, ensemble.n_experts)),
        used=np.empty((n, ensemble.n_experts)),
        log_score=np.empty(n),
    )
    who = who_is_who(ensemble, state)
    if few_rows:
        _few_rows(ensemble, state, who, label_model(ensemble), x, y, rows)
    else:
        _many_rows(ensemble, state, who, x, y, rows, n_threads)
    none = np.empty((0, 1))
    if ensemble.n_classes:
        proba = mix_classes(ensemble, who, rows.used, rows.outcomes)
        return Trace(proba, np.empty((n, 0)), none, none, rows.log_score, rows.used, none)
    counts = _counts(ensemble, rows.used, rows.means, rows.variances, y[:, 1])
    lower = upper = none
    if level is not None:
        tails = np.array([0.5 - 0.5 * level, 0.5 + 0.5 * level])
        lower, upper = count_quantiles(counts.weights, counts.log_mean, counts.log_var, tails)[:, :, None]
    return Trace(counts.mean[:, None], counts.std[:, None], lower, upper, rows.log_score, rows.used, none)


@compiled
def _few_rows(ensemble: Ensemble, state: State, who: Who, labels: LabelModel, x: Float, y: Float, rows: _Rows) -> None:
    """A handful of rows in one compiled call: quick, and never interrupted halfway."""
    site_blocks.step_sites(
        x,
        y,
        ensemble.frequencies,
        ensemble.drift_ratio,
        who.active,
        labels,
        state.matrix,
        state.vector,
        rows.means,
        rows.variances,
        rows.belief_scores,
        rows.outcomes,
    )
    _weigh(ensemble, state, who, y, rows)


def _many_rows(ensemble: Ensemble, state: State, who: Who, x: Float, y: Float, rows: _Rows, n_threads: int) -> None:
    """Kernel by kernel in blocks, then the meta-learner over the table of scores."""
    n_drifts, labels = ensemble.n_drifts, label_model(ensemble)
    kernels = [k for k in range(len(ensemble.frequencies)) if who.active[k * n_drifts : (k + 1) * n_drifts].any()]

    def work(piece: Piece) -> None:
        k = kernels[piece.task]
        own = slice(k * n_drifts, (k + 1) * n_drifts)
        site_blocks.replay_sites(
            x,
            y,
            piece.begin,
            piece.stop,
            ensemble.frequencies[k],
            ensemble.drift_ratio[own],
            who.active[own],
            labels._replace(link=labels.link[own]),
            state.matrix[own],
            state.vector[own],
            rows.means[own],
            rows.variances[own],
            rows.belief_scores[own],
            rows.outcomes[own],
        )

    costs = [float(who.active[k * n_drifts : (k + 1) * n_drifts].sum()) for k in kernels]
    block = site_blocks.site_block_rows(ensemble.frequencies.shape[1])
    run_in_pieces(work, wrap_around(costs, len(x), block, min(n_threads, len(kernels))))
    _weigh(ensemble, state, who, y, rows)


@compiled
def _weigh(ensemble: Ensemble, state: State, who: Who, y: Float, rows: _Rows) -> None:
    """Score the experts, each belief at its sharpness, and weigh them."""
    for t in range(rows.log_score.size):
        for e in range(who.belief_of.size):
            b, power = who.belief_of[e], ensemble.sharpness[who.rung_of[e]]
            rows.log_scores[t, e] = rows.belief_scores[b, t] if who.alive[e] else -math.inf
            if power != 1.0 and who.alive[e]:
                outcomes = rows.outcomes[b, t]
                rows.log_scores[t, e] = power * outcomes[int(y[t, 0])] - log_normaliser(outcomes, power)
    weights.weigh_rows(weight_rule(ensemble), rows.log_scores, state.log_weights, rows.used, rows.log_score)
    state.rows[0] += rows.log_score.size


@compiled
def log_normaliser(outcomes: Float, power: float) -> float:
    """``log sum p^power`` of log probabilities (K,)."""
    if power == 1.0:
        return 0.0
    return weights.log_sum_exp(power * outcomes)


@compiled
def mix_classes(ensemble: Ensemble, who: Who, used: Float, outcomes: Float) -> Float:
    """Class probabilities (n, K) of the mixture: weights (n, experts), log probabilities (beliefs, n, K)."""
    _, n, n_classes = outcomes.shape
    mixed = np.zeros((n, n_classes))
    for t in range(n):
        total = 0.0
        for e in range(who.belief_of.size):
            if used[t, e] > 0.0:
                own, power = outcomes[who.belief_of[e], t], ensemble.sharpness[who.rung_of[e]]
                log_total = log_normaliser(own, power)
                for k in range(n_classes):
                    part = used[t, e] * math.exp(power * own[k] - log_total)
                    mixed[t, k] += part
                    total += part
        for k in range(n_classes):
            mixed[t, k] /= total
    return mixed


def predict_classes(ensemble: Ensemble, state: State, x: Float) -> Float:
    """Class probabilities (n, K) of every row, were it the next one. Changes nothing."""
    used, means, variances = _predict_latent(ensemble, state, x)
    outcomes = np.zeros((*variances.shape, ensemble.n_classes))
    who = who_is_who(ensemble, state)
    _log_classes(label_model(ensemble), who, means, variances, outcomes)
    return mix_classes(ensemble, who, used, outcomes)


def predict_counts(ensemble: Ensemble, state: State, x: Float, exposure: Float) -> CountMixture:
    """Predictive distribution of the counts of every row, were it the next one, under its exposure (n,)."""
    used, means, variances = _predict_latent(ensemble, state, x)
    return _counts(ensemble, used, means, variances, exposure)


def _predict_latent(ensemble: Ensemble, state: State, x: Float) -> tuple[Float, Float, Float]:
    """Weights (n, experts), latent means (beliefs, n, L) and variances (beliefs, n)."""
    n, n_beliefs = len(x), len(ensemble.drift_ratio)
    means, variances = np.zeros((n_beliefs, n, state.vector.shape[2])), np.ones((n_beliefs, n))
    who = who_is_who(ensemble, state)
    predict_rows(
        x, ensemble.frequencies, ensemble.drift_ratio, who.active, state.matrix, state.vector, means, variances
    )
    # Beliefs predict a label with unit noise; here it is the latent value that is wanted.
    variances = np.maximum(variances - 1.0, 0.0)
    ahead = np.exp(weights.diffuse(weight_rule(ensemble), state.log_weights))
    return np.tile(ahead, (n, 1)), means, variances


@compiled
def _log_classes(labels: LabelModel, who: Who, means: Float, variances: Float, outcomes: Float) -> None:
    n_beliefs, n = variances.shape
    label = np.zeros(1)
    for b in range(n_beliefs):
        if who.active[b]:
            own = of_belief(labels, b)
            for t in range(n):
                log_predictive(own, label, means[b, t], variances[b, t], outcomes[b, t])


def _counts(ensemble: Ensemble, used: Float, means: Float, variances: Float, exposure: Float) -> CountMixture:
    offset, extra, most = ensemble.link.T
    variances = np.minimum(variances, most[:, None])
    log_mean = means[:, :, 0].T + (offset - 0.5 * extra) + np.log(exposure)[:, None]
    return CountMixture.trusted(used, np.ascontiguousarray(log_mean), np.ascontiguousarray(variances.T + extra))
