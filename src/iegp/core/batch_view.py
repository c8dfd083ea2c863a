"""The batch view: weights and noise levels for predicting many rows at once, none of whose labels are known.

After ``fit``, many later rows are often predicted in one call. Weights and noise that follow a stream row by row judge
predictions one row ahead, and are too confident there. So the rows of a fit are cut into eight consecutive parts. From
three starts in each of the last five, as many rows as three parts have are predicted from what was known there (a test
set is often a quarter to a third as long as the rows of a fit), and weights and noise levels are fitted to these
predictions, the later ones counting more. Before each of them the coefficients drift over the mean distance of a row.

Lags are not known so far ahead. The last labels before the start stay, or experts that see no lags say what the labels
before a row may be (``expected_lags``), or half of each: whichever has the smallest error, the last labels
unless something else is clearly better.
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
    GAUSSIAN_DOF,
    LAG_SHARES,
    LARGEST_ROOT,
    LARGEST_SQUARE,
    LEAST_BATCH,
    LEAST_BATCH_WEIGHT,
    LEAST_LAG_GAIN,
    MOST_BATCH_ERROR,
    MOST_BATCH_ROWS,
    NOISE_FLOOR,
    PARTS_AHEAD,
    STARTS_IN_PART,
)
from iegp.core.ensemble import PassOptions, labels_of, learn_chunks, rows_ahead, score_labels, start
from iegp.core.expected_lags import beliefs_without_lags, with_expected_lags
from iegp.core.expert import noise
from iegp.core.expert.belief import Ahead
from iegp.core.expert.laplace_block import score_rows
from iegp.core.expert.sweep import Rows, Workspace, allocate_workspace, predict_rows
from iegp.core.likelihoods import GAUSSIAN
from iegp.core.likelihoods.sites import of_belief
from iegp.core.predictive.student import student_log_normaliser
from iegp.core.state import Ensemble, State, active_experts
from iegp.core.unusual import usual_rows
from iegp.core.weights import STACKING
from iegp.typing import Bool, Float, Int


class BatchView(NamedTuple):
    """What replaces the weights and the noise of a state, how many rows ahead predictions are, and what lags are."""

    noise_shape: Float
    noise_scale: Float
    log_weights: Float
    lag_weights: Float
    """(n_beliefs,): of those whose prediction of a row, together with the last known labels, is its lags; see
    :func:`with_expected_lags`."""
    n_steps: int

    def of(self, state: State) -> State:
        """The state that predicts many rows."""
        # Noise levels of the view are those of its mixture: it needs no spread.
        spread = np.ones_like(state.spread)
        return state._replace(
            noise_shape=self.noise_shape, noise_scale=self.noise_scale, log_weights=self.log_weights, spread=spread
        )


class Starts(NamedTuple):
    """From where rows of a fit are predicted, and how far."""

    edges: Int
    """(n + 1,): rows at which some are learned, or predicted from the ``first`` of them on."""
    first: int
    ends: Int
    """(n,): of the rows that are predicted from each."""

    @property
    def stride(self) -> int:
        """Every so many rows are predicted."""
        return int(-(-self._n_ahead.sum() // MOST_BATCH_ROWS))

    @property
    def n_steps(self) -> int:
        """Mean distance of a row from its start."""
        return max(1, int(self._n_ahead @ self._n_ahead / self._n_ahead.sum() / 2))

    @property
    def _n_ahead(self) -> Int:
        return (self.ends - self.edges[:-1])[self.first :]

    def rows_of(self, i: int) -> slice:
        """The rows that are predicted from the start with this number."""
        return slice(int(self.edges[i]), int(self.ends[i]), self.stride)


def starts_in(n_rows: int) -> Starts:
    """The starts in a fit of so many rows."""
    n = BATCH_PARTS * STARTS_IN_PART
    edges = np.arange(n + 1) * n_rows // n
    ends = edges[np.minimum(np.arange(n) + PARTS_AHEAD * STARTS_IN_PART, n)]
    return Starts(edges, FIRST_BATCH_PART * STARTS_IN_PART, ends)


class Predicted(NamedTuple):
    """Rows that were predicted from each start."""

    parts: list[list[Workspace]]
    """By the weights of expected lags that were asked for."""
    near: list[Float]
    """Errors of the ensemble, one row ahead, in all parts but the last."""


def batch_view(ensemble: Ensemble, x: Float, y: Float) -> BatchView | None:
    """From all rows (standardised) of a stream.

    None for few rows, where weights are no mixture that is fitted, and where everything changed in the last part
    (``batch_change``).
    """
    if len(x) < LEAST_BATCH or ensemble.rule != STACKING:
        return None
    starts, view = starts_in(len(x)), start(ensemble)
    with one_blas_thread():
        lag_weights = np.zeros(ensemble.n_beliefs)
        found = _predict_parts(ensemble, starts, Rows(x, y, np.empty(0)), [lag_weights])
        parts = found.parts[0]
        if ensemble.likelihood == GAUSSIAN:
            changed = changed_part(_errors_by_part(parts, starts), np.concatenate(found.near))
            if changed is None:
                lag_weights, parts = _better_lags(ensemble, starts, Rows(x, y, np.empty(0)), parts)
            else:
                # What was known before the change says nothing of what is known now.
                parts = parts[(changed + 1) * STARTS_IN_PART :]
            if not parts:
                return None
            weights = _fit_numbers(ensemble, view, parts)
        else:
            weights = _stacked(np.concatenate([part.log_scores for part in parts]))
    weights = np.maximum(weights, LEAST_BATCH_WEIGHT)
    # They sum to one to rounding: what is missing would move predictions by that share of the distance of y from zero.
    log_weights = np.log(weights / weights.sum())
    return BatchView(view.noise_shape, view.noise_scale, log_weights, lag_weights, starts.n_steps)


def _predict_parts(ensemble: Ensemble, starts: Starts, rows: Rows, lag_weights: list[Float]) -> Predicted:
    """Learn rows up to each start and predict those after it, with each of the weights of expected lags."""
    state, is_gaussian = start(ensemble), ensemble.likelihood == GAUSSIAN
    found = Predicted([[] for _ in lag_weights], [])
    for i, (a, b) in enumerate(pairwise(starts.edges)):
        if i >= starts.first:
            # Compiled code wants rows one after another in memory.
            x, y = np.ascontiguousarray(rows.x[starts.rows_of(i)]), np.ascontiguousarray(rows.y[starts.rows_of(i)])
            for weights, parts in zip(lag_weights, found.parts, strict=True):
                seen = with_expected_lags(ensemble, state, x, weights, starts.n_steps)
                parts.append(_predict_rows(ensemble, state, seen, y, starts.n_steps))
        if b < len(rows.x):
            passed = learn_chunks(ensemble, state, rows.x[a:b], rows.y[a:b], PassOptions(is_live=False))
            means = [chunk.mean for chunk in passed]
            if is_gaussian and starts.first <= i < len(starts.ends) - STARTS_IN_PART:
                found.near.append(rows.y[a:b] - np.concatenate(means))
    return found


def _better_lags(
    ensemble: Ensemble, starts: Starts, rows: Rows, last: list[Workspace]
) -> tuple[Float, list[Workspace]]:
    """Weights of expected lags under which the stacked mean has the smallest error, and what was predicted with them.

    ``last`` was predicted with the last known labels.
    """
    none, free = np.zeros(ensemble.n_beliefs), beliefs_without_lags(ensemble, rows.x.shape[1])
    if not ensemble.lags.n_columns or not free.any():
        return none, last
    weights = _least_squares(_part_rows(ensemble, last), free)
    shared = [share * weights for share in LAG_SHARES]
    choices = [(none, last), *zip(shared, _predict_parts(ensemble, starts, rows, shared).parts, strict=True)]
    errors = np.array([_stacked_error(_part_rows(ensemble, parts)) for _, parts in choices])
    errors[0] *= 1.0 - LEAST_LAG_GAIN
    return choices[int(np.argmin(errors))]


def _stacked_error(rows: PartRows) -> float:
    mean = np.tensordot(_least_squares(rows), rows.errors, 1)
    return float(rows.shares @ np.square(np.clip(mean, -LARGEST_ROOT, LARGEST_ROOT)).sum(axis=1))


def _errors_by_part(parts: list[Workspace], starts: Starts) -> list[list[Float]]:
    """For the first start in each part, the errors (n_beliefs, n, D) in each part that was predicted from it."""
    found = []
    for first, rows in enumerate(parts[::STARTS_IN_PART], FIRST_BATCH_PART):
        edges = starts.edges[::STARTS_IN_PART]
        inner = edges[first + 1 : min(first + PARTS_AHEAD, BATCH_PARTS)] - edges[first]
        found.append(np.split(rows.y - rows.means, -(-inner // starts.stride), axis=1))
    return found


def _predict_rows(ensemble: Ensemble, state: State, rows: Float, y: Float, n_steps: int) -> Workspace:
    """Predict rows and their lags from ``state``, each so many rows ahead; score labels that are not Gaussian too."""
    active, labels = active_experts(ensemble, state), labels_of(ensemble)
    work = allocate_workspace(ensemble, active, rows, y, ensemble.n_classes)
    ahead = Ahead(work.means, work.variances)
    predict_rows(ensemble, state, active.beliefs, rows, ahead, rows_ahead(len(rows), n_steps).walk)
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


def _part_rows(ensemble: Ensemble, parts: list[Workspace]) -> PartRows:
    # What was known at later starts is closer to what is known now.
    counts = np.concatenate([np.full(len(part.y), 1.0 + i / STARTS_IN_PART) for i, part in enumerate(parts)])
    errors = np.concatenate([part.y - part.means for part in parts], axis=1)
    variances = np.concatenate([part.variances for part in parts], axis=1)
    errors = np.clip(errors, -LARGEST_ROOT, LARGEST_ROOT)
    counts *= usual_rows(errors, variances, ensemble.glitch)
    return PartRows(errors, variances, counts / counts.sum())


def _fit_numbers(ensemble: Ensemble, view: State, parts: list[Workspace]) -> Float:
    """Weights (n_experts,) of numbers; sets the noise of ``view``.

    The mean is that of stacked regression: weights of the beliefs have the least squared error, because those of the
    most probable mixture, where errors of neighbouring rows go together, choose single experts by chance. Given these,
    noise levels are the most probable ones: first that of each expert alone, then, because a mixture errs less than its
    experts, all of them times one factor.
    """
    rows = _part_rows(ensemble, parts)
    _fit_levels(ensemble, view, rows)
    return _mix_noise(ensemble, view, rows, _least_squares(rows))


def _least_squares(rows: PartRows, allowed: Bool | None = None) -> Float:
    """Weights (n_beliefs,), none negative and of sum one, under which the mean has the least squared error.

    Beliefs that are not ``allowed`` (n_beliefs,) have weight zero, and so have those that err much more than the best:
    a small weight on a mean far away adds little to the error of the mixture's mean, but much to its variance.
    """
    errors = rows.errors * np.sqrt(rows.shares)[:, None]
    flat = errors.reshape(len(errors), -1) / max(float(np.abs(errors).max()), np.finfo(float).tiny)
    own = (flat**2).sum(axis=1)
    if allowed is not None:
        own[~allowed] = math.inf
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


class NoiseMixture(NamedTuple):
    """Experts of the beliefs that have weight, and what their densities need that stays while weights are found."""

    beliefs: Int
    """(n_used,)"""
    weights: Float
    """(n_used, n_noise)"""
    dof: Float
    """(n_noise,): degrees of freedom."""
    normalisers: Float
    """(n_noise,): logarithms."""
    levels: Float
    """(n_used, n_noise, D): squared scales of the noise."""
    log_levels: Float
    """(n_used, n_noise): summed over outputs."""


@compiled
def _mix_noise(ensemble: Ensemble, view: State, rows: PartRows, of_beliefs: Float) -> Float:
    """Weights (n_experts,) of experts, which share those of their beliefs (n_beliefs,): the most probable ones.

    Multiplies the noise of ``view`` by the one factor that makes the labels most probable. Expectation-maximisation.
    """
    mixture = _start_mixture(ensemble, view, rows, of_beliefs)
    n_used, n_noise = mixture.weights.shape
    factor, probable, found = 1.0, np.empty((n_used, n_noise)), np.empty((n_used, n_noise))
    for _ in range(BATCH_ITERATIONS):
        found[...] = 0.0
        spread, total, before = 0.0, 0.0, factor
        for t in range(rows.shares.size):
            # A label so far off that every density underflows says nothing.
            if rows.shares[t] > 0.0 and _find_probable(mixture, rows, t, factor, probable):
                total += rows.shares[t]
                spread += rows.shares[t] * _spread(mixture, rows, t, factor, probable)
                for i in range(n_used):
                    for k in range(n_noise):
                        found[i, k] += rows.shares[t] * probable[i, k]
        if total == 0.0:
            break
        factor = max(spread / total, NOISE_FLOOR)
        if not _set_weights(mixture, of_beliefs, found) and factor == before:
            break
    view.noise_scale[...] = factor * view.noise_scale
    weights = np.zeros((of_beliefs.size, n_noise))
    for i in range(n_used):
        weights[mixture.beliefs[i]] = mixture.weights[i]
    return weights.reshape(-1)


@compiled
def _start_mixture(ensemble: Ensemble, view: State, rows: PartRows, of_beliefs: Float) -> NoiseMixture:
    """Noise models of a belief begin with equal weights."""
    n_noise, n_outputs = ensemble.forgetting.size, rows.errors.shape[2]
    beliefs = np.flatnonzero(of_beliefs)
    dof, normalisers = np.empty(n_noise), np.empty(n_noise)
    for k in range(n_noise):
        dof[k] = noise.next_dof(view.noise_shape[k], ensemble.forgetting[k], ensemble.tails[k])
        normalisers[k] = n_outputs * student_log_normaliser(dof[k])
    weights, log_levels = np.empty((beliefs.size, n_noise)), np.zeros((beliefs.size, n_noise))
    levels = np.empty((beliefs.size, n_noise, n_outputs))
    for i in range(beliefs.size):
        for k in range(n_noise):
            weights[i, k] = of_beliefs[beliefs[i]] / n_noise
            for d in range(n_outputs):
                levels[i, k, d] = noise.squared_scale(
                    view.noise_scale[beliefs[i] * n_noise + k, d], view.noise_shape[k]
                )
                log_levels[i, k] += math.log(levels[i, k, d])
    return NoiseMixture(beliefs, weights, dof, normalisers, levels, log_levels)


@compiled
def _find_probable(mixture: NoiseMixture, rows: PartRows, t: int, factor: float, probable: Float) -> bool:
    """How probable it is that row ``t`` came from each expert, its noise times ``factor``; False if from none."""
    n_outputs, largest = rows.errors.shape[2], -math.inf
    for i in range(mixture.beliefs.size):
        b = mixture.beliefs[i]
        log_variance = n_outputs * math.log(factor * rows.variances[b, t])
        for k in range(mixture.dof.size):
            probable[i, k] = -math.inf
            if mixture.weights[i, k] > 0.0:
                score = mixture.normalisers[k] - 0.5 * (mixture.log_levels[i, k] + log_variance)
                for d in range(n_outputs):
                    unit = mixture.levels[i, k, d] * rows.variances[b, t]
                    score += _log_kernel(_square(rows.errors[b, t, d], unit) / factor, mixture.dof[k])
                probable[i, k] = math.log(mixture.weights[i, k]) + score
                largest = max(largest, probable[i, k])
    if math.isinf(largest):
        return False
    total = 0.0
    for i in range(mixture.beliefs.size):
        for k in range(mixture.dof.size):
            probable[i, k] = math.exp(probable[i, k] - largest)
            total += probable[i, k]
    for i in range(mixture.beliefs.size):
        for k in range(mixture.dof.size):
            probable[i, k] /= total
    return True


@compiled
def _spread(mixture: NoiseMixture, rows: PartRows, t: int, factor: float, probable: Float) -> float:
    """Squared errors of row ``t`` in units of the noise, weighed by how probable the experts are."""
    spread, n_outputs = 0.0, rows.errors.shape[2]
    for i in range(mixture.beliefs.size):
        b = mixture.beliefs[i]
        for k in range(mixture.dof.size):
            dof = mixture.dof[k]
            for d in range(n_outputs):
                square = _square(rows.errors[b, t, d], mixture.levels[i, k, d] * rows.variances[b, t])
                pull = 1.0 if math.isinf(dof) else (dof + 1.0) / (dof + square / factor)
                spread += probable[i, k] * pull * square / n_outputs
    return spread


@compiled
def _set_weights(mixture: NoiseMixture, of_beliefs: Float, found: Float) -> bool:
    """Share the weight of every belief among its noise models; whether that changed anything."""
    changed = False
    for i in range(mixture.beliefs.size):
        own = found[i].sum()
        if own > 0.0:
            for k in range(mixture.dof.size):
                weight = of_beliefs[mixture.beliefs[i]] * found[i, k] / own
                changed |= weight != mixture.weights[i, k]
                mixture.weights[i, k] = weight
    return changed


@compiled
def _square(error: float, variance: float) -> float:
    return min(error * error / variance, LARGEST_SQUARE)


@compiled
def _log_kernel(square: float, dof: float) -> float:
    """Log density of a squared error in units of its scale, but for what depends on the scale or ``dof`` alone."""
    if dof <= GAUSSIAN_DOF:
        return -0.5 * (dof + 1.0) * math.log1p(square / dof)
    return -0.5 * square if square < LARGEST_SQUARE else -math.inf


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
