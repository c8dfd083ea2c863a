"""Medians with intervals that cover as they say; growth that tells log T from T."""

from __future__ import annotations

import numpy as np
import pytest
from iegp_paper.bootstrap import FEWEST, interval, median_interval
from iegp_paper.growth import growth, left


def test_the_interval_of_the_median_covers_about_95_percent():
    rng = np.random.default_rng(0)
    found = [median_interval(rng.exponential(size=41)) for _ in range(300)]
    covered = np.mean([own.low <= np.log(2.0) <= own.high for own in found])
    assert 0.90 <= covered <= 0.99


def test_few_runs_have_their_range():
    few = median_interval([3.0, 1.0, 2.0])
    assert (few.centre, few.low, few.high, few.n) == (2.0, 1.0, 3.0, 3)
    assert few.is_range
    assert not median_interval(range(FEWEST)).is_range


def test_the_same_runs_have_the_same_interval_and_infinity_is_allowed():
    values = [1.0, 2.0, 3.0, 4.0, np.inf, np.inf, 0.0]
    assert median_interval(values) == median_interval(values)
    assert median_interval(values).high == np.inf


def test_any_statistic_of_the_mean_curve_has_an_interval():
    rows = np.array([[1.0, 2.0], [3.0, 4.0]] * 4)
    found = interval(rows, lambda stack: stack.mean(axis=-2)[..., 1])
    assert found.centre == 3.0
    assert 2.0 <= found.low < 3.0 < found.high <= 4.0


def test_growth_distinguishes_log_from_linear():
    sizes = [100, 200, 400, 800, 1600]
    assert growth(sizes, np.log(sizes)) == pytest.approx(1.0)
    assert growth(sizes, [float(n) for n in sizes]) > 4.0
    assert growth(sizes, [1.0, 1.0, 1.0, 1.0, -1.0]) == 0.0
    assert growth(sizes, [1.0, 0.0, 1.0, 1.0, 1.0]) == np.inf
    assert growth(sizes, np.ones((3, 2, 5))).shape == (3, 2)
    assert left([4.0, 2.0, 1.0]) == 0.25
