"""The whole ensemble: blocks, single rows and the paper's equations written literally give the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from core.builders import (
    Kind,
    assert_close,
    assert_same_predictions,
    at_once,
    build,
    learn_in_pieces,
    one_by_one,
    stream,
    twin_rule,
    twins,
)
from numpy.testing import assert_allclose, assert_array_equal
from oracles import ensemble as oracle

from iegp.core import ensemble as ens
from iegp.core.state import belief_at

KINDS = [
    Kind(),
    Kind(drifts=(0.02,)),
    Kind(drifts=(0.0, 0.02)),
    Kind(n_outputs=3),
    Kind(drifts=(0.0, 0.02), n_outputs=3, forgetting=(None, 1.0, 0.95)),
    Kind(forgetting=(1.0,)),
    Kind(forgetting=(0.95,), drifts=(0.02,)),
    Kind(rule="switching"),
    Kind(rule="switching", switch="matrix", drifts=(0.0, 0.02), forgetting=(None, 0.95)),
    Kind(rule="stacking", n_outputs=3),
    Kind(rule="stacking", drifts=(0.0, 0.02), forgetting=(0.9, 1.0)),
    Kind(shutdown=1e-3, drifts=(0.0, 0.02)),
    Kind(shutdown=1e-2, n_outputs=3, forgetting=(None, 0.95)),
    Kind(n_kernels=1, forgetting=(None, 1.0)),
]
kinds = pytest.mark.parametrize("kind", KINDS, ids=str)
# The oracle knows no heavy tails; tests/core/expert/test_noise.py has them row by row.
HEAVY = [Kind(forgetting=((0.95, 4.0),)), Kind(rule="switching", forgetting=(None, (0.9, 3.0)), drifts=(0.0, 0.02))]
all_kinds = pytest.mark.parametrize("kind", [*KINDS, *HEAVY], ids=str)
N = 45


def assert_is_the_oracle(trace, wanted):
    assert_close(trace.mean, wanted.mean)
    assert_close(trace.std**2, wanted.std**2)
    assert_allclose(trace.weights, wanted.weights, rtol=1e-8, atol=1e-14)
    assert_close(trace.log_score, wanted.log_score)


@kinds
def test_blocks_and_rows_and_the_naive_transcription_agree_to_1e_8(kind):
    ensemble = build(kind)
    x, y = stream(N, kind.n_columns, kind.n_outputs)
    wanted = oracle.run(x, y, twins(ensemble), twin_rule(ensemble))
    if kind.shutdown > 0.0:
        assert np.any(wanted.weights[-1] == 0.0), "no expert was shut down: this stream tests nothing"
    for learn in (at_once, one_by_one):
        trace, state = learn(ensemble, x, y)
        assert_is_the_oracle(trace, wanted)
        assert_allclose(np.exp(state.log_weights), wanted.final_weights, rtol=1e-8, atol=1e-14)


@all_kinds
def test_any_calls_give_the_same_trace_intervals_included(kind):
    ensemble = build(kind)
    x, y = stream(N, kind.n_columns, kind.n_outputs)
    wanted, _ = at_once(ensemble, x, y, level=0.9)
    for cuts in ([6], [7, 8, 30], [1, 2, 3, 4, 5]):
        assert_same_predictions(learn_in_pieces(ensemble, x, y, cuts, level=0.9)[0], wanted)


@all_kinds
def test_prediction_is_what_the_next_row_is_predicted_with(kind):
    ensemble = build(kind)
    x, y = stream(N, kind.n_columns, kind.n_outputs)
    _, state = at_once(ensemble, x[:-1], y[:-1])
    before = state.copy()
    mixture = ens.predict(ensemble, state, x[-1:])
    for array, copy in zip(state, before, strict=True):
        assert_array_equal(array, copy)
    trace = ens.learn(ensemble, state, x[-1:], y[-1:], level=0.9)
    assert_close(mixture.mean, trace.mean, 1e-9)
    assert_close(mixture.std, trace.std, 1e-9)
    assert_close(mixture.weights, trace.weights, 1e-12)
    lower, upper = mixture.interval(0.9)
    assert_close(lower, trace.lower, 1e-8)
    assert_close(upper, trace.upper, 1e-8)


@pytest.mark.parametrize("kind", [Kind(), Kind(drifts=(0.0, 0.02), forgetting=(None, 0.95), n_outputs=3)], ids=str)
def test_long_calls_are_cut_into_chunks_that_do_not_show(kind, monkeypatch):
    ensemble = build(kind)
    x, y = stream(100, kind.n_columns, kind.n_outputs)
    wanted, _ = at_once(ensemble, x, y, level=0.5)
    monkeypatch.setattr(ens, "CHUNK_ROWS", 7)
    assert_same_predictions(at_once(ensemble, x, y, level=0.5)[0], wanted)


def test_experts_are_ordered_by_kernel_then_drift_then_forgetting():
    ensemble = build(Kind(drifts=(0.0, 0.02), forgetting=(None, 1.0, 0.95)))
    assert ensemble.n_experts == 18
    assert_array_equal(ensemble.belief_of, np.repeat(np.arange(6), 3))
    assert_array_equal(ensemble.noise_of, np.tile(np.arange(3), 6))
    assert ensemble.n_drifts == 2


def matrix_of(ensemble, state, b):
    return belief_at(ensemble.layout, state, b).matrix


def dying(kind):
    """A stream on which the first kernel is useless: its experts are gone after 200 rows, long before the end."""
    ensemble = build(kind.but(shutdown=1e-10))
    x = np.random.default_rng(0).normal(size=(260, 2))
    y = np.sin(0.3 * x[:, :1] + 0.2 * x[:, 1:]) + 0.02 * np.random.default_rng(1).normal(size=(260, 1))
    scaled = ensemble.basis.frequencies * np.repeat([20.0, 0.3, 0.3], 5)[:, None]
    return ensemble._replace(basis=ensemble.basis._replace(frequencies=scaled)), x, y


@pytest.mark.parametrize("kind", [Kind(), Kind(drifts=(0.02,)), Kind(forgetting=(None, 1.0))], ids=str)
@pytest.mark.parametrize("size", [1, 30])
def test_shutdown_stops_the_work(kind, size):
    ensemble, x, y = dying(kind)
    _, state = at_once(ensemble, x[:200], y[:200])
    assert np.all(np.isinf(state.log_weights[: len(kind.forgetting)])), "the first kernel must be dead by now"
    frozen = state.copy()
    for start in range(200, 260, size):
        trace = ens.learn(ensemble, state, x[start : start + size], y[start : start + size])
        assert np.all(trace.weights[:, : len(kind.forgetting)] == 0.0)
    for own, kept in zip(*(belief_at(ensemble.layout, s, 0) for s in (state, frozen)), strict=True):
        assert_array_equal(own, kept)
    assert_array_equal(state.noise_scale[: len(kind.forgetting)], frozen.noise_scale[: len(kind.forgetting)])
    assert np.any(matrix_of(ensemble, state, 1) != matrix_of(ensemble, frozen, 1))


def test_a_belief_is_updated_while_one_of_its_noise_models_has_weight():
    ensemble, x, y = dying(Kind(forgetting=(None, 1.0)))
    _, state = at_once(ensemble, x[:200], y[:200])
    state.log_weights[:] = -np.inf
    state.log_weights[1] = 0.0
    frozen = state.copy()
    ens.learn(ensemble, state, x[200:], y[200:])
    assert np.any(matrix_of(ensemble, state, 0) != matrix_of(ensemble, frozen, 0))
    assert np.any(state.noise_scale[1] != frozen.noise_scale[1])
    assert_array_equal(state.noise_scale[0], frozen.noise_scale[0])
    for b in (1, 2):
        assert_array_equal(matrix_of(ensemble, state, b), matrix_of(ensemble, frozen, b))


def test_shutdown_never_revives():
    """After the shutdown the world changes in favour of the dead: with weights by Bayes they stay dead."""
    ensemble, x, y = dying(Kind())
    _, state = at_once(ensemble, x, y)
    assert np.isinf(state.log_weights[0])
    rng = np.random.default_rng(2)
    for _ in range(5):
        trace = ens.learn(ensemble, state, x[:60], 10.0 * rng.normal(size=(60, 1)))
        assert np.all(trace.weights[:, 0] == 0.0)
    assert ens.predict(ensemble, state, x[:3]).weights[0, 0] == 0.0


def test_no_rows_are_no_news():
    ensemble = build(Kind(n_outputs=3))
    state = ens.start(ensemble)
    before = state.copy()
    trace = ens.learn(ensemble, state, np.empty((0, 2)), np.empty((0, 3)), level=0.9)
    assert trace.mean.shape == (0, 3)
    assert trace.lower.shape == (0, 3)
    assert trace.weights.shape == (0, 3)
    for array, copy in zip(state, before, strict=True):
        assert_array_equal(array, copy)


def test_a_copy_of_the_state_goes_its_own_way():
    ensemble = build(Kind(forgetting=(0.9,)))
    x, y = stream(20)
    _, state = at_once(ensemble, x, y)
    copy, frozen = state.copy(), [array.copy() for array in state]
    ens.learn(ensemble, copy, x, y)
    for array, kept in zip(state, frozen, strict=True):
        assert_array_equal(array, kept)


def test_intervals_only_if_asked_for():
    x, y = stream(10)
    trace, _ = at_once(build(Kind()), x, y)
    assert len(trace.lower) == len(trace.upper) == 0


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_intervals_cover_as_often_as_they_say(level):
    """Labels drawn from the model itself, 2,000 rows; four standard errors of a frequency."""
    ensemble = build(Kind(n_kernels=1, n_frequencies=8))
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2000, 2))
    angles = x @ ensemble.kernel_basis(0).frequencies.T
    phi = np.concatenate([np.sin(angles), np.cos(angles)], axis=1) / np.sqrt(8)
    noise_var = ensemble.noise_var[0, 0]
    theta = np.sqrt(ensemble.prior_ratio[0] * noise_var) * rng.normal(size=(16, 1))
    y = phi @ theta + np.sqrt(noise_var) * rng.normal(size=(2000, 1))
    trace, _ = at_once(ensemble, x, y, level=level)
    hit = np.mean((trace.lower <= y) & (y <= trace.upper))
    assert hit == pytest.approx(level, abs=4.0 * np.sqrt(level * (1.0 - level) / 2000))
