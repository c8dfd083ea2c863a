"""Units: the user's come back, whatever they are; the spread is that of y, noise included."""

from __future__ import annotations

import numpy as np
import pytest
from contracts.models import same_bits, small, stream

from iegp.kernels import RBF, Laplace, Matern

X, Y = stream(200)
# Before the second row the units of y are unknown: only later predictions can follow them.
LATER = slice(2, None)


def close(a: np.ndarray, b: np.ndarray, size: float) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8 * size)


@pytest.mark.parametrize("weights", ["stacking", "bayes", "switching"])
@pytest.mark.parametrize(("a", "b"), [(3.7, 0.0), (1e-4, 2e-4), (-250.0, 1e3), (1e9, -3e9), (0.125, 5.0)])
def test_affine_maps_of_y_map_the_predictions(a, b, weights):
    plain, mapped = small(weights=weights), small(weights=weights)
    run, run_ab = plain.prequential(X, Y), mapped.prequential(X, a * Y + b)
    size = abs(a)
    close(run_ab.mean[LATER], a * run.mean[LATER] + b, size)
    close(run_ab.std[LATER], size * run.std[LATER], size)
    ends = (run.lower, run.upper) if a > 0 else (run.upper, run.lower)
    close(run_ab.lower[LATER], a * ends[0][LATER] + b, size)
    close(run_ab.upper[LATER], a * ends[1][LATER] + b, size)
    close(run_ab.log_score[LATER], run.log_score[LATER] - np.log(size), 1.0)
    close(run_ab.weights[LATER], run.weights[LATER], 1.0)

    dist, dist_ab = plain.predict_dist(X), mapped.predict_dist(X)
    close(dist_ab.mean, a * dist.mean + b, size)
    close(dist_ab.std, size * dist.std, size)
    close(dist_ab.logpdf(a * Y + b), dist.logpdf(Y) - np.log(size), 1.0)
    close(dist_ab.crps(a * Y + b), size * dist.crps(Y), size)


def test_powers_of_two_change_no_bit():
    run, scaled = small().prequential(X, Y), small().prequential(X, 1024.0 * Y)
    assert same_bits(scaled.mean[LATER] / 1024.0, run.mean[LATER])
    assert same_bits(scaled.weights[LATER], run.weights[LATER])


def test_scores_of_several_outputs_add_up_in_their_own_units():
    Y2 = np.stack([Y, np.cos(X[:, 1]) + 0.3 * Y], axis=1)
    run, mapped = small().prequential(X, Y2), small().prequential(X, Y2 * [10.0, 0.01] + [0.0, 7.0])
    close(mapped.log_score[LATER], run.log_score[LATER] - np.log(10.0) - np.log(0.01), 1.0)
    close(mapped.mean[LATER], run.mean[LATER] * [10.0, 0.01] + [0.0, 7.0], 10.0)


@pytest.mark.parametrize(
    "kernels", [None, [RBF("per-dimension"), Matern("evidence"), Laplace("dimension")]], ids=["fixed", "fitted"]
)
def test_scaling_and_shifting_columns_changes_nothing(kernels):
    model = {} if kernels is None else {"kernels": kernels}
    Z = X * [1e3, 0.02, 7.0] + [5.0, -1.0, 1e4]
    run, scaled = small(**model).prequential(X, Y), small(**model).prequential(Z, Y)
    for field in ("mean", "std", "log_score", "weights"):
        mine, theirs = getattr(scaled, field)[LATER], getattr(run, field)[LATER]
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-6, err_msg=field)


def test_without_standardising_units_matter():
    run, scaled = (small(standardize=False).prequential(factor * X, Y) for factor in (1.0, 10.0))
    assert not np.allclose(run.mean, scaled.mean, atol=1e-3)


@pytest.mark.parametrize("noise", [0.05, 0.5])
def test_std_includes_the_observation_noise(noise):
    """Far into a stream the function is known: the std of y is the noise's, and 95 % of labels are inside."""
    rng = np.random.default_rng(1)
    rows = rng.uniform(-2, 2, size=(3000, 1))
    labels = 10.0 * np.sin(rows[:, 0]) + noise * rng.standard_normal(3000)
    model = small(drift_var=0.0, n_frequencies=20, noise_forgetting=1.0, warmup=1000).fit(rows[:2000], labels[:2000])
    mean, std = model.predict(rows[2000:], return_std=True, horizon=1)
    np.testing.assert_allclose(std.mean(), noise, rtol=0.15)
    assert np.std(mean - 10.0 * np.sin(rows[2000:, 0])) < 0.5 * noise
    lower, upper = model.predict_dist(rows[2000:], horizon=1).interval(0.95)
    # 1000 labels: 0.95 ± 4.4 standard errors.
    assert 0.92 < np.mean((lower <= labels[2000:]) & (labels[2000:] <= upper)) < 0.98


def test_std_is_at_least_the_noise_of_the_experts():
    model = small(standardize=False, prior_var=1.0, noise_var=0.04, noise_forgetting=None, warmup=0).fit(X, Y)
    assert model.predict(X, return_std=True)[1].min() > 0.2


def test_predict_returns_what_predict_dist_says():
    model = small().fit(X, Y)
    mean, std = model.predict(X, return_std=True)
    dist = model.predict_dist(X)
    assert same_bits(mean, dist.mean)
    assert same_bits(std, dist.std)
    assert same_bits(mean, model.predict(X))
    lower, upper = dist.interval(0.9)
    np.testing.assert_allclose(dist.cdf(lower), 0.05, atol=1e-10)
    np.testing.assert_allclose(dist.cdf(upper), 0.95, atol=1e-10)
