"""Several rows together: covariances by hand, draws of functions with the same moments."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import iegp
from iegp.errors import InputError
from iegp.kernels import RBF, Linear

RNG = np.random.default_rng(5)
X = RNG.uniform(-2, 2, size=(80, 1))
Y = np.sin(2 * X[:, 0]) + 0.2 * RNG.normal(size=80)
NEW = np.array([[-2.5], [-1.0], [0.0], [0.1], [3.0]])
FIXED = {"warmup": 0, "prior_var": 1.0, "noise_var": 0.04, "standardize": False, "robust": False, "random_state": 0}


def one_expert(**changes):
    settings = FIXED | {"noise_forgetting": None, "drift_var": 0.0, "n_frequencies": 15} | changes
    return iegp.IEGPRegressor([RBF(1.0)], **settings)


def several(**changes):
    settings = {"n_frequencies": 8, "warmup": 40, "drift_var": (0.0, 1e-2), "random_state": 0}
    return iegp.IEGPRegressor([RBF(1.0), RBF(0.5) + Linear()], **(settings | changes))


def by_hand(model, n_steps, drift):
    """Bayesian linear regression on the expert's own random features."""
    v = model.experts_[0].frequencies

    def features(x):
        return np.hstack([np.sin(x @ v.T), np.cos(x @ v.T)]) / np.sqrt(len(v))

    mean, covariance = np.zeros(2 * len(v)), np.eye(2 * len(v))
    for phi, y in zip(features(X), Y, strict=True):
        covariance = covariance + drift * np.eye(len(covariance))
        gain = covariance @ phi / (phi @ covariance @ phi + 0.04)
        mean, covariance = mean + gain * (y - phi @ mean), covariance - np.outer(gain, phi @ covariance)
    new = features(NEW)
    return new @ mean, new @ (covariance + n_steps * drift * np.eye(len(covariance))) @ new.T


@pytest.mark.parametrize(("drift", "n_steps"), [(0.0, 1), (1e-3, 1), (1e-3, 7)])
def test_covariances_are_those_of_linear_regression_on_the_features(drift, n_steps):
    model = one_expert(drift_var=drift).partial_fit(X, Y)
    mean, wanted = by_hand(model, n_steps, drift)
    found_mean, found = model.predict(NEW, return_cov=True, noise=False, horizon=n_steps)
    assert_allclose(found_mean, mean, atol=1e-8)
    assert_allclose(found, wanted, atol=1e-8)
    _, with_noise = model.predict(NEW, return_cov=True, horizon=n_steps)
    assert_allclose(with_noise - found, 0.04 * np.eye(len(NEW)), atol=1e-10)


@pytest.mark.parametrize(
    "changes", [{}, {"lags": 2}, {"delay": 3}, {"weights": "switching", "switch_prob": 0.1}], ids=str
)
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_the_diagonal_has_the_variances(changes, n_outputs):
    y = Y if n_outputs == 1 else np.column_stack([Y, 5.0 + X[:, 0]])
    model = several(**changes).partial_fit(X, y)
    for noise in (True, False):
        _, std = model.predict(NEW, return_std=True, noise=noise)
        _, covariance = model.predict(NEW, return_cov=True, noise=noise)
        variances = np.moveaxis(np.diagonal(covariance), 0, -1)
        assert_allclose(variances, std**2, rtol=1e-9)
        assert np.all(np.linalg.eigvalsh(np.moveaxis(np.atleast_3d(covariance), -1, 0)) > -1e-10)
    assert np.all(std < model.predict(NEW, return_std=True)[1])


@pytest.mark.parametrize("forgetting", [None, 1.0, [(0.99, 8.0)]], ids=["fixed", "conjugate", "heavy-tailed"])
def test_draws_have_the_moments_of_the_predictions(forgetting):
    model = several(noise_forgetting=forgetting).partial_fit(X, Y)
    n = 20_000
    drawn = {False: model.sample_functions(n, random_state=1)(NEW), True: model.sample_y(NEW, n, random_state=2).T}
    for noise, values in drawn.items():
        mean, covariance = model.predict(NEW, return_cov=True, noise=noise)
        std = np.sqrt(np.diag(covariance))
        assert_allclose(values.mean(axis=0), mean, atol=5 * std.max() / np.sqrt(n))
        assert_allclose(np.cov(values.T) / np.outer(std, std), covariance / np.outer(std, std), atol=0.06)


def test_functions_stay_as_they_were_drawn():
    model = several().fit(X, Y)
    functions = model.sample_functions(3, random_state=0)
    before = functions(NEW)
    assert len(functions) == 3
    assert_array_equal(before, model.sample_functions(3, random_state=0)(NEW))
    model.partial_fit(X, Y + 10.0)
    assert_array_equal(functions(NEW), before)
    assert_allclose(functions(NEW[:2]), before[:, :2], rtol=1e-12)


def test_moments_of_an_expert_are_public():
    model = one_expert().partial_fit(X, Y)
    expert = model.experts_[0]
    v = expert.frequencies
    phi = np.hstack([np.sin(NEW @ v.T), np.cos(NEW @ v.T)]) / np.sqrt(len(v))
    assert_allclose(phi @ expert.mean[:, 0], model.predict(NEW), atol=1e-10)
    assert_allclose(0.04 * phi @ expert.cov @ phi.T, model.predict(NEW, return_cov=True, noise=False)[1], atol=1e-10)


def test_a_snapshot_predicts_and_refuses_to_learn():
    model = several().partial_fit(X, Y)
    taken, before = model.snapshot(), model.predict(NEW)
    model.partial_fit(X, Y + 3.0)
    assert_array_equal(taken.predict(NEW), before)
    for method in (taken.fit, taken.partial_fit, taken.prequential, taken.warm_up):
        with pytest.raises(InputError, match="snapshot"):
            method(X, Y)
    with pytest.raises(InputError, match="snapshot"):
        taken.merge(model)
    assert_array_equal(taken.predict(NEW), before)


@pytest.mark.parametrize("options", [{"n_samples": 0}, {"n_samples": 1.5}, {"horizon": 0}])
def test_bad_numbers_of_functions_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        several().partial_fit(X, Y).sample_functions(**options)


def test_both_kinds_of_spread_are_refused():
    with pytest.raises(InputError, match="return_cov"):
        several().partial_fit(X, Y).predict(NEW, return_std=True, return_cov=True)
