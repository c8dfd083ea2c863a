"""The driver: features shared, the inactive skipped, blocks and rows alike, kernels of any size side by side."""

from __future__ import annotations

import numpy as np
import pytest
from core.builders import Kind, assert_close, assert_same_predictions, at_once, build, one_by_one, stream
from numpy.testing import assert_array_equal
from oracles import expert

from iegp.core import ensemble as ens
from iegp.core.expert import sweep
from iegp.core.features import feature_rows, joined, waves
from iegp.core.likelihoods import likelihood_code
from iegp.core.state import Active, belief_at, layout_of

DRIFTS = [0.0, 1e-3, 0.5]


def workspace(ensemble, active, x, y):
    return sweep.allocate_workspace(ensemble, Active(np.array(active), np.array(active)), x, y, 0)


@pytest.mark.parametrize("drift", DRIFTS)
def test_a_sweep_of_a_kernel_shares_features_and_skips_the_inactive(drift):
    """Three beliefs of one kernel; the middle one is inactive and keeps its bits."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    ensemble = build(Kind(n_kernels=1, n_frequencies=4, n_outputs=2, drifts=(0.0, 0.2, drift)))
    state = ens.start(ensemble)
    before = [array.copy() for array in belief_at(ensemble.layout, state, 1)]
    work = workspace(ensemble, [True, False, True], x, y)
    work.means[:], work.variances[:] = 7.0, 7.0
    sweep.sweep_kernel(ensemble, state, None, work, sweep.Span(0, 0, 60))
    for b in (0, 2):
        phi = feature_rows(x, ensemble.kernel_basis(0))
        wanted = expert.run(phi, y, ensemble.prior_ratio[b], ensemble.drift[ensemble.layout.features[b]])
        assert_close(work.means[b], wanted.mean, 1e-10)
        assert_close(work.variances[b], wanted.variance, 1e-10)
    assert np.all(work.means[1] == 7.0)
    assert np.all(work.variances[1] == 7.0)
    for array, kept in zip(belief_at(ensemble.layout, state, 1), before, strict=True):
        assert_array_equal(array, kept)


@pytest.mark.parametrize("steps", [1.0, 2.5])
def test_a_row_that_is_learned_after_its_prediction_is_a_sweep_of_it(steps):
    """The prediction changes no belief; what it leaves for learning gives what predicting and learning at once does."""
    ensemble = build(Kind(n_kernels=2, n_frequencies=7, n_outputs=2, drifts=(0.0, 1e-3, 0.2)))
    active = Active(*(np.arange(6) != 4 for _ in range(2)))
    x, y = stream(40, n_outputs=2)
    in_turn, at_a_time = ens.start(ensemble), ens.start(ensemble)
    for t in range(len(x)):
        rows = sweep.Rows(x[t : t + 1], y[t : t + 1], np.array([steps]))
        one, other = (sweep.workspace_for(ensemble, active, rows, 0) for _ in range(2))
        before = in_turn.copy()
        seen = sweep.predict_row(ensemble, in_turn, one)
        for array, kept in zip(in_turn, before, strict=True):
            assert_array_equal(array, kept)
        sweep.sweep_rows(ensemble, at_a_time, None, other)
        assert_close(one.means, other.means, 1e-11)
        assert_close(one.variances, other.variances, 1e-11)
        sweep.learn_row(ensemble, in_turn, one, seen)
    assert_close(in_turn.matrix, at_a_time.matrix, 1e-11)
    assert_close(in_turn.vector, at_a_time.vector, 1e-11)


def test_a_sweep_of_rows_is_a_sweep_of_every_kernel():
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(5, 2)), rng.normal(size=(5, 1))
    ensemble = build(Kind(n_kernels=2, n_frequencies=4, drifts=(0.0, 0.2)))
    by_rows, by_blocks = ens.start(ensemble), ens.start(ensemble)
    active = [True, True, False, True]
    found, wanted = workspace(ensemble, active, x, y), workspace(ensemble, active, x, y)
    sweep.sweep_rows(ensemble, by_rows, None, found)
    for kernel in range(2):
        sweep.sweep_kernel(ensemble, by_blocks, None, wanted, sweep.Span(kernel, 0, 5))
    for name in ("means", "variances"):
        assert_close(getattr(found, name), getattr(wanted, name), 1e-12)
    for name in ("matrix", "vector"):
        assert_close(getattr(by_rows, name), getattr(by_blocks, name), 1e-12)


# --- kernels with different numbers of features ----------------------------------------------------------------------

SIZES = [3, 9, 5]


def uneven(drifts, likelihood):
    """Three kernels of different sizes with two noise models each, or two degrees of sharpness."""
    rng = np.random.default_rng(1)
    forgetting = (None, 0.95) if likelihood == "gaussian" else (None, None)
    ensemble = build(Kind(drifts=drifts, forgetting=forgetting))
    frequencies = [rng.normal(size=(size, 2)) / (1 + k) for k, size in enumerate(SIZES)]
    layout = layout_of(SIZES, len(drifts))
    drift = np.repeat(np.tile(np.array(drifts, dtype=float), len(SIZES)), layout.n_features)
    basis = joined([waves(own) for own in frequencies])
    ensemble = ensemble._replace(basis=basis, layout=layout, drift=drift)
    if likelihood == "gaussian":
        return ensemble
    n_latents = 3 if likelihood == "categorical" else 1
    return ensemble._replace(
        likelihood=likelihood_code(likelihood),
        noise_var=np.ones((ensemble.n_beliefs, n_latents)),
        prior_ratio=0.1 * ensemble.prior_ratio,
        link=np.zeros((ensemble.n_beliefs, n_latents)),
        sharpness=np.array([1.0, 1.5]),
        nodes=np.zeros((n_latents, 0)),
    )


def labelled(likelihood, n=60):
    x, y = stream(n)
    if likelihood == "gaussian":
        return x, y
    return x, np.floor(np.clip(1.0 + 1.5 * y, 0.0, 2.0 if likelihood == "categorical" else 1.0))


@pytest.mark.plain_cases(6)
@pytest.mark.parametrize("learn", [at_once, one_by_one])
@pytest.mark.parametrize("drifts", [(0.0,), (0.02,), (0.0, 0.02)], ids=str)
@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli-logit", "categorical"])
def test_kernels_of_different_sizes_are_each_kernel_alone_with_the_weights_put_together(likelihood, drifts, learn):
    ensemble, (x, y) = uneven(drifts, likelihood), labelled(likelihood)
    whole, state = learn(ensemble, x, y)
    # The share of each kernel in the weights is the exponential of its own log scores, one after the other.
    alone = [learn(ensemble.part(np.array([k])), x, y) for k in range(3)]
    log_scores = np.stack([predictions.log_score for predictions, _ in alone], axis=1)
    before = np.cumsum(log_scores, axis=0) - log_scores
    shares = np.exp(before - np.logaddexp.reduce(before, axis=1)[:, None])
    weights = np.concatenate([shares[:, k : k + 1] * alone[k][0].weights for k in range(3)], axis=1)
    np.testing.assert_allclose(whole.weights, weights, rtol=1e-9, atol=1e-13)
    for name in ("mean", "proba"):
        mixed = sum(shares[:, k : k + 1] * getattr(alone[k][0], name) for k in range(3))
        assert_close(getattr(whole, name), mixed, 1e-10)
    assert_close(whole.log_score, np.logaddexp.reduce(np.log(shares) + log_scores, axis=1), 1e-10)
    assert_array_equal(state.matrix, np.concatenate([own.matrix for _, own in alone]))
    assert_array_equal(state.vector, np.concatenate([own.vector for _, own in alone]))
    assert_array_equal(state.noise_scale, np.concatenate([own.noise_scale for _, own in alone]))


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli-logit"])
def test_kernels_of_different_sizes_in_blocks_rows_and_threads(likelihood):
    ensemble, (x, y) = uneven((0.0, 0.02), likelihood), labelled(likelihood, 150)
    wanted, _ = at_once(ensemble, x, y, level=0.9)
    assert_same_predictions(one_by_one(ensemble, x, y, level=0.9)[0], wanted)
    threaded = ens.learn(ensemble, ens.start(ensemble), x, y, n_threads=2, level=0.9)
    for found, expected in zip(threaded, wanted, strict=True):
        assert_array_equal(found, expected)
    assert ensemble.layout.feature_counts() == "6 to 18"


@pytest.mark.parametrize("likelihood", ["gaussian", "categorical"])
def test_kernels_of_different_sizes_predict_the_next_row(likelihood):
    ensemble, (x, y) = uneven((0.0, 0.02), likelihood), labelled(likelihood)
    _, state = at_once(ensemble, x[:-1], y[:-1])
    if likelihood == "gaussian":
        found = ens.predict(ensemble, state, x[-1:]).mean
    else:
        found = ens.predict_classes(ensemble, state, x[-1:])
    last = ens.learn(ensemble, state, x[-1:], y[-1:])
    assert_close(found, last.mean if likelihood == "gaussian" else last.proba, 1e-9)


def failed_blocks(ensemble, state, n_threads=1):
    before = sweep.debug.n_failed_blocks
    x, y = stream(150)
    ens.learn(ensemble, state, x, y, n_threads=n_threads)
    return sweep.debug.n_failed_blocks - before


@pytest.mark.parametrize("n_threads", [1, 2])
def test_blocks_of_clean_data_always_have_a_factor(n_threads):
    ensemble = build(Kind(n_kernels=2, drifts=(0.0, 1e-3, 0.5)))
    assert failed_blocks(ensemble, ens.start(ensemble), n_threads) == 0


def test_a_block_without_a_factor_is_counted():
    """A covariance that is none: its blocks cannot be factored, and rows are learned one by one."""
    ensemble = build(Kind(n_kernels=1, drifts=(0.5,)))
    state = ens.start(ensemble)
    belief_at(ensemble.layout, state, 0).matrix[:] = -10.0 * np.eye(10)
    assert failed_blocks(ensemble, state) > 0
