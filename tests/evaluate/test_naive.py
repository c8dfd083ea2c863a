"""Naive forecasts equal a plain loop and use no label before it is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from iegp.errors import InputError
from iegp.evaluate.naive import previous_label, running_count_mean, running_frequencies, running_mean

CLASSES = ["sky", "grass", "path"]
labels = st.lists(st.sampled_from(CLASSES), min_size=1, max_size=30)
counts = st.lists(st.integers(0, 50), min_size=1, max_size=30)


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("skip", [2, 5])
def test_it_is_mean_and_spread_of_all_labels_before(shift, skip):
    y = np.random.default_rng(0).normal(size=40) + shift
    run = running_mean(y, skip)
    for t in range(skip, len(y)):
        mean, std = y[:t].mean(), y[:t].std()
        assert_allclose(run.mean[t - skip], mean, rtol=1e-12)
        assert_allclose(run.std[t - skip], std, rtol=1e-8)
        assert_allclose(run.log_score[t - skip], stats.norm.logpdf(y[t], mean, std), rtol=1e-6)
    assert_allclose(run.upper - run.mean, stats.norm.ppf(0.975) * run.std, rtol=1e-6)
    assert_allclose(run.mean - run.lower, stats.norm.ppf(0.975) * run.std, rtol=1e-6)


@given(labels)
def test_frequencies_are_those_of_the_labels_before_plus_one(y):
    proba = running_frequencies(y, CLASSES)
    for t in range(len(y)):
        assert_allclose(proba[t], [(1 + y[:t].count(label)) / (len(CLASSES) + t) for label in CLASSES], rtol=1e-15)
    assert_allclose(proba.sum(axis=1), 1.0)


@given(counts, st.integers(1, 3))
def test_counts_are_forecast_by_the_moments_of_those_before(y, skip):
    run = running_count_mean(y, skip)
    assert len(run.mean) == len(run.variance) == len(run.log_score) == max(len(y) - skip, 0)
    for t in range(skip, len(y)):
        mean, variance = (sum(y[:t]) + 0.5) / t, np.var(y[:t])
        assert_allclose(run.mean[t - skip], mean, rtol=1e-14)
        assert_allclose(run.variance[t - skip], max(mean, variance), rtol=1e-12)
        excess = max(variance - mean, 0.0)
        if excess > 1e-9:
            expected = stats.nbinom.logpmf(y[t], mean**2 / excess, mean / (mean + excess))
        else:
            expected = stats.poisson.logpmf(y[t], mean)
        assert_allclose(run.log_score[t - skip], expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("past", [[0], [0, 9, 1, 0, 4]])
def test_the_count_forecast_is_a_distribution(past):
    total = sum(np.exp(running_count_mean([*past, count]).log_score[-1]) for count in range(2000))
    assert total == pytest.approx(1.0, abs=1e-9)


def test_nearly_no_excess_is_nearly_poisson():
    """A spread a hair above Poisson's gives the negative binomial a huge size, which must not cost digits."""
    y = np.random.default_rng(0).poisson(1000.0, 4000)
    run = running_count_mean(y)
    close = (run.variance > run.mean) & (run.variance < 1.001 * run.mean)
    assert close.sum() > 5
    assert_allclose(run.log_score[close], stats.poisson.logpmf(y[1:][close], run.mean[close]), atol=0.02)


@given(labels, st.data())
def test_no_label_is_looked_at_too_early(y, data):
    """Labels from row t on may be anything: nothing up to and including row t moves, to the bit."""
    t = data.draw(st.integers(0, len(y) - 1))
    other = y[:t] + data.draw(st.lists(st.sampled_from(CLASSES), min_size=len(y) - t, max_size=len(y) - t))
    assert_array_equal(running_frequencies(y, CLASSES)[: t + 1], running_frequencies(other, CLASSES)[: t + 1])
    assert_array_equal(previous_label(y)[:t], previous_label(other)[:t])


@given(counts, st.data())
def test_no_count_is_looked_at_too_early(y, data):
    t = data.draw(st.integers(0, len(y) - 1))
    other = y[:t] + data.draw(st.lists(st.integers(0, 10**6), min_size=len(y) - t, max_size=len(y) - t))
    ours, theirs = running_count_mean(y), running_count_mean(other)
    # Entry i is the forecast of row i + 1.
    assert_array_equal(ours.mean[:t], theirs.mean[:t])
    assert_array_equal(ours.variance[:t], theirs.variance[:t])
    assert_array_equal(ours.log_score[: max(t - 1, 0)], theirs.log_score[: max(t - 1, 0)])


@pytest.mark.parametrize("skip", [1, 3])
def test_the_previous_label_is_that_of_the_row_before(skip):
    y = np.array(["a", "b", "b", "c", "a"])
    assert previous_label(y, skip).tolist() == [y[t - 1] for t in range(skip, 5)]
    assert previous_label(y[:1]).tolist() == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: running_frequencies(["sea"], CLASSES), "not among the 3 classes"),
        (lambda: previous_label([1, 2], 0), "skip=0"),
        (lambda: running_count_mean([1, 2], 0), "skip=0"),
        (lambda: running_count_mean([0, -1]), "whole numbers from 0 up"),
        (lambda: running_count_mean([0.5]), "whole numbers from 0 up"),
        (lambda: running_count_mean([np.inf]), "whole numbers from 0 up"),
        (lambda: running_count_mean([[1]]), "whole numbers from 0 up"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
