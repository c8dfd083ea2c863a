"""The batch view: weights and noise levels for predicting many rows at once, none of whose labels are known.

After ``fit``, many later rows are often predicted in one call. Weights and noise that follow a stream row by row judge
predictions one row ahead, and are too confident there. So the rows of a fit are cut into eight consecutive parts, the
three parts that follow what was known at a part's start are predicted from it (a test set is often a quarter to a third
as long as the rows of a fit), and weights and noise levels are fitted to these predictions, the later ones counting
more. Before each of them the coefficients drift over the mean distance of a row. Lags stay those of the part's start.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from iegp._compile import compiled
from iegp.core.batch_change import changed_part
from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import (
    BATCH_ITERATIONS,
    BATCH_PARTS,
    BATCH_RIDGE,
    FIRST_BATCH_PART,
    LARGEST_ROOT,
    LARGEST_SQUARE,
    LEAST_BATCH,
    LEAST_BATCH_WEIGHT,
    MEDIAN_SQUARE,
    MOST_BATCH_ERROR,
    MOST_BATCH_ROWS,
    MOST_UNUSUAL,
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
from iegp.typing import Bool, Float, Int


class BatchView(NamedTuple):
    """What replaces the weights and the noise of a state, and how many rows ahead predictions are."""

    noise_shape: Float
    noise_scale: Float
    log_weights: Float
    n_steps: int

    def of(self, state: State) -> State:
        """The state that predicts many rows."""
        # Noise levels of the view are those of its mixture: it needs no spread.
        spread = np.ones_like(state.spread)
        return state._replace(
            noise_shape=self.noise_shape, noise_scale=self.noise_scale, log_weights=self.log_weights, spread=spread
        )


def batch_view(ensemble: Ensemble, x: Float, y: Float) -> BatchView | None:
    """From all rows (standardised) of a stream.

    None for few rows, where weights are no mixture that is fitted, and where everything changed in the last part
    (``batch_change``).
    """
    if len(x) < LEAST_BATCH or ensemble.rule != STACKING:
        return None
    edges = np.linspace(0, len(x), BATCH_PARTS + 1).astype(int)
    ends = edges[np.minimum(np.arange(BATCH_PARTS) + PARTS_AHEAD, BATCH_PARTS)]
    n_ahead = (ends - edges[:-1])[FIRST_BATCH_PART:]
    n_steps, stride = max(1, int(n_ahead @ n_ahead / n_ahead.sum() / 2)), -(-int(n_ahead.sum()) // MOST_BATCH_ROWS)
    state, parts, near = start(ensemble), [], []
    with one_blas_thread():
        for i, (a, b) in enumerate(pairwise(edges)):
            if i >= FIRST_BATCH_PART:
                rows = slice(a, ends[i], stride)
                # Compiled code wants rows one after another in memory.
                some = np.ascontiguousarray(x[rows]), np.ascontiguousarray(y[rows])
                parts.append(_predict_rows(ensemble, state, *some, n_steps))
            if i < BATCH_PARTS - 1:
                passed = learn_chunks(ensemble, state, x[a:b], y[a:b], PassOptions(is_live=False))
                means = [chunk.mean for chunk in passed]
                if i >= FIRST_BATCH_PART and ensemble.likelihood == GAUSSIAN:
                    near.append(y[a:b] - np.concatenate(means))
        view = start(ensemble)
        if ensemble.likelihood == GAUSSIAN:
            errors = _errors_by_part(parts, edges, stride)
            changed = changed_part(errors, np.concatenate(near))
            if changed is not None:
                # What was known before the change says nothing of what is known now.
                parts = parts[changed + 1 :]
            if not parts:
                return None
            weights = _fit_numbers(ensemble, view, parts)
        else:
            weights = _stacked(np.concatenate([part.log_scores for part in parts]))
    return BatchView(view.noise_shape, view.noise_scale, np.log(np.maximum(weights, LEAST_BATCH_WEIGHT)), n_steps)


def _errors_by_part(parts: list[Workspace], edges: Int, stride: int) -> list[list[Float]]:
    """Of each start, the errors (n_beliefs, n, D) in each part that was predicted from it."""
    found = []
    for first, rows in enumerate(parts, FIRST_BATCH_PART):
        inner = edges[first + 1 : min(first + PARTS_AHEAD, BATCH_PARTS)] - edges[first]
        found.append(np.split(rows.y - rows.means, -(-inner // stride), axis=1))
    return found


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


class PartRows(NamedTuple):
    """Rows of the parts, how they were predicted, and how much each of them counts."""

    errors: Float
    """(n_beliefs, n, D)"""
    variances: Float
    """(n_beliefs, n): in units of the noise."""
    shares: Float
    """(n,): sum to one."""


def _fit_numbers(ensemble: Ensemble, view: State, parts: list[Workspace]) -> Float:
    """Weights (n_experts,) of numbers; sets the noise of ``view``.

    The mean is that of stacked regression: weights of the beliefs have the least squared error, because those of the
    most probable mixture, where errors of neighbouring rows go together, choose single experts by chance. Given these,
    noise levels are the most probable ones: first that of each expert alone, then, because a mixture errs less than its
    experts, all of them times one factor.
    """
    # What was known at later parts is closer to what is known now.
    counts = np.concatenate([np.full(len(part.y), 1.0 + i) for i, part in enumerate(parts)])
    errors = np.concatenate([part.y - part.means for part in parts], axis=1)
    variances = np.concatenate([part.variances for part in parts], axis=1)
    errors = np.clip(errors, -LARGEST_ROOT, LARGEST_ROOT)
    counts *= _usual_rows(errors, variances, ensemble.glitch)
    rows = PartRows(errors, variances, counts / counts.sum())
    _fit_levels(ensemble, view, rows)
    return _mix_noise(ensemble, view, rows, _least_squares(rows))


def _usual_rows(errors: Float, variances: Float, limit: float) -> Bool:
    """(n,): rows whose labels some belief predicts within so many robust standard deviations of its errors.

    All rows, if others are more than a few.
    """
    squares = np.minimum(errors**2 / variances[:, :, None], LARGEST_SQUARE)
    typical = np.median(squares, axis=1, keepdims=True) / MEDIAN_SQUARE
    usual = np.any(np.all(squares <= limit**2 * typical, axis=2), axis=0)
    return np.asarray(usual if usual.mean() >= 1.0 - MOST_UNUSUAL else np.ones(len(usual), dtype=bool))


def _least_squares(rows: PartRows) -> Float:
    """Weights (n_beliefs,), none negative and of sum one, under which the mean has the least squared error.

    Beliefs that err much more than the best have weight zero: a small weight on a mean far away adds little to the
    error of the mixture's mean, but much to its variance.
    """
    errors = rows.errors * np.sqrt(rows.shares)[:, None]
    flat = errors.reshape(len(errors), -1) / max(float(np.abs(errors).max()), np.finfo(float).tiny)
    own = (flat**2).sum(axis=1)
    good = own <= MOST_BATCH_ERROR * own.min()
    weights = np.zeros(len(errors))
    weights[good] = _simplex_least_squares(flat[good] @ flat[good].T)
    return weights


def _simplex_least_squares(gram: Float) -> Float:
    """Weights w (n,), none negative and of sum one, with the least w' gram w."""
    n = len(gram)
    size = max(float(np.trace(gram)) / n, np.finfo(float).tiny)
    factor = np.linalg.cholesky(gram + BATCH_RIDGE * size * np.eye(n)).T
    # With the sum as one more equation the solution has the right direction, whatever its length.
    sums = np.full((1, n), math.sqrt(size))
    weights, _ = nnls(np.concatenate([factor, sums]), np.append(np.zeros(n), sums[0, 0]))
    return np.asarray(weights / weights.sum())


@compiled
def _fit_levels(ensemble: Ensemble, view: State, rows: PartRows) -> None:
    """Set the noise of every expert to what makes its predictions most probable."""
    n_noise = ensemble.forgetting.size
    for e in range(view.noise_scale.shape[0]):
        b, k = e // n_noise, e % n_noise
        shape = view.noise_shape[k]
        for d in range(rows.errors.shape[2]):
            squares = np.minimum(rows.errors[b, :, d] ** 2 / rows.variances[b], LARGEST_SQUARE)
            level = _level(squares, rows.shares, ensemble.tails[k])
            view.noise_scale[e, d] = level if math.isinf(shape) else level * shape


@compiled
def _level(squares: Float, shares: Float, tail: float) -> float:
    """Squared scale of noise under which these squared errors, in units of their variance, are most probable."""
    level = max((shares * squares).sum(), NOISE_FLOOR)
    if not math.isnan(tail):
        for _ in range(BATCH_ITERATIONS):
            level = max((shares * squares * (tail + 1.0) / (tail + squares / level)).sum(), NOISE_FLOOR)
    return float(level)


@compiled
def _mix_noise(ensemble: Ensemble, view: State, rows: PartRows, of_beliefs: Float) -> Float:
    """Weights (n_experts,) of experts, which share those of their beliefs (n_beliefs,): the most probable ones.

    Multiplies the noise of ``view`` by the one factor that makes the labels most probable. Expectation-maximisation.
    """
    n_noise, n_experts, n_outputs = ensemble.forgetting.size, view.log_weights.size, rows.errors.shape[2]
    weights, dof = np.empty(n_experts), np.empty(n_noise)
    for e in range(n_experts):
        weights[e] = of_beliefs[e // n_noise] / n_noise
    for k in range(n_noise):
        dof[k] = noise.next_dof(view.noise_shape[k], ensemble.forgetting[k], ensemble.tails[k])
    factor, scores = 1.0, np.empty(n_experts)
    for _ in range(BATCH_ITERATIONS):
        found, spread, total = np.zeros(n_experts), 0.0, 0.0
        for t in range(rows.shares.size):
            log_sum = _score_row(view, rows, t, (weights, dof), factor, scores)
            if rows.shares[t] == 0.0 or math.isinf(log_sum):
                # A label so far off that every density underflows says nothing.
                continue
            total += rows.shares[t]
            for e in range(n_experts):
                if weights[e] == 0.0:
                    continue
                b, k = e // n_noise, e % n_noise
                share = rows.shares[t] * math.exp(scores[e] - log_sum)
                found[e] += share
                for d in range(n_outputs):
                    level = noise.squared_scale(view.noise_scale[e, d], view.noise_shape[k])
                    square = min(rows.errors[b, t, d] ** 2 / (level * rows.variances[b, t]), LARGEST_SQUARE)
                    pull = 1.0 if math.isinf(dof[k]) else (dof[k] + 1.0) / (dof[k] + square / factor)
                    spread += share * pull * square / n_outputs
        if total == 0.0:
            break
        factor = max(spread / total, NOISE_FLOOR)
        for b in range(of_beliefs.size):
            own = found[b * n_noise : (b + 1) * n_noise]
            if own.sum() > 0.0:
                weights[b * n_noise : (b + 1) * n_noise] = of_beliefs[b] * own / own.sum()
    view.noise_scale[...] = factor * view.noise_scale
    return weights


@compiled
def _score_row(
    view: State, rows: PartRows, t: int, mixture: tuple[Float, Float], factor: float, scores: Float
) -> float:
    """Log of weight times density of every expert at row ``t``, its noise times ``factor``; returns the log sum."""
    weights, dof = mixture
    n_noise, largest = dof.size, -math.inf
    for e in range(weights.size):
        scores[e] = -math.inf
        if weights[e] == 0.0:
            continue
        b, k = e // n_noise, e % n_noise
        scores[e] = math.log(weights[e])
        for d in range(rows.errors.shape[2]):
            level = noise.squared_scale(view.noise_scale[e, d], view.noise_shape[k])
            spread = math.sqrt(factor * level * rows.variances[b, t])
            scores[e] += student_log_normaliser(dof[k]) + student_log_kernel(rows.errors[b, t, d], spread, dof[k])
        largest = max(largest, scores[e])
    if math.isinf(largest):
        return largest
    total = 0.0
    for e in range(weights.size):
        total += math.exp(scores[e] - largest)
    return largest + math.log(total)


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
    return weights
