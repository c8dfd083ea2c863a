"""Scores: their definitions, their behaviour on constant targets, and messages for bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iegp.errors import InputError
from iegp.evaluate.metrics import coverage, mean_crps, nmse, pit_histogram, pnll, running_nmse


def test_predicting_the_mean_scores_one():
    y = np.random.default_rng(0).normal(size=50)
    assert nmse(y, np.full(50, y.mean())) == pytest.approx(1.0)
    assert nmse(y, y) == 0.0


def test_outputs_are_scored_separately_and_averaged():
    rng = np.random.default_rng(1)
    y, mean = rng.normal(size=(30, 2)) * [1.0, 100.0], rng.normal(size=(30, 2))
    assert nmse(y, mean) == pytest.approx(0.5 * (nmse(y[:, 0], mean[:, 0]) + nmse(y[:, 1], mean[:, 1])))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.floats(-1e3, 1e3), st.floats(1e-2, 1e3), st.integers(0, 1000))
def test_nmse_has_no_units(shift, factor, seed):
    rng = np.random.default_rng(seed)
    y, mean = rng.normal(size=20), rng.normal(size=20)
    assert nmse(shift + factor * y, shift + factor * mean) == pytest.approx(nmse(y, mean), rel=1e-6)


def test_running_nmse_is_the_definition_and_ends_at_nmse():
    rng = np.random.default_rng(2)
    y, mean = rng.normal(size=(12, 2)), rng.normal(size=(12, 2))
    expected = [np.mean(np.mean((y[:t] - mean[:t]) ** 2, axis=0) / np.var(y, axis=0)) for t in range(1, 13)]
    np.testing.assert_allclose(running_nmse(y, mean), expected, rtol=1e-12)
    assert running_nmse(y, mean)[-1] == pytest.approx(nmse(y, mean))


def test_constant_target():
    y = np.full(7, 0.1)  # the computed variance is not zero but rounding noise
    assert nmse(y, y) == 0.0
    assert nmse(y, y + 1e-9) == math.inf
    assert math.isnan(nmse(y, np.full(7, np.nan)))
    np.testing.assert_array_equal(running_nmse([1.0, 1.0, 1.0], [1.0, 2.0, 1.0]), [0.0, math.inf, math.inf])


def test_means_of_scores():
    assert pnll(np.array([-3.0, 1.0])) == 1.0
    assert mean_crps(np.array([[1.0, 2.0], [3.0, 4.0]])) == 2.5


def test_coverage_counts_both_ends_and_not_nan():
    assert coverage([1.0, 2.0, 3.0], [1.0, 0.0, 4.0], [2.0, 2.0, 5.0]) == pytest.approx(2 / 3)
    assert coverage([np.nan, 0.0], [-1.0, -1.0], [1.0, 1.0]) == 0.5


def test_pit_histogram_is_a_density():
    pit = np.random.default_rng(3).random((400, 2))
    histogram = pit_histogram(pit, bins=8)
    assert histogram.mean() == pytest.approx(1.0)
    assert np.all(np.abs(histogram - 1.0) < 5 * np.sqrt(8 / 800))
    np.testing.assert_array_equal(pit_histogram([0.0, 1.0], bins=4), [2.0, 0.0, 0.0, 2.0])


@pytest.mark.parametrize(
    ("score", "arguments", "message"),
    [
        (nmse, ([1.0, 2.0], [[1.0], [2.0]]), "same shape"),
        (running_nmse, ([], []), "at least one row"),
        (nmse, (1.0, 1.0), "at least one row"),
        (coverage, ([1.0], [0.0], [2.0, 3.0]), "upper has shape"),
        (pnll, ([],), "log_score is empty"),
        (mean_crps, ([],), "crps is empty"),
        (pit_histogram, ([1.2],), "between 0 and 1"),
        (pit_histogram, ([np.nan],), "between 0 and 1"),
        (pit_histogram, ([0.5], 0), "bins=0"),
    ],
)
def test_bad_input_is_refused(score, arguments, message):
    with pytest.raises(InputError, match=message):
        score(*arguments)
