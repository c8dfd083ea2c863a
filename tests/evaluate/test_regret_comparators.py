"""Comparators and sequences against brute force and other libraries."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.batch import exact_gp
from oracles.regret import best_switching_sequence as naive_sequence
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, Ridge

from iegp.errors import InputError
from iegp.evaluate.regret import (
    best_expert,
    best_function,
    best_parameter,
    best_switching_sequence,
    functions_on_own_rows,
    gaussian,
    kernel_error,
    logistic,
    n_switches,
    random_feature_twin,
    static_regret,
    switching_regret,
)
from iegp.evaluate.regret.comparators import largest_slope


def rbf(x, scale=1.0):
    return np.exp(-0.5 * ((x[:, None] - x[None, :]) / scale) ** 2)


def test_the_best_function_is_the_mean_of_the_batch_gp():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(25), rng.standard_normal(25)
    gram = 1.7 * rbf(x)
    found = best_function(gram, y, gaussian(0.3))
    mean, _ = exact_gp(gram, gram, np.diag(gram), y, 0.3)
    np.testing.assert_allclose(found.values, mean, rtol=1e-8, atol=1e-10)
    alpha = np.linalg.solve(gram + 0.3 * np.eye(25), y)
    np.testing.assert_allclose(found.coefficients, alpha, rtol=1e-6, atol=1e-8)
    assert found.penalty == pytest.approx(0.5 * alpha @ gram @ alpha, rel=1e-8)


def test_the_best_parameter_is_ridge_regression():
    rng = np.random.default_rng(1)
    phi, y = rng.standard_normal((40, 6)), rng.standard_normal(40)
    found = best_parameter(phi, y, 2.0, gaussian(0.5))
    ridge = Ridge(alpha=0.5 / 2.0, fit_intercept=False).fit(phi, y)
    np.testing.assert_allclose(found.coefficients, ridge.coef_, rtol=1e-8)
    assert found.objective == pytest.approx(found.losses.sum() + ridge.coef_ @ ridge.coef_ / 4.0)


def test_the_best_parameter_for_classes_is_logistic_regression():
    rng = np.random.default_rng(2)
    phi = rng.standard_normal((60, 4))
    y = np.sign(phi[:, 0] + 0.5 * rng.standard_normal(60))
    found = best_parameter(phi, y, 1.5, logistic())
    peer = LogisticRegression(C=1.5, fit_intercept=False, tol=1e-10).fit(phi, y)
    np.testing.assert_allclose(found.coefficients, peer.coef_[0], rtol=1e-4)


def test_the_best_function_for_classes_is_stationary():
    rng = np.random.default_rng(3)
    x = rng.standard_normal(20)
    y = np.sign(np.sin(2 * x) + 0.1)
    gram = 3.0 * rbf(x, 0.7)
    found = best_function(gram, y, logistic())
    np.testing.assert_allclose(gram @ found.coefficients, found.values, atol=1e-6)

    def objective(alpha):
        f = gram @ alpha
        return np.logaddexp(0, -y * f).sum() + 0.5 * alpha @ f

    assert found.objective <= minimize(objective, np.zeros(20)).fun + 1e-6


def test_a_matrix_that_is_no_kernel_is_refused():
    with pytest.raises(InputError, match="eigenvalue"):
        best_function(np.diag([1.0, -1.0]), np.zeros(2), gaussian(1.0))
    with pytest.raises(InputError, match="noise_var"):
        gaussian(0.0)


def test_own_rows_and_twins():
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal(30), rng.standard_normal(30)
    grams = [rbf(x), rbf(x, 3.0)]
    sequence = np.repeat([0, 1, 0], 10)
    found = functions_on_own_rows(grams, y, sequence, gaussian(0.4))
    own = np.flatnonzero(sequence == 1)
    alone = best_function(grams[1][np.ix_(own, own)], y[own], gaussian(0.4))
    np.testing.assert_allclose(found.losses[own], alone.losses)
    frequencies = rng.standard_normal((4000, 1))
    angles = x[:, None] @ frequencies.T
    phi = np.hstack([np.sin(angles), np.cos(angles)]) / np.sqrt(4000)
    whole = best_function(grams[0], y, gaussian(0.4))
    twin = random_feature_twin(phi, whole.coefficients, 1.0)
    error = kernel_error(phi, grams[0])
    assert 0.0 < error < 0.1
    assert np.abs(phi @ twin - whole.values).max() <= error * np.abs(whole.coefficients).sum()
    assert largest_slope(gaussian(0.4), y, whole.values) == pytest.approx(np.abs(whole.coefficients).max())


@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_the_best_sequence_is_that_of_brute_force(n_rows, n_experts, max_switches, seed):
    losses = np.random.default_rng(seed).standard_normal((n_rows, n_experts))
    found = best_switching_sequence(losses, max_switches)
    best = min(
        sum(losses[t, m] for t, m in enumerate(path))
        for path in itertools.product(range(n_experts), repeat=n_rows)
        if n_switches(np.array(path)) <= max_switches
    )
    assert found.running[-1] == pytest.approx(best)
    assert losses[np.arange(n_rows), found.sequence].sum() == pytest.approx(best)
    assert n_switches(found.sequence) <= max_switches


def test_the_best_sequence_of_a_longer_table():
    losses = np.random.default_rng(0).standard_normal((60, 4))
    for s in (0, 1, 5):
        value, path = naive_sequence(losses, s)
        found = best_switching_sequence(losses, s)
        assert found.running[-1] == pytest.approx(value)
        np.testing.assert_array_equal(found.sequence, path)
        for t in (1, 7, 33):
            assert found.running[t - 1] == pytest.approx(naive_sequence(losses[:t], s)[0])


def test_regret_is_a_difference_of_sums():
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal(20), rng.standard_normal(20)
    own = [best_function(rbf(x, s), y, gaussian(1.0)) for s in (0.1, 1.0)]
    losses = rng.random(20)
    assert static_regret(losses, own) == pytest.approx(losses.sum() - own[best_expert(own)].losses.sum())
    table = np.stack([c.losses for c in own], axis=1)
    assert switching_regret(losses, table) == pytest.approx(losses.sum() - table.min(axis=1).sum())
    assert switching_regret(losses, table, 0) == pytest.approx(losses.sum() - table.sum(axis=0).min())
    assert switching_regret(losses, table, 2) >= switching_regret(losses, table, 1)
    with pytest.raises(InputError, match="same rows"):
        static_regret(losses[:5], own)
    with pytest.raises(InputError, match="not a table"):
        best_switching_sequence(losses, 1)
    with pytest.raises(InputError, match="NaN at row 0, expert 1"):
        best_switching_sequence(np.array([[0.0, np.nan]]), 1)
    with pytest.raises(InputError, match="max_switches=-1"):
        best_switching_sequence(table, -1)
