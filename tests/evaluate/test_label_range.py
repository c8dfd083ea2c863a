"""The range of a figure holds what was predicted and most labels; glitches and wide intervals do not stretch it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iegp.evaluate.label_range import label_range, outside


def columns(n=400, seed=0):
    rng = np.random.default_rng(seed)
    mean = np.sin(np.arange(n) / 20)
    return mean + 0.2 * rng.normal(size=n), mean, mean - 0.5, mean + 0.5


def inside(y, low, high):
    below, above = outside(y, low, high)
    return ~(below | above)


@pytest.mark.parametrize("n", [4, 20, 41, 400, 4000])
def test_all_labels_are_inside_without_glitches(n):
    y, *others = columns(n)
    low, high = label_range(y, *others)
    assert inside(y, low, high).all()
    assert high - low < 1.5 * np.ptp(np.concatenate(others))


@pytest.mark.parametrize(("n", "glitches"), [(20, [3]), (400, [10, 200, 399]), (4000, list(range(0, 4000, 267)))])
@pytest.mark.parametrize("size", [-150.0, 350.0, 1e300])
def test_glitches_are_outside_and_leave_the_range_as_it_is(n, glitches, size):
    y, *others = columns(n)
    clean = label_range(y, *others)
    y[glitches] = size
    low, high = label_range(y, *others)
    assert np.flatnonzero(~inside(y, low, high)).tolist() == glitches
    assert_allclose((low, high), clean, atol=0.5)


def test_a_label_that_was_predicted_is_inside_however_rare():
    """A level that the stream reaches in one row of a hundred is no glitch."""
    y, mean, lower, upper = columns(1000)
    for part in (y, mean, lower, upper):
        part[990:] += 100.0
    low, high = label_range(y, mean, lower, upper)
    assert inside(y, low, high).all()
    assert high > 100.0


def test_a_tenth_of_the_labels_is_inside_even_if_never_predicted():
    y, *others = columns(1000)
    y[::10] = 100.0
    assert inside(y, *label_range(y, *others)).all()


def test_wide_intervals_of_a_few_rows_do_not_stretch_the_range():
    y, mean, lower, upper = columns()
    clean = label_range(y, mean, lower, upper)
    lower[:5], upper[:5], mean[:2] = -1e6, 1e6, 1e5
    assert_allclose(label_range(y, mean, lower, upper), clean, atol=0.1)


def test_missing_values():
    y, mean, lower, upper = columns()
    nothing = np.full(len(y), np.nan)
    assert label_range(nothing, nothing, nothing, nothing) == (0.0, 1.0)
    assert label_range(*np.zeros((4, 0))) == (0.0, 1.0)
    y[7] = 1e6
    low, high = label_range(y, mean, nothing, nothing)
    assert np.flatnonzero(~inside(y, low, high)).tolist() == [7]
    y[::2] = np.nan
    assert_allclose(label_range(y, mean, lower, upper), (-1.6, 1.6), atol=0.2)
    assert not any(which[::2].any() for which in outside(y, low, high))


def test_values_all_alike_and_very_large_ones():
    same = np.full(5, 7.0)
    assert label_range(same, same, same, same) == (7.0, 7.0)
    large = np.array([-1e308, 1e308, 0.0, 0.0])
    low, high = label_range(large, large, large, large)
    assert np.isfinite([low, high]).all()
    assert (low, high) <= (-1e308, 1.2e308)
