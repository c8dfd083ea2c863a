"""One row at a time: both forms of a belief against the oracle's recursion and against the joint Gaussian."""

from __future__ import annotations

import numpy as np
import pytest
from core.builders import assert_close
from numpy.testing import assert_allclose, assert_array_equal
from oracles import batch, expert

from iegp.core.expert import belief
from iegp.core.features import fourier_rows

DRIFTS = [0.0, 1e-3, 0.5]
OUTPUTS = [1, 3]


def rows(n=20, n_frequencies=4, n_outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    return fourier_rows(rng.normal(size=(n, 2)), rng.normal(size=(n_frequencies, 2))), rng.normal(size=(n, n_outputs))


def begin(prior_ratio, drift, n_features, n_outputs):
    return belief.prior(prior_ratio, np.full(n_features, drift), n_outputs)


def step(beliefs, drift, phi, y):
    """Learn every row in turn; one-step-ahead means and variances."""
    means, variances = np.empty_like(y), np.empty(len(y))
    for t in range(len(y)):
        arguments = (phi[t], y[t], means[t])
        if drift > 0.0:
            variances[t] = belief.drifting_row(beliefs, np.full(phi.shape[1], drift), *arguments)
        else:
            variances[t] = belief.static_row(beliefs, *arguments)
    return means, variances


def look(beliefs, drift, phi, n_outputs):
    means, variances = np.empty((len(phi), n_outputs)), np.empty(len(phi))
    if drift > 0.0:
        ahead, steps = belief.Ahead(means, variances), np.ones(len(phi))
        belief.predict_drifting(beliefs, np.full(phi.shape[1], drift), phi, ahead, steps, 1.0)
    else:
        belief.predict_static(beliefs, phi, belief.Ahead(means, variances), 1.0)
    return means, variances


@pytest.mark.parametrize("n_outputs", OUTPUTS)
@pytest.mark.parametrize("drift", DRIFTS)
def test_rows_are_the_oracle_s_recursion(drift, n_outputs):
    phi, y = rows(n_outputs=n_outputs)
    beliefs = begin(5.0, drift, phi.shape[1], n_outputs)
    means, variances = step(beliefs, drift, phi, y)
    wanted = expert.run(phi, y, 5.0, drift)
    assert_close(means, wanted.mean, 1e-11)
    assert_close(variances, wanted.variance, 1e-11)
    mean, covariance = belief.moments(beliefs, np.full(len(beliefs.matrix), drift))
    assert_close(mean, wanted.belief.mean, 1e-10)
    assert_close(covariance, wanted.belief.covariance, 1e-10)


@pytest.mark.parametrize("n_outputs", OUTPUTS)
@pytest.mark.parametrize("drift", DRIFTS)
def test_rows_are_the_joint_gaussian_of_a_random_walk_conditioned(drift, n_outputs):
    phi, y = rows(n=7, n_outputs=n_outputs)
    beliefs = begin(5.0, drift, phi.shape[1], n_outputs)
    means, variances = step(beliefs, drift, phi, y)
    wanted = batch.joint_gaussian(phi, y, np.zeros((8, n_outputs)), 5.0 * np.eye(8), drift)
    assert_close(means, wanted.mean, 1e-10)
    assert_close(variances, wanted.variance, 1e-10)
    mean, covariance = belief.moments(beliefs, np.full(len(beliefs.matrix), drift))
    assert_close(mean, wanted.theta, 1e-10)
    assert_close(covariance, wanted.covariance, 1e-10)


@pytest.mark.parametrize("n_outputs", OUTPUTS)
@pytest.mark.parametrize("drift", DRIFTS)
def test_prediction_is_what_learning_the_row_next_would_have_said(drift, n_outputs):
    phi, y = rows(n=12, n_outputs=n_outputs)
    beliefs = begin(3.0, drift, phi.shape[1], n_outputs)
    step(beliefs, drift, phi[:-1], y[:-1])
    before = [array.copy() for array in beliefs]
    means, variances = look(beliefs, drift, phi[-1:], n_outputs)
    for array, copy in zip(beliefs, before, strict=True):
        assert_array_equal(array, copy)
    next_mean, next_variance = step(beliefs, drift, phi[-1:], y[-1:])
    assert_close(means, next_mean, 1e-11)
    assert_close(variances, next_variance, 1e-11)


@pytest.mark.parametrize("drift", DRIFTS)
def test_the_prior_predicts_zero_with_prior_walk_and_noise(drift):
    phi, _ = rows()
    means, variances = look(begin(5.0, drift, phi.shape[1], 2), drift, phi, 2)
    assert_allclose(means, 0.0)
    assert_allclose(variances, 1.0 + 5.0 + drift, rtol=1e-13)


def test_beliefs_stay_in_their_form():
    phi, y = rows(n=50)
    static, drifting = begin(5.0, 0.0, 8, 1), begin(5.0, 0.1, 8, 1)
    step(static, 0.0, phi, y)
    step(drifting, 0.1, phi, y)
    assert_array_equal(np.tril(static.matrix, -1), 0.0)
    assert np.all(np.diagonal(static.matrix) > 0.0)
    assert_array_equal(drifting.matrix, drifting.matrix.T)


def test_static_factor_is_the_square_root_of_the_information():
    phi, y = rows(n=30, n_outputs=2)
    beliefs = begin(5.0, 0.0, 8, 2)
    step(beliefs, 0.0, phi, y)
    r, z = beliefs
    assert_allclose(r.T @ r, np.eye(8) / 5.0 + phi.T @ phi, rtol=1e-11, atol=1e-12)
    assert_allclose(r.T @ z, phi.T @ y, rtol=1e-10, atol=1e-11)


def test_learning_a_row_does_not_change_the_row():
    phi, y = rows(n=1)
    before = phi.copy(), y.copy()
    for drift in (0.0, 0.1):
        step(begin(5.0, drift, 8, 1), drift, phi, y)
    assert_array_equal(phi, before[0])
    assert_array_equal(y, before[1])
