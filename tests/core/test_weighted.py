"""Rows with weights: as a naive transcription predicts them, however they are cut; what weights 0 and 1 mean."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from core.builders import Kind, assert_close, assert_same_predictions, at_once, build, stream, twin_rule, twins
from core.likelihoods.test_likelihoods import TABLE
from numpy.testing import assert_allclose, assert_array_equal
from oracles import weighted as oracle

from iegp.core import ensemble as ens
from iegp.core import weighted
from iegp.core.likelihoods import sites
from iegp.core.predictions import Predictions
from iegp.core.scaling import from_rows
from iegp.core.weighted import WeightedRows

KINDS = [
    Kind(),
    Kind(drifts=(0.0, 0.02), n_outputs=3, forgetting=(None, 1.0, 0.95)),
    Kind(rule="switching", drifts=(0.0, 0.02), forgetting=(None, 0.95)),
    Kind(rule="stacking", drifts=(0.0, 0.02), forgetting=(0.9, 1.0)),
    Kind(shutdown=1e-3, drifts=(0.0, 0.02)),
]
HEAVY = Kind(rule="stacking", forgetting=(None, (0.9, 3.0)), drifts=(0.0, 0.02))
N = 45


def weights_of(n: int, seed: int = 5):
    """Small and large ones, ones and zeros."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.3, rng.choice([0.0, 1.0, 20.0], n), rng.gamma(1.0, size=n))


def learn(ensemble, x, y, w, cuts=(), level=None):
    state, parts = ens.start(ensemble), []
    for a, b in itertools.pairwise([0, *cuts, len(x)]):
        rows = WeightedRows(x[a:b].copy(), y[a:b].copy(), np.ones(b - a), w[a:b].copy())
        parts += list(weighted.learn_chunks(ensemble, state, rows, ens.PassOptions(level=level)))
    return Predictions.concatenate(parts), state


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_blocks_and_rows_are_those_of_the_naive_transcription(kind):
    ensemble = build(kind)
    x, y = stream(N, kind.n_columns, kind.n_outputs)
    w = weights_of(N)
    wanted = oracle.run(x, y, w, twins(ensemble), twin_rule(ensemble))
    for cuts in ((), range(1, N)):
        found, _ = learn(ensemble, x, y, w, cuts)
        assert_close(found.mean, wanted.mean)
        assert_close(found.std**2, wanted.variance)
        assert_close(found.log_score, wanted.log_score)
        assert_allclose(found.weights, wanted.weights, rtol=1e-7, atol=1e-13)


@pytest.mark.parametrize("kind", [KINDS[1], HEAVY], ids=str)
def test_any_calls_give_the_same_intervals_included(kind):
    ensemble = build(kind)
    x, y = stream(N, kind.n_columns, kind.n_outputs)
    wanted, _ = learn(ensemble, x, y, weights_of(N), level=0.9)
    assert_same_predictions(learn(ensemble, x, y, weights_of(N), [7, 8, 30], level=0.9)[0], wanted)


@pytest.mark.parametrize("kind", [*KINDS, HEAVY], ids=str)
def test_weight_one_is_a_row_without_weight(kind):
    ensemble = build(kind)
    x, y = stream(N, kind.n_columns, kind.n_outputs)
    found, state = learn(ensemble, x, y, np.ones(N))
    wanted, plain = at_once(ensemble, x, y)
    assert_same_predictions(found, wanted)
    assert_close(state.noise_scale, plain.noise_scale)
    assert_close(state.noise_shape, plain.noise_shape)


@pytest.mark.parametrize("kind", [*KINDS, HEAVY], ids=str)
def test_the_label_of_a_row_of_weight_zero_is_not_used(kind):
    ensemble = build(kind)
    x, y = stream(N, kind.n_columns, kind.n_outputs)
    w = weights_of(N)
    other = y.copy()
    other[w == 0.0] += 3.0
    (found, state), (changed, after) = (learn(ensemble, x, labels, w) for labels in (y, other))
    assert_array_equal(found.mean, changed.mean)
    assert_array_equal(found.weights, changed.weights)
    for own, its in zip(state, after, strict=True):
        assert_array_equal(own, its)


def test_noise_that_is_hardly_taught_keeps_its_tails():
    ensemble = build(Kind(forgetting=(0.9,)))
    x, y = stream(300, 2, 1)
    _, state = learn(ensemble, x, y, np.full(300, 1e-3))
    assert_allclose(state.noise_shape, 5.0)
    assert np.isfinite(learn(ensemble, x, y, np.full(300, 1e-3))[0].std).all()


@pytest.mark.parametrize("weight", [1e-6, 0.3, 1.0, 7.0, 1e6])
@pytest.mark.parametrize(("kind", "label"), [("bernoulli-logit", 1.0), ("bernoulli-probit", 0.0), ("poisson", 4.0)])
def test_sites_are_those_of_the_weighted_density(kind, label, weight):
    case, link = TABLE[kind], np.array([0.3])
    model = case.label_model(link)._replace(is_weighted=True)
    for mean, var in ((0.4, 2.0), (-2.0, 0.1)):
        slope = np.empty(1)
        row = np.append(case.row(label, 1.0), weight)
        curvature = sites.site(model, row, np.array([mean]), var, slope)
        assert_allclose([slope[0], curvature], oracle.site(kind, label, mean, var, link, weight), rtol=1e-6)


def test_moments_of_the_warm_up_count_with_their_weights():
    x, y = stream(40, 2, 1)
    w = np.random.default_rng(1).integers(0, 4, 40)
    rows = np.repeat(np.arange(40), w)
    for found, wanted in zip(from_rows(x, y, weights=w.astype(float)), from_rows(x[rows], y[rows]), strict=True):
        assert_allclose(found, wanted, rtol=1e-12)
    gaps = x.copy()
    gaps[3:9, 0] = np.nan
    found, wanted = from_rows(gaps, y, weights=w.astype(float)), from_rows(gaps[rows], y[rows])
    assert_allclose(found.x_scale, wanted.x_scale, rtol=1e-12)
    assert_array_equal(from_rows(x, y, weights=np.zeros(40)).y_mean, from_rows(x, y).y_mean)
