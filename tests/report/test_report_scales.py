"""Ticks are round, neighbouring labels differ, and long names are shortened."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from iegp.report.blocks import thinned
from iegp.report.panel_calibration import by_chance
from iegp.report.scales import fitted, linear, logarithmic, row_axis
from iegp.report.text import number, short

ENDS = st.floats(-1e300, 1e300)


@given(ENDS, ENDS)
def test_any_range_gets_a_few_different_labels(a, b):
    for axis in (linear(min(a, b), max(a, b), "y"), fitted(min(a, b), max(a, b), "y")):
        labels = [label for _, label in axis.ticks]
        assert 1 <= len(labels) <= 12
        assert len(set(labels)) == len(labels)
        places = axis.at(np.array([value for value, _ in axis.ticks]))
        assert np.all((places > -1e-6) & (places < 1000 + 1e-6))


@given(st.integers(0, 10**12))
def test_rows_are_whole_and_their_labels_short(last):
    axis = row_axis(last)
    labels = [label for _, label in axis.ticks]
    assert len(set(labels)) == len(labels) >= 2
    assert max(map(len, labels)) <= 8
    assert all(float(value).is_integer() for value, _ in axis.ticks)


@given(st.floats(1e-200, 1e200), st.floats(1.5, 1e12))
def test_logarithmic_ticks_lie_inside(low, ratio):
    axis = logarithmic(low, low * ratio, "y")
    assert len(axis.ticks) <= 9
    for value, _ in axis.ticks:
        assert low * 0.99 <= value <= low * ratio * 1.01


def test_a_power_of_ten_is_taken_out_of_large_numbers():
    axis = linear(0.0, 4e12, "revenue")
    assert axis.title == "revenue (× 10¹²)"
    assert [label for _, label in axis.ticks] == ["0", "1", "2", "3", "4"]


def test_values_lie_where_they_belong():
    axis = linear(0.0, 10.0, "y")
    assert_allclose(axis.at(np.array([0.0, 5.0, 10.0, np.nan])), [0.0, 500.0, 1000.0, np.nan])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (0.02631, "0.0263"), (-1.879, "−1.88"), (9.999, "10.0"), (12345.0, "12,300"), (1.0, "1.00"),
        (3.2e12, "3.20 × 10¹²"), (4.5e-9, "4.50 × 10⁻⁹"), (float("nan"), "–"), (float("-inf"), "−∞"),
    ],
)  # fmt: skip
def test_numbers_show_three_digits(value, text):
    assert number(value) == text


def test_long_names_keep_both_ends():
    assert short("abcdefghij", 7) == "abc…hij"
    assert short("abc", 7) == "abc"


@pytest.mark.parametrize(("step", "text"), [(1, "Every row"), (2, "Every 2nd row"), (8, "Every 8th"), (512, "512th")])
def test_thinning_is_stated(step, text):
    assert text in thinned(step)


def test_chance_of_few_and_of_countless_rows():
    """Exact for few rows, normal for many, where exact quantiles would take days; the two meet."""
    share = np.array([0.05, 0.5, 0.95])
    exact, normal = by_chance(1e6, share), by_chance(1e6 + 1.0, share)
    np.testing.assert_allclose(exact, normal, atol=2e-6)
    low, high = by_chance(2.0**53, share)
    np.testing.assert_allclose(high - low, 3.92 * np.sqrt(share * (1.0 - share) / 2.0**53), rtol=1e-3)


@pytest.mark.parametrize("size", [5e-324, 1e-310, 0.0])
def test_axes_of_numbers_that_cannot_be_divided(size):
    for axis in (linear(0.0, size, "x"), fitted(-size, size, "x")):
        assert 2 <= len(axis.ticks) <= 12
