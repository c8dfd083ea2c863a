"""Many rows after a fit: experts without lags say what the labels before a row may be."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import iegp
from iegp.core import functions
from iegp.core.expected_lags import beliefs_without_lags
from iegp.core.expert.sweep import kernel_features
from iegp.errors import ModelFileError
from iegp.kernels import RBF, Constant, Linear
from iegp.storage import model_file

N, D = 400, 2
KERNELS = [RBF(2.0, lags=False), Linear() + Constant(), Constant()]
FREE = [True, False, True]


def slow_inputs(n=N + 100, last=0.0):
    """Inputs that change slowly, labels that follow them later; the last one before row N is off by so much."""
    rng = np.random.default_rng(3)
    X, y = np.zeros((n, D)), np.zeros(n)
    for t in range(1, n):
        X[t] = 0.97 * X[t - 1] + 0.25 * rng.normal(size=D)
        y[t] = 0.7 * y[t - 1] + 0.3 * (X[t, 0] - 0.5 * X[t, 1] + 0.3 * rng.normal())
    y[N - 1] += last
    return X, y


def fitted(X, y, **changes):
    settings = {"drift_var": 0.0, "lags": 2, "n_frequencies": 8, "warmup": 100, "random_state": 0, "robust": False}
    return iegp.IEGPRegressor(KERNELS, **(settings | changes)).fit(X[:N], y[:N])


def walking(n=N + 100):
    rng = np.random.default_rng(4)
    return rng.normal(size=(n, D)), np.cumsum(0.2 * rng.normal(size=n)) + 0.05 * rng.normal(size=n)


def test_the_kernels_without_lags_are_known():
    model = fitted(*slow_inputs(), drift_var=(0.0, 1e-3))
    assert_array_equal(beliefs_without_lags(model.model_.ensemble, D), np.repeat(FREE, 2))


def by_hand(model, X):
    """(n, beliefs): means in standardised units, each belief's features times its coefficients."""
    online = model.model_
    ensemble, state = online.ensemble, online.state
    rows = np.hstack([online.scaling.standardise_x(X, False), np.zeros((len(X), 2))])
    weights = online.batch.lag_weights

    def means():
        coefficients = [functions.coefficients(ensemble, state, b)[0][:, 0] for b in range(3)]
        return np.column_stack([kernel_features(ensemble, b, rows) @ coefficients[b] for b in range(3)])

    newest = state.recent[::-1, 0]
    rows[:, D:] = (1.0 - weights.sum()) * newest + (means() @ weights)[:, None]
    return means()


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_lags_are_what_experts_without_them_predict(share):
    X, y = slow_inputs()
    model = fitted(X, y)
    online = model.model_
    assert online.batch.lag_weights.sum() > 0.0
    weights = online.batch.lag_weights / online.batch.lag_weights.sum()
    assert weights[1] == 0.0
    online.batch = online.batch._replace(lag_weights=share * weights)
    dist = model.predict_dist(X[N:])
    found = (dist.loc[:, :: len(online.ensemble.forgetting), 0] - online.scaling.y_mean) / online.scaling.y_scale
    assert_allclose(found, by_hand(model, X[N:]), rtol=1e-8, atol=1e-10)
    assert_allclose(model.predict(X[N : N + 3]), model.predict(X[N:])[:3], rtol=1e-10)


def test_one_extreme_label_does_not_move_rows_far_ahead():
    X, y = slow_inputs(last=5.0)
    model = fitted(X, y)
    assert model.model_.batch.lag_weights.sum() == pytest.approx(1.0)
    error = np.mean((model.predict(X[N:]) - y[N:]) ** 2)
    online = model.model_
    online.batch = online.batch._replace(lag_weights=0.0 * online.batch.lag_weights)
    assert error < 0.5 * np.mean((model.predict(X[N:]) - y[N:]) ** 2)


def test_the_last_labels_stay_where_they_say_more():
    model = fitted(*walking())
    assert not model.model_.batch.lag_weights.any()


def test_there_is_nothing_to_expect_without_lags_or_without_experts_that_see_none():
    X, y = slow_inputs()
    assert not fitted(X, y, lags=0).model_.batch.lag_weights.any()
    only = iegp.IEGPRegressor([RBF(1.0)], lags=2, n_frequencies=8, warmup=100, random_state=0).fit(X[:N], y[:N])
    assert not only.model_.batch.lag_weights.any()


def test_functions_have_the_same_lags():
    """Draws and covariances of rows are those of the predictions."""
    X, y = slow_inputs()
    model = fitted(X, y, noise_forgetting=None)
    rows = X[N : N + 5]
    mean, std = model.predict(rows, return_std=True)
    draws = model.sample_functions(4000, random_state=0)
    assert_allclose(draws(rows).mean(axis=0), mean, atol=0.05 * np.std(y))
    assert_allclose(np.sqrt(np.diag(model.predict(rows, return_cov=True)[1])), std, rtol=1e-8)
    near = model.sample_functions(4000, horizon=1, random_state=0)
    assert_allclose(near(rows).mean(axis=0), model.predict(rows, horizon=1), atol=0.05 * np.std(y))


def test_files_hold_them_and_older_files_have_none(tmp_path):
    X, y = slow_inputs()
    model = fitted(X, y)
    path = tmp_path / "model.iegp"
    model.save(path)
    assert_array_equal(iegp.load(path).predict(X[N:]), model.predict(X[N:]))
    header, arrays = model_file.read(path)
    name = next(key for key in arrays if key.endswith("batch.lag_weights"))
    weights = arrays.pop(name)
    model_file.write(path, header, arrays)
    online = model.model_
    online.batch = online.batch._replace(lag_weights=np.zeros(3))
    assert_array_equal(iegp.load(path).predict(X[N:]), model.predict(X[N:]))
    for wrong in (weights[::-1] + np.array([0.0, 0.1, 0.0]), 3.0 * weights, weights[:2], -weights):
        model_file.write(path, header, arrays | {name: wrong})
        with pytest.raises(ModelFileError, match="lag_weights"):
            iegp.load(path)


def test_two_outputs():
    X, y = slow_inputs()
    both = np.column_stack([y, -2.0 * y + 1.0])
    model = fitted(X, both)
    assert model.model_.batch.lag_weights.sum() > 0.0
    found = model.predict(X[N:])
    assert_allclose(found[:, 1], 1.0 - 2.0 * found[:, 0], atol=0.3)
