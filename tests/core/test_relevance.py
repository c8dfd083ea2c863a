"""Relevance of the inputs: by hand for single kernels, and found in data where it is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from iegp import IEGPClassifier, IEGPRegressor
from iegp.core.relevance import input_relevance
from iegp.kernels import RBF, Constant, Laplace, Linear, Periodic


def model_with(*kernels, lags=0, n=4, scale=1.0):
    rng = np.random.default_rng(0)
    fixed = {"prior_var": 1.0, "noise_var": 0.1, "drift_var": (0.0,), "noise_forgetting": (None,)}
    model = IEGPRegressor(kernels=kernels, n_frequencies=3, lags=lags, warmup=0, standardize=False, **fixed)
    return model.partial_fit(scale * rng.normal(size=(n, 3)), rng.normal(size=n)).model_


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [
        (RBF((1.0, 2.0, 4.0)), [16 / 21, 4 / 21, 1 / 21]),
        (RBF(2.0), [1 / 3] * 3),
        (Laplace(2.0, columns=[1]), [0, 1, 0]),
        (Linear(), [1 / 3] * 3),
        (Constant(), [0, 0, 0]),
        (RBF(1.0, columns=[0], prior_var=3.0) + Linear(columns=[2], prior_var=1.0), [0.75, 0, 0.25]),
        (Periodic(2.0, columns=[2]), [0, 0, 1]),
    ],
)
def test_one_kernel(kernel, wanted):
    assert_allclose(input_relevance(model_with(kernel)), wanted, atol=1e-12)


def test_experts_are_averaged_by_weight():
    model = model_with(RBF((1.0, 1e3, 1e3)), RBF((1e3, 1e3, 1.0)))
    weights = np.exp(model.state.log_weights)
    assert_allclose(input_relevance(model), [weights[0], 0.0, weights[1]], atol=1e-5)


def test_lags_come_last():
    found = input_relevance(model_with(RBF(1.0), lags=2))
    assert_allclose(found, [0.2] * 5)
    assert_allclose(input_relevance(model_with(Linear(lags="only"), lags=1)), [0, 0, 0, 1])


def test_the_column_that_matters_is_found():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(150, 3))
    model = IEGPRegressor(kernels=(RBF("per-dimension"), RBF("dimension")), n_frequencies=20, warmup=100, lags=0)
    model.partial_fit(x, np.sin(2.0 * x[:, 1]) + 0.05 * rng.normal(size=150))
    found = input_relevance(model.model_)
    assert found.sum() == pytest.approx(1.0)
    assert found[1] > 0.8


@pytest.mark.parametrize("value", [0.0, 1.0, 7.0, np.nan])
def test_a_column_that_was_constant_has_none(value):
    rng = np.random.default_rng(2)
    x = np.column_stack([rng.normal(size=120), np.full(120, value), np.tile([-1.0, 1.0], 60)])
    y = x[:, 0] + 0.5 * x[:, 2] + 0.1 * rng.normal(size=120)
    for kernel in (RBF("per-dimension"), RBF("dimension") + Linear()):
        model = IEGPRegressor([kernel], n_frequencies=10, warmup=100, random_state=0).partial_fit(x, y)
        found = model.relevance_
        assert found["x1"] == 0.0
        # A column of -1 and 1 has a standard deviation of exactly one, and is not constant.
        assert found["x2"] > 0.05
        assert sum(found.values()) == pytest.approx(1.0)
    given = IEGPRegressor([RBF(1.0)], n_frequencies=5, warmup=100, standardize=False, lags=0).partial_fit(x[:, :1], y)
    assert given.relevance_ == {"x0": 1.0}


def test_estimators_have_it_by_name():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    frame = pd.DataFrame(x, columns=["matters", "does not"])
    kernels = [RBF("per-dimension")]
    model = IEGPRegressor(kernels, n_frequencies=20, warmup=300, lags=2, random_state=0).fit(frame, np.sin(2 * x[:, 0]))
    assert list(model.relevance_) == ["matters", "does not", "lag 1", "lag 2"]
    assert sum(model.relevance_.values()) == pytest.approx(1.0)
    assert model.relevance_["matters"] > 5 * model.relevance_["does not"]
    assert list(IEGPRegressor(kernels, n_frequencies=5, warmup=50).fit(x, x[:, 0]).relevance_) == ["x0", "x1"]


@pytest.mark.plain_cases(0)
def test_lags_are_named_as_they_are_and_once_each():
    rng = np.random.default_rng(0)
    x, label = rng.normal(size=(90, 2)), np.array(["idle", "cut", "jam"])[rng.integers(3, size=90)]
    small = {"n_frequencies": 5, "warmup": 60, "random_state": 0}
    classes = IEGPClassifier([RBF(1.0)], lags=(1, 2, 24), **small).fit(x, label)
    assert list(classes.relevance_) == ["x0", "x1", "lag 1", "lag 2", "lag 24"]
    assert sum(classes.relevance_.values()) == pytest.approx(1.0)
    # An isotropic kernel finds all inputs alike; each lag is three of them, one per class.
    assert_allclose(list(classes.relevance_.values()), np.array([1, 1, 3, 3, 3]) / 11)
    late = IEGPRegressor([RBF(1.0)], lags=2, delay=4, **small).fit(x, np.column_stack([x[:, 0], x[:, 1]]))
    assert list(late.relevance_) == ["x0", "x1", "lag 5", "lag 6"]
