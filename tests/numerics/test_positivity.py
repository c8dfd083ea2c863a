"""Promise 5, first half: beliefs stay positive, however long, repetitive, large or certain the stream."""

from __future__ import annotations

import numpy as np
import pytest
from core.builders import Kind, build
from numpy.testing import assert_array_equal

from iegp.core import ensemble as ens
from iegp.core.predictions import Predictions
from iegp.core.state import belief_at

NOISE_VAR = 0.01


def ordinary(n):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    return x, np.sin(x[:, :1]) + 0.1 * rng.normal(size=(n, 1))


def repeated(n):
    x, y = ordinary(n)
    return np.ascontiguousarray(np.resize(x[:3], x.shape)), y


def same(n):
    x, _ = ordinary(n)
    return np.ascontiguousarray(np.resize(x[:1], x.shape)), np.ones((n, 1))


def constant_column(n):
    x, y = ordinary(n)
    x[:, 0] = 7.0
    return x, y


def huge_inputs(n):
    x, y = ordinary(n)
    return 1e8 * x, y


def huge_labels(n):
    x, y = ordinary(n)
    return x, 1e8 * y


def tiny_inputs(n):
    x, y = ordinary(n)
    return 1e-8 * x, y


STREAMS = [ordinary, repeated, same, constant_column, huge_inputs, huge_labels, tiny_inputs]
DRIFTS = [0.0, 1e-8, 1e-3, 10.0]
RATIOS = [1e12, 1e8, 1.0, 1e-6]  # prior over noise: noise over prior from 1e-12 to 1e6


def one_expert(prior_ratio, drift, flatness=1.0):
    ensemble = build(Kind(n_kernels=1, drifts=(drift,)))
    return ensemble._replace(
        basis=ensemble.basis._replace(frequencies=flatness * ensemble.basis.frequencies),
        prior_ratio=np.array([prior_ratio]),
        noise_var=np.array([[NOISE_VAR]]),
    )


def assert_positive(ensemble, state, trace):
    assert np.all(np.isfinite(trace.mean))
    assert np.all(np.isfinite(trace.log_score))
    assert np.all(trace.std**2 >= NOISE_VAR * (1.0 - 1e-12)), "less than the noise"
    matrix = belief_at(ensemble.layout, state, 0).matrix
    assert np.all(np.isfinite(matrix))
    if ensemble.drifts[0]:
        assert_array_equal(matrix, matrix.T)
        assert np.linalg.eigvalsh(matrix)[0] > 0.0
    else:
        assert np.all(np.diagonal(matrix) > 0.0)


def learn(ensemble, x, y, size=None):
    state = ens.start(ensemble)
    size = len(x) if size is None else size
    traces = [ens.learn(ensemble, state, x[i : i + size], y[i : i + size]) for i in range(0, len(x), size)]
    return state, Predictions.concatenate(traces)


@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("prior_ratio", RATIOS)
def test_beliefs_stay_positive_over_1e5_rows(prior_ratio, drift):
    ensemble = one_expert(prior_ratio, drift)
    assert_positive(ensemble, *learn(ensemble, *ordinary(100_000)))


@pytest.mark.parametrize("make", STREAMS)
@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("prior_ratio", RATIOS)
def test_beliefs_stay_positive_on_odd_streams(prior_ratio, drift, make):
    ensemble = one_expert(prior_ratio, drift)
    assert_positive(ensemble, *learn(ensemble, *make(10_000)))


@pytest.mark.parametrize("make", STREAMS)
@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("flatness", [1e-3, 1e3])
def test_beliefs_of_the_flattest_and_the_roughest_kernel_stay_positive(flatness, drift, make):
    """Ends of the paper's dictionary, at the largest ratio that the evidence may choose."""
    ensemble = one_expert(1e8, drift, flatness)
    assert_positive(ensemble, *learn(ensemble, *make(5_000)))


@pytest.mark.parametrize("make", [ordinary, repeated, huge_labels])
@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("prior_ratio", [1e12, 1e-6])
def test_beliefs_stay_positive_row_by_row(prior_ratio, drift, make):
    ensemble = one_expert(prior_ratio, drift)
    assert_positive(ensemble, *learn(ensemble, *make(2_000), size=1))


@pytest.mark.parametrize("drift", [0.0, 1e-3])
def test_blocks_and_rows_still_agree_after_many_rows(drift):
    ensemble = one_expert(1e4, drift)
    x, y = ordinary(5_000)
    at_once, one_by_one = learn(ensemble, x, y)[1], learn(ensemble, x, y, size=1)[1]
    np.testing.assert_allclose(at_once.mean, one_by_one.mean, atol=1e-9)
    np.testing.assert_allclose(at_once.std, one_by_one.std, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("make", [ordinary, repeated])
@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("prior_ratio", RATIOS)
def test_beliefs_stay_positive_over_1e6_rows(prior_ratio, drift, make):
    ensemble = one_expert(prior_ratio, drift)
    assert_positive(ensemble, *learn(ensemble, *make(1_000_000)))
