"""The batch view: weights and noise levels for predicting many rows at once, none of whose labels are known.

After ``fit``, many later rows are often predicted in one call. Weights and noise that follow a stream row by row judge
predictions one row ahead, and are too confident there. So the rows of a fit are cut into eight consecutive parts, the
three parts that follow what was known at a part's start are predicted from it (a test set is often a quarter to a third
as long as the rows of a fit), and weights and noise levels are fitted to these predictions. Before each of them the
coefficients drift over the mean distance of a row. Lags stay those of the part's start.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import (
    BATCH_ITERATIONS,
    BATCH_PARTS,
    FIRST_BATCH_PART,
    LARGEST_SQUARE,
    LEAST_BATCH,
    LEAST_BATCH_WEIGHT,
    MOST_BATCH_ROWS,
    NOISE_FLOOR,
    PARTS_AHEAD,
)
from iegp.core.ensemble import PassOptions, labels_of, learn_chunks, rows_ahead, score_labels, start
from iegp.core.expert import noise
from iegp.core.expert.belief import Ahead
from iegp.core.expert.laplace_block import score_rows
from iegp.core.expert.sweep import Workspace, allocate_workspace, predict_rows
from iegp.core.lags import with_known_lags
from iegp.core.likelihoods import GAUSSIAN
from iegp.core.likelihoods.sites import of_belief
from iegp.core.predictive.student import student_log_kernel, student_log_normaliser
from iegp.core.state import Ensemble, State, active_experts
from iegp.core.weights import STACKING
from iegp.typing import Float


class BatchView(NamedTuple):
    """What replaces the weights and the noise of a state, and how many rows ahead predictions are."""

    noise_shape: Float
    noise_scale: Float
    log_weights: Float
    n_steps: int

    def of(self, state: State) -> State:
        """The state that predicts many rows."""
        return state._replace(noise_shape=self.noise_shape, noise_scale=self.noise_scale, log_weights=self.log_weights)


def batch_view(ensemble: Ensemble, x: Float, y: Float) -> BatchView | None:
    """From all rows (standardised) of a stream; None for few rows, and where weights are no mixture that is fitted."""
    if len(x) < LEAST_BATCH or ensemble.rule != STACKING:
        return None
    edges = np.linspace(0, len(x), BATCH_PARTS + 1).astype(int)
    ends = edges[np.minimum(np.arange(BATCH_PARTS) + PARTS_AHEAD, BATCH_PARTS)]
    n_ahead = (ends - edges[:-1])[FIRST_BATCH_PART:]
    n_steps, stride = max(1, int(n_ahead @ n_ahead / n_ahead.sum() / 2)), -(-int(n_ahead.sum()) // MOST_BATCH_ROWS)
    state, parts = start(ensemble), []
    with one_blas_thread():
        for i, (a, b) in enumerate(pairwise(edges)):
            if i >= FIRST_BATCH_PART:
                rows = slice(a, ends[i], stride)
                # Compiled code wants rows one after another in memory.
                some = np.ascontiguousarray(x[rows]), np.ascontiguousarray(y[rows])
                parts.append(_predict_rows(ensemble, state, *some, n_steps))
            if i < BATCH_PARTS - 1:
                for _ in learn_chunks(ensemble, state, x[a:b], y[a:b], PassOptions(is_live=False)):
                    pass
    view = start(ensemble)
    if ensemble.likelihood == GAUSSIAN:
        scores = _fit_noise(ensemble, view, parts)
    else:
        scores = np.concatenate([part.log_scores for part in parts])
    return BatchView(view.noise_shape, view.noise_scale, np.log(_stacked(scores)), n_steps)


def _predict_rows(ensemble: Ensemble, state: State, x: Float, y: Float, n_steps: int) -> Workspace:
    """Predict rows from ``state``, each so many rows ahead; where labels are not Gaussian, score them too."""
    active, labels = active_experts(ensemble, state), labels_of(ensemble)
    rows = with_known_lags(ensemble.lags, state.recent, x, n_steps)
    work = allocate_workspace(ensemble, active, rows, y, ensemble.n_classes)
    ahead = Ahead(work.means, work.variances)
    predict_rows(ensemble, state, active.beliefs, rows, ahead, rows_ahead(len(x), n_steps).walk)
    if labels is not None:
        # Beliefs predict a label with unit noise; here it is the latent value that is wanted.
        latent = Ahead(ahead.means, np.maximum(ahead.variances - 1.0, 0.0))
        for b in np.flatnonzero(active.beliefs).tolist():
            own = Ahead(latent.means[b], latent.variances[b])
            score_rows(of_belief(labels, b), y, own, work.belief_scores[b], work.outcomes[b])
        score_labels(ensemble, work)
    return work


def _fit_noise(ensemble: Ensemble, view: State, parts: list[Workspace]) -> Float:
    """Set the noise of ``view`` to what makes the predictions of the parts most probable; returns log scores."""
    errors = np.concatenate([part.y - part.means for part in parts], axis=1)
    variances = np.concatenate([part.variances for part in parts], axis=1)
    scores = np.zeros((errors.shape[1], ensemble.n_experts))
    _fit_levels(ensemble, view, errors, variances, scores)
    return scores


@compiled
def _fit_levels(ensemble: Ensemble, view: State, errors: Float, variances: Float, scores: Float) -> None:
    n_noise = ensemble.forgetting.size
    for e in range(scores.shape[1]):
        b, k = e // n_noise, e % n_noise
        shape, tail = view.noise_shape[k], ensemble.tails[k]
        dof = noise.next_dof(shape, ensemble.forgetting[k], tail)
        constant = student_log_normaliser(dof)
        for d in range(errors.shape[2]):
            level = _level(np.minimum(errors[b, :, d] ** 2 / variances[b], LARGEST_SQUARE), tail)
            view.noise_scale[e, d] = level if math.isinf(shape) else level * shape
            for t in range(scores.shape[0]):
                spread = math.sqrt(level * variances[b, t])
                scores[t, e] += constant + student_log_kernel(errors[b, t, d], spread, dof)


@compiled
def _level(squares: Float, tail: float) -> float:
    """Squared scale of noise under which these squared errors, in units of their variance, are most probable."""
    level = max(squares.mean(), NOISE_FLOOR)
    if not math.isnan(tail):
        for _ in range(BATCH_ITERATIONS):
            level = max((squares * (tail + 1.0) / (tail + squares / level)).mean(), NOISE_FLOOR)
    return float(level)


def _stacked(scores: Float) -> Float:
    """Weights (n_experts,) of the mixture under which labels with these log scores (n, n_experts) are most probable."""
    best = scores.max(axis=1, keepdims=True)
    # A label so far off that every density underflows says nothing about the weights.
    density = np.exp(scores - best)[np.isfinite(best[:, 0])]
    weights = np.full(scores.shape[1], 1.0 / scores.shape[1])
    if not len(density):
        return weights
    for _ in range(BATCH_ITERATIONS):
        weights *= (density / (density @ weights)[:, None]).mean(axis=0)
    return np.asarray(np.maximum(weights, LEAST_BATCH_WEIGHT))
