"""The deviance of counts equals scikit-learn's, also for counts of zero."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import mean_poisson_deviance

from iegp.errors import InputError
from iegp.evaluate.metrics import poisson_deviance

counts = st.lists(st.integers(0, 1000), min_size=1, max_size=30)


@given(counts, st.integers(0, 1000))
def test_scikit_learn_agrees(y, seed):
    mean = np.random.default_rng(seed).gamma(2.0, 3.0, len(y)) + 1e-6
    assert poisson_deviance(y, mean) == pytest.approx(mean_poisson_deviance(y, mean), rel=1e-9, abs=1e-12)


@given(counts, st.integers(0, 1000))
def test_it_is_twice_the_log_likelihood_lost_to_the_perfect_mean(y, seed):
    mean = np.random.default_rng(seed).gamma(2.0, 3.0, len(y)) + 1e-6
    lost = stats.poisson.logpmf(y, y) - stats.poisson.logpmf(y, mean)
    assert poisson_deviance(y, mean) == pytest.approx(2 * np.mean(lost), rel=1e-8, abs=1e-8)


def test_zeros():
    assert poisson_deviance([0, 0], [0.5, 1.0]) == 1.5
    assert poisson_deviance([0, 3], [0.0, 3.0]) == 0.0
    assert poisson_deviance([1], [0.0]) == math.inf


@pytest.mark.parametrize(
    ("y", "mean", "message"),
    [
        ([-1], [1.0], r"y\[0\] is -1"),
        ([1, 1], [1.0, np.nan], r"mean\[1\] is nan"),
        ([1], [1.0, 2.0], "same shape"),
        ([], [], "at least one row"),
        ([[1]], [[1.0]], "at least one row"),
    ],
)
def test_bad_input_is_refused(y, mean, message):
    with pytest.raises(InputError, match=message):
        poisson_deviance(y, mean)
