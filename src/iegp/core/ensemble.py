"""An ensemble of experts on standardised rows: predict, and predict-then-learn.

What the experts *are* (frequencies, ratios, rules) is an :class:`Ensemble`, fixed once the warm-up is over. What they
have *learned* is a :class:`State`: only what must be carried from row to row, and stored. What a pass over rows
*showed* is a :class:`Trace`.

Experts are ordered kernel by kernel, then drift, then rung of the noise ladder. The rungs of a (kernel, drift) pair
share one belief; the drifts of a kernel share its features.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core import belief, blocks, noise, weights
from iegp.core.mixture import Mixture, quantiles
from iegp.core.threads import one_blas_thread, run_all
from iegp.typing import Bool, Float, Int

# Up to this many rows are absorbed one by one: factoring such a small block costs more.
FEW_ROWS = 6
# Rows between two looks at who was shut down; also bounds the memory of a long pass.
CHUNK_ROWS = 2048


class Ensemble(NamedTuple):
    """What the experts are."""

    frequencies: Float
    """(n_kernels, n_frequencies, d), in standardised inputs."""
    drift_ratio: Float
    """(n_beliefs,): random-walk variance per row over the noise variance; 0 is static."""
    prior_ratio: Float
    """(n_beliefs,): prior variance over the noise variance."""
    noise_var: Float
    """(n_beliefs, D): noise variance to start from."""
    forgetting: Float
    """(n_rungs,): noise forgetting per row; NaN keeps the noise fixed."""
    tails: Float
    """(n_rungs,): degrees of freedom of heavy-tailed noise; NaN on the other rungs."""
    rule: int
    transitions: Float
    rate: float
    shutdown: float

    @property
    def n_drifts(self) -> int:
        return len(self.drift_ratio) // len(self.frequencies)

    @property
    def n_experts(self) -> int:
        return len(self.drift_ratio) * len(self.forgetting)

    @property
    def belief_of(self) -> Int:
        """Which belief an expert shares."""
        return np.repeat(np.arange(len(self.drift_ratio)), len(self.forgetting))

    @property
    def rung_of(self) -> Int:
        """Which rung of the noise ladder an expert stands on."""
        return np.tile(np.arange(len(self.forgetting)), len(self.drift_ratio))


class State(NamedTuple):
    """What the experts have learned."""

    matrix: Float
    vector: Float
    noise_shape: Float
    noise_scale: Float
    log_weights: Float

    def copy(self) -> State:
        return State(*(array.copy() for array in self))


class Trace(NamedTuple):
    """What a pass over n rows showed: every row's prediction before it was learned, and its score."""

    mean: Float
    """(n, D)"""
    std: Float
    """(n, D), observation noise included."""
    lower: Float
    """(n, D): lower end of the central interval; no rows if none was asked for."""
    upper: Float
    log_score: Float
    """(n,): log predictive density, summed over outputs."""
    weights: Float
    """(n, n_experts): as used for the prediction of that row."""

    @classmethod
    def concatenate(cls, traces: list[Trace]) -> Trace:
        """One trace out of consecutive ones."""
        return traces[0] if len(traces) == 1 else cls(*(np.concatenate(parts) for parts in zip(*traces, strict=True)))


def start(ensemble: Ensemble) -> State:
    """The state before any row: prior beliefs, equal weights."""
    n_features, n_outputs = 2 * ensemble.frequencies.shape[1], ensemble.noise_var.shape[1]
    beliefs = belief.prior(ensemble.prior_ratio, ensemble.drift_ratio, n_features, n_outputs)
    levels = noise.start(ensemble.forgetting, ensemble.tails, ensemble.rung_of, ensemble.noise_var[ensemble.belief_of])
    return State(*beliefs, *levels, np.full(ensemble.n_experts, -np.log(ensemble.n_experts)))


def predict(ensemble: Ensemble, state: State, x: Float) -> Mixture:
    """Predictive distribution of every row of ``x`` (n, d), were it the next row. Changes nothing."""
    n, n_beliefs = len(x), len(ensemble.drift_ratio)
    means = np.zeros((n_beliefs, n, state.vector.shape[2]))
    variances = np.ones((n_beliefs, n))
    what = ensemble.frequencies, ensemble.drift_ratio, _active(ensemble, state), state.matrix, state.vector
    blocks.predict_rows(x, *what, means, variances)
    levels = noise.Noise(state.noise_shape, state.noise_scale)
    scales = np.sqrt(noise.squared_scale(levels, ensemble.rung_of)[None] * variances.T[:, ensemble.belief_of, None])
    dof = np.tile(noise.degrees_of_freedom(levels, ensemble.forgetting, ensemble.tails), (n, 1))
    ahead = np.exp(weights.diffuse(state.log_weights, ensemble.rule, ensemble.transitions))
    parts = _components(ensemble, means, scales, dof)
    return Mixture(np.broadcast_to(ahead, (n, len(ahead))), *parts, single_output=False)


def learn(
    ensemble: Ensemble, state: State, x: Float, y: Float, n_threads: int = 1, level: float | None = None
) -> Trace:
    """Predict every row, then learn it, in order: exactly as if one by one. ``state`` is updated in place.

    ``x`` is (n, d) and ``y`` (n, D). O(F²) per row and belief. ``level`` asks for central intervals, which cost extra.
    """
    if len(x) <= FEW_ROWS:
        return _learn_chunk(ensemble, state, x, y, 1, level)
    with one_blas_thread():
        return Trace.concatenate(
            [
                _learn_chunk(ensemble, state, x[i : i + CHUNK_ROWS], y[i : i + CHUNK_ROWS], n_threads, level)
                for i in range(0, len(x), CHUNK_ROWS)
            ]
        )


def _learn_chunk(ensemble: Ensemble, state: State, x: Float, y: Float, n_threads: int, level: float | None) -> Trace:
    n, n_outputs = y.shape
    n_beliefs, n_experts, n_rungs = len(ensemble.drift_ratio), ensemble.n_experts, len(ensemble.forgetting)
    rows = _Rows(
        means=np.zeros((n_beliefs, n, n_outputs)),
        variances=np.ones((n_beliefs, n)),
        log_scores=np.empty((n, n_experts)),
        scales=np.empty((n, n_experts, n_outputs)),
        dof=np.empty((n, n_rungs)),
        used=np.empty((n, n_experts)),
        log_score=np.empty(n),
        mean=np.empty((n, n_outputs)),
        std=np.empty((n, n_outputs)),
    )
    who = _Who(ensemble.belief_of, ensemble.rung_of, _alive(ensemble, state), _active(ensemble, state))
    if n <= FEW_ROWS:
        _few_rows(ensemble, state, who, x, y, rows)
    else:
        _many_rows(ensemble, state, who, x, y, rows, n_threads)
    if level is None:
        lower = upper = np.empty((0, n_outputs))
    else:
        tails = np.array([0.5 - 0.5 * level, 0.5 + 0.5 * level])
        lower, upper = quantiles(rows.used, *_components(ensemble, rows.means, rows.scales, rows.dof), tails)
    return Trace(rows.mean, rows.std, lower, upper, rows.log_score, rows.used)


class _Rows(NamedTuple):
    """Room for what a chunk of rows shows; shapes as in the functions that fill it."""

    means: Float
    variances: Float
    log_scores: Float
    scales: Float
    dof: Float
    used: Float
    log_score: Float
    mean: Float
    std: Float


class _Who(NamedTuple):
    """Which belief and rung an expert has, which experts are alive, which beliefs have one."""

    belief_of: Int
    rung_of: Int
    alive: Bool
    active: Bool


@compiled
def _few_rows(ensemble: Ensemble, state: State, who: _Who, x: Float, y: Float, rows: _Rows) -> None:
    """A handful of rows in one compiled call: quick, and never interrupted halfway."""
    blocks.step_rows(
        x,
        y,
        ensemble.frequencies,
        ensemble.drift_ratio,
        who.active,
        state.matrix,
        state.vector,
        rows.means,
        rows.variances,
    )
    _weigh(ensemble, state, who, y, rows)


def _many_rows(ensemble: Ensemble, state: State, who: _Who, x: Float, y: Float, rows: _Rows, n_threads: int) -> None:
    """Kernel by kernel in blocks, then the meta-learner over the table of scores."""
    tasks = []
    for k, frequencies in enumerate(ensemble.frequencies):
        own = slice(k * ensemble.n_drifts, (k + 1) * ensemble.n_drifts)
        if who.active[own].any():
            what = x, y, frequencies, ensemble.drift_ratio[own], who.active[own], state.matrix[own], state.vector[own]
            tasks.append(partial(blocks.replay_kernel, *what, rows.means[own], rows.variances[own]))
    run_all(tasks, n_threads)
    _weigh(ensemble, state, who, y, rows)


@compiled
def _weigh(ensemble: Ensemble, state: State, who: _Who, y: Float, rows: _Rows) -> None:
    """Score the experts, learn their noise, weigh them, and sum the mixture up."""
    noise.score_rows(
        rows.means,
        rows.variances,
        y,
        who.belief_of,
        who.rung_of,
        ensemble.forgetting,
        ensemble.tails,
        state.noise_shape,
        state.noise_scale,
        who.alive,
        rows.log_scores,
        rows.scales,
        rows.dof,
    )
    weights.weigh_rows(
        rows.log_scores,
        state.log_weights,
        ensemble.rule,
        ensemble.transitions,
        ensemble.rate,
        ensemble.shutdown,
        rows.used,
        rows.log_score,
    )
    summarise(rows.used, rows.means, rows.scales, rows.dof, who.belief_of, who.rung_of, rows.mean, rows.std)


@compiled
def summarise(
    used: Float, means: Float, scales: Float, dof: Float, belief_of: Int, rung_of: Int, mean: Float, std: Float
) -> None:
    """Mean and standard deviation of every row's mixture (eq:y_pre_static), into ``mean`` and ``std`` (n, D)."""
    n, n_experts = used.shape
    for t in range(n):
        for d in range(mean.shape[1]):
            centre = 0.0
            for e in range(n_experts):
                centre += used[t, e] * means[belief_of[e], t, d]
            spread = 0.0
            for e in range(n_experts):
                if used[t, e] > 0.0:
                    nu = dof[t, rung_of[e]]
                    factor = 1.0 if math.isinf(nu) else (nu / (nu - 2.0) if nu > 2.0 else math.inf)
                    gap = means[belief_of[e], t, d] - centre
                    spread += used[t, e] * (factor * scales[t, e, d] ** 2 + gap * gap)
            mean[t, d] = centre
            std[t, d] = math.sqrt(spread)


def _alive(ensemble: Ensemble, state: State) -> Bool:
    """Experts that have not been shut down."""
    if ensemble.rule != weights.BAYES:
        return np.ones(ensemble.n_experts, dtype=bool)
    return state.log_weights > -np.inf


def _active(ensemble: Ensemble, state: State) -> Bool:
    """Beliefs with an expert alive; the others cost nothing any more."""
    return np.asarray(_alive(ensemble, state).reshape(len(ensemble.drift_ratio), -1).any(axis=1))


def _components(ensemble: Ensemble, means: Float, scales: Float, dof: Float) -> tuple[Float, Float, Float]:
    """Centres, scales and degrees of freedom of every row's mixture, each (n, n_experts, D)."""
    loc = np.ascontiguousarray(means.transpose(1, 0, 2)[:, ensemble.belief_of])
    shape = np.broadcast_to(dof[:, ensemble.rung_of, None], scales.shape)
    return loc, scales, np.ascontiguousarray(shape)
