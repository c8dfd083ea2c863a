"""Length scales by evidence: the value is dense algebra, the gradient is its slope, and useless columns are found."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import batch, features

from iegp.core.compute.threads import one_blas_thread
from iegp.core.fitting import length_scales
from iegp.core.fitting.length_scales import fit_length_scales, negative_log_evidence
from iegp.core.kernels import RBF, Matern


@pytest.fixture(autouse=True)
def _one_blas_thread():
    """As in the library: small matrices are slower on several threads."""
    with one_blas_thread():
        yield


RELATIVES = {
    "rbf": (RBF(), features.rbf),
    "matern32": (Matern(nu=1.5), lambda x, z, s: features.matern(x, z, s, 1.5)),
    "matern52": (Matern(nu=2.5), lambda x, z, s: features.matern(x, z, s, 2.5)),
}
relatives = pytest.mark.parametrize("name", RELATIVES)


def rows(n=30, d=3, n_outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, np.sin(x @ rng.normal(size=(d, n_outputs))) + 0.2 * rng.normal(size=(n, n_outputs))


@relatives
def test_value_is_minus_the_dense_log_evidence(name):
    kernel, twin = RELATIVES[name]
    x, y = rows()
    scales = np.array([0.5, 1.0, 3.0])
    found, _ = negative_log_evidence(kernel, x, y, np.log([*scales, 1.7, 0.2]))
    covariance = 1.7 * twin(x, x, scales) + 0.2 * np.eye(len(x))
    wanted = -sum(batch.gaussian_log_density(column, np.zeros(len(x)), covariance) for column in y.T)
    assert found == pytest.approx(wanted, rel=1e-10)


@relatives
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_gradient_is_the_slope_by_finite_differences(name, n_outputs):
    kernel, _ = RELATIVES[name]
    x, y = rows(n_outputs=n_outputs)
    x[5] = x[4]  # two rows at distance zero
    point = np.array([-0.5, 0.1, 0.9, 0.4, -1.2])

    def value(p):
        return negative_log_evidence(kernel, x, y, p)[0]

    _, gradient = negative_log_evidence(kernel, x, y, point)
    step = 1e-5 * np.eye(5)
    slopes = [(value(point + h) - value(point - h)) / 2e-5 for h in step]
    assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-5)


@relatives
def test_columns_that_do_not_matter_get_long_scales(name):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(120, 4))
    y = np.sin(2.0 * x[:, :1]) + x[:, 2:3] ** 2 / 3.0 + 0.1 * rng.normal(size=(120, 1))
    scales = fit_length_scales(RELATIVES[name][0], x, y, shared=False)
    assert scales.shape == (4,)
    assert min(scales[1], scales[3]) > 5.0 * max(scales[0], scales[2])


@relatives
def test_one_scale_for_all_if_shared(name):
    x, y = rows(n=80)
    scales = fit_length_scales(RELATIVES[name][0], x, y, shared=True)
    assert np.all(scales == scales[0])
    assert np.all(scales > 0)


def test_fitted_scales_beat_their_neighbours():
    x, y = rows(n=60, d=2, n_outputs=1)
    scales = fit_length_scales(RBF(), x, y, shared=True)

    def penalised(log_scale):
        """The same objective with signal and noise profiled out on a grid."""
        away = (log_scale - 0.5 * np.log(2.0)) / length_scales.LENGTH_SCALE_SPREAD
        grid = [(a, b) for a in np.linspace(-2, 3, 9) for b in np.linspace(-5, 0, 9)]
        full = np.full(2, log_scale)
        return 0.5 * away**2 + min(negative_log_evidence(RBF(), x, y, np.array([*full, a, b]))[0] for a, b in grid)

    best = penalised(float(np.log(scales[0])))
    assert best <= penalised(float(np.log(scales[0])) + 0.7)
    assert best <= penalised(float(np.log(scales[0])) - 0.7)


DEGENERATE = {
    "constant labels": (np.random.default_rng(0).normal(size=(40, 2)), np.zeros((40, 1))),
    "constant inputs": (np.zeros((40, 2)), np.random.default_rng(0).normal(size=(40, 1))),
    "two rows": (np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[1.0], [-1.0]])),
    "repeated rows": (np.tile([[0.3, 0.1]], (40, 1)), np.ones((40, 1))),
    "no noise": (np.linspace(-1, 1, 60)[:, None] * [1.0, 1.0], np.sin(3 * np.linspace(-1, 1, 60))[:, None]),
}


@relatives
@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("shared", [True, False])
def test_degenerate_rows_give_finite_positive_scales(name, case, shared):
    scales = fit_length_scales(RELATIVES[name][0], *DEGENERATE[case], shared=shared)
    assert np.all(np.isfinite(scales))
    assert np.all(scales > 0)


def test_at_a_singular_covariance_the_search_steps_back():
    x = np.zeros((30, 1))
    value, gradient = negative_log_evidence(RBF(), x, np.ones((30, 1)), np.log([1.0, 1e5, 1e-30]))
    assert value > 1e20
    assert_allclose(gradient, 0.0)


def test_long_warm_ups_are_thinned_evenly(monkeypatch):
    seen = []

    def spy(*arguments):
        seen.append(len(arguments[1]))
        return 0.0, np.zeros(3)

    monkeypatch.setattr(length_scales, "negative_log_evidence", spy)
    fit_length_scales(RBF(), *rows(n=2000, d=1, n_outputs=1), shared=False)
    assert set(seen) == {length_scales.LENGTH_SCALE_ROWS}
