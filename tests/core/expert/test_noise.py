"""Learned noise: the oracle's conjugate recursion for any noise model, dead experts and absurd labels included."""

from __future__ import annotations

import math

import numpy as np
import pytest
from core.builders import Kind, assert_close, build, start_shape
from numpy.testing import assert_allclose, assert_array_equal
from oracles import noise as oracle
from scipy import stats

from iegp.core import ensemble as ens
from iegp.core.compute.tolerances import NOISE_FLOOR
from iegp.core.expert import noise, sweep
from iegp.core.state import Active

# Fixed, exact Bayes, two that forget, and two with heavy tails (one so heavy that its variance is infinite).
LADDER = np.array([np.nan, 1.0, 0.98, 0.6, 0.95, 0.9])
TAILS = np.array([np.nan, np.nan, np.nan, np.nan, 4.0, 1.5])
N_NOISE, N_EXPERTS = 6, 12
BELIEF_OF, NOISE_OF = np.repeat(np.arange(2), N_NOISE), np.tile(np.arange(N_NOISE), 2)


def table(n=30, n_outputs=2, seed=0):
    """Means (2 beliefs, n, D), variances, labels, noise levels (12 experts, D)."""
    rng = np.random.default_rng(seed)
    levels = np.repeat(rng.uniform(0.1, 2.0, size=(2, n_outputs)), N_NOISE, axis=0)
    return rng.normal(size=(2, n, n_outputs)), rng.uniform(1, 4, size=(2, n)), rng.normal(size=(n, n_outputs)), levels


def begin(levels):
    return noise.start(LADDER, TAILS, NOISE_OF, levels)


def score(means, variances, y, levels, alive=None, state=None):
    state = begin(levels) if state is None else state
    alive = np.ones(N_EXPERTS, dtype=bool) if alive is None else alive
    ensemble = build(Kind(n_kernels=2, n_outputs=y.shape[1]))._replace(forgetting=LADDER, tails=TAILS)
    whole = ens.start(ensemble)._replace(noise_shape=state.shape, noise_scale=state.scale)
    active = Active(alive, np.ones(2, dtype=bool))
    work = sweep.allocate_workspace(ensemble, active, np.zeros((len(y), 2)), y, 0)
    work = work._replace(means=means, variances=variances)
    noise.score_rows(ensemble, whole, work)
    return (work.log_scores, work.scales, work.dof), state


def heavy_tailed(means, variances, y, level, rho, tail):
    """Scores (n,) and scales (n, D) row by row, from the description: an outlier counts little."""
    scale2 = level * (tail - 2.0) / tail if tail > 2.0 else level.copy()
    scores, scales = np.zeros(len(y)), np.empty_like(y)
    for t in range(len(y)):
        for d in range(y.shape[1]):
            scales[t, d] = math.sqrt(scale2[d] * variances[t])
            scores[t] += stats.t.logpdf(y[t, d], tail, means[t, d], scales[t, d])
            square = (y[t, d] - means[t, d]) ** 2 / variances[t]
            weight = (tail + 1.0) / (tail + square / scale2[d])
            scale2[d] = rho * scale2[d] + (1.0 - rho) * weight * square
    return scores, scales


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_scores_are_the_oracle_s(n_outputs):
    means, variances, y, levels = table(n_outputs=n_outputs)
    (scores, scales, dof), state = score(means, variances, y, levels)
    for e in range(N_EXPERTS):
        b, rho, tail = BELIEF_OF[e], LADDER[NOISE_OF[e]], TAILS[NOISE_OF[e]]
        if not np.isnan(tail):
            wanted, spread = heavy_tailed(means[b], variances[b], y, levels[e], rho, tail)
            assert np.all(dof[:, NOISE_OF[e]] == tail)
            assert_allclose(scales[:, e], spread, rtol=1e-11)
        elif np.isnan(rho):
            spread = np.sqrt(np.outer(variances[b], levels[e]))
            wanted = stats.norm.logpdf(y, means[b], spread).sum(axis=1)
            assert np.all(np.isinf(dof[:, NOISE_OF[e]]))
            assert_allclose(scales[:, e], spread, rtol=1e-12)
        else:
            each, last = oracle.run(means[b], variances[b], y, start_shape(rho), levels[e], rho)
            wanted = each.sum(axis=1)
            assert state.shape[NOISE_OF[e]] == pytest.approx(last.shape, rel=1e-12)
            assert_allclose(state.scale[e], last.scale, rtol=1e-12)
        assert_close(scores[:, e], wanted, 1e-11)


def test_rows_one_by_one_are_rows_at_once():
    means, variances, y, levels = table()
    (scores, scales, dof), wanted = score(means, variances, y, levels)
    state, parts = None, []
    for t in range(len(y)):
        one = np.ascontiguousarray(means[:, t : t + 1]), np.ascontiguousarray(variances[:, t : t + 1]), y[t : t + 1]
        part, state = score(*one, levels, state=state)
        parts.append(part)
    for found, all_at_once in zip(zip(*parts, strict=True), (scores, scales, dof), strict=True):
        assert_array_equal(np.concatenate(found), all_at_once)
    assert_array_equal(state.scale, wanted.scale)


def test_scale_and_dof_are_those_of_the_next_prediction():
    means, variances, y, levels = table()
    _, state = score(means[:, :-1].copy(), variances[:, :-1].copy(), y[:-1], levels)
    level = np.vectorize(noise.squared_scale)(state.scale, state.shape[NOISE_OF][:, None])
    dof = np.vectorize(noise.next_dof)(state.shape, LADDER, TAILS)
    (_, scales, used), _ = score(means, variances, y, levels)
    assert_allclose(scales[-1], np.sqrt(level * variances[BELIEF_OF, -1][:, None]), rtol=1e-12)
    assert_allclose(used[-1], dof, rtol=1e-12)


def test_start_is_where_the_shape_settles():
    state = begin(np.ones((N_EXPERTS, 1)))
    assert_allclose(state.shape, [np.inf, 0.5 * noise.START_ROWS, 25.0, 1.25, np.inf, np.inf])
    assert_allclose(noise.level(state, TAILS, NOISE_OF), 1.0)
    means, variances, y, levels = table(n=50)
    _, after = score(means, variances, y, levels)
    assert_allclose(after.shape[2:4], [25.0, 1.25], rtol=1e-12)
    assert after.shape[1] == pytest.approx(0.5 * noise.START_ROWS + 25.0)


def test_the_noise_is_found_and_followed():
    """Level 4 for 3,000 rows, then 0.25: exact Bayes averages, forgetting follows. Sampling error of 50 rows: 20 %."""
    rng = np.random.default_rng(1)
    y = rng.normal(size=(6000, 1)) * np.repeat([2.0, 0.5], 3000)[:, None]
    state = begin(np.ones((N_EXPERTS, 1)))
    score(np.zeros((2, 6000, 1)), np.ones((2, 6000)), y, None, state=state)
    level = noise.level(state, TAILS, NOISE_OF)[:N_NOISE, 0]
    assert level[0] == 1.0
    assert level[1] == pytest.approx(2.125, rel=0.1)
    assert level[2] == pytest.approx(0.25, rel=0.6)


def test_the_dead_are_not_scored_and_learn_nothing():
    means, variances, y, levels = table()
    alive = np.arange(N_EXPERTS) != 5
    (scores, scales, _), state = score(means, variances, y, levels, alive)
    (wanted, _, _), _ = score(means, variances, y, levels)
    assert np.all(scores[:, 5] == -np.inf)
    assert np.all(np.isfinite(scales))
    assert_array_equal(np.delete(scores, 5, axis=1), np.delete(wanted, 5, axis=1))
    assert_array_equal(state.scale[5], begin(levels).scale[5])


def test_a_stuck_sensor_does_not_drive_the_noise_to_zero():
    n = 20_000
    state = begin(np.ones((N_EXPERTS, 1)))
    (scores, _, _), state = score(np.zeros((2, n, 1)), np.ones((2, n)), np.zeros((n, 1)), None, state=state)
    assert np.all(np.isfinite(scores))
    assert np.all(noise.level(state, TAILS, NOISE_OF) >= NOISE_FLOOR * (1 - 1e-12))


@pytest.mark.parametrize("absurd", [1e100, 1e160, 1e300])
@pytest.mark.filterwarnings("ignore:overflow")  # heard only where compilation is off
def test_one_absurd_label_does_not_turn_the_noise_into_infinity(absurd):
    means, variances, y, levels = table(n=5)
    y[2] = absurd
    (_, scales, _), state = score(means, variances, y, levels)
    assert np.all(np.isfinite(state.scale))
    assert np.all(np.isfinite(scales))


def test_degrees_of_freedom_of_fixed_noise_are_infinite():
    state = begin(np.ones((N_EXPERTS, 1)))
    assert math.isinf(noise.next_dof(state.shape[0], LADDER[0], TAILS[0]))


def test_an_outlier_does_not_widen_heavy_tails():
    """A hundred standard deviations away, once: the conjugate models are shaken, the heavy-tailed one is not."""
    means, variances, y, _ = table(n=30, n_outputs=1)
    means[:], variances[:] = 0.0, 1.0
    quiet, loud = y.copy(), y.copy()
    loud[20] = 100.0
    levels = np.ones((N_EXPERTS, 1))
    widths = [
        noise.level(score(means, variances, labels, levels)[1], TAILS, NOISE_OF)[:, 0] for labels in (quiet, loud)
    ]
    growth = widths[1] / widths[0]
    assert growth[0] == 1.0
    assert growth[2] > 20.0
    assert growth[4] < 1.5
