"""Standardisation and back, for columns of any size, constant ones included."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from iegp.core import scaling


@pytest.mark.parametrize("size", [1e-300, 1e-8, 1.0, 1e8, 1e300, 1.7e308])
@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_columns_of_any_size_become_mean_zero_and_variance_one(size, offset):
    rng = np.random.default_rng(0)
    x = size * (offset + 0.5 * rng.uniform(-1, 1, size=(50, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = scaling.from_rows(x, x[:, :1])
        z = found.standardise_x(x)
    assert_allclose(z.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(z.std(axis=0), 1.0, rtol=1e-9)
    assert_allclose(found.y_mean + found.y_scale * found.standardise_y(x[:, :1]), x[:, :1], rtol=1e-12, atol=0)


@pytest.mark.parametrize("value", [0.0, 1.0, -3e7, 1e300, 1e-300])
def test_constant_columns_are_centred_and_keep_their_scale(value):
    rng = np.random.default_rng(1)
    x = np.column_stack([np.full(20, value), rng.normal(size=20)])
    found = scaling.from_rows(x, x)
    assert found.x_scale[0] == 1.0
    assert_allclose(found.standardise_x(x)[:, 0], 0.0, atol=1e-15 * abs(value))
    assert found.x_scale[1] == pytest.approx(x[:, 1].std())


def test_one_row_and_identity():
    one = scaling.from_rows(np.array([[3.0, -2.0]]), np.array([[5.0]]))
    # One row has no spread: its magnitude is the best guess of the units.
    assert_array_equal(one.x_scale, [3.0, 2.0])
    assert_array_equal(scaling.from_rows(np.array([[0.0]]), np.array([[0.0]])).y_scale, [1.0])
    assert_array_equal(one.standardise_y(np.array([[5.0]])), [[0.0]])
    x = np.random.default_rng(2).normal(size=(4, 3))
    assert_array_equal(scaling.identity(3, 1).standardise_x(x), x)


def test_results_are_row_major_whatever_comes_in():
    x = np.asfortranarray(np.random.default_rng(3).normal(size=(6, 3)))
    assert scaling.identity(3, 1).standardise_x(x).flags.c_contiguous


@pytest.mark.parametrize("n", [8, 12, 31])
def test_of_few_rows_only_a_value_very_far_off_is_a_glitch(n):
    x = np.random.default_rng(n).normal(size=(n, 2))
    clean = scaling.from_rows(x, x, robust=True)
    assert_array_equal(clean.y_scale, scaling.from_rows(x, x).y_scale)
    low, middle, high = np.quantile(x[:, 1], (0.25, 0.5, 0.75))
    glitch = x.copy()
    at = int(np.argmax(x[:, 1]))
    for size, is_left_out in ((100.0, False), (1e4, True), (1e9, True)):
        glitch[at, 1] = middle + size * (high - low)
        found = scaling.from_rows(glitch, glitch, robust=True)
        wanted = np.delete(glitch[:, 1], at) if is_left_out else glitch[:, 1]
        assert found.y_scale[1] == pytest.approx(wanted.std())
        assert found.x_scale[1] == found.y_scale[1]
        assert_allclose(found.y_scale[0], clean.y_scale[0], rtol=1e-12)
    # A column that mostly has one value has no spread to compare with, and seven rows say nothing.
    mostly = np.zeros((n, 1))
    mostly[0] = 1e9
    assert scaling.from_rows(mostly, mostly, robust=True).y_scale[0] == pytest.approx(mostly.std())
    assert scaling.from_rows(glitch[:7], glitch[:7], robust=True).y_scale[1] == pytest.approx(glitch[:7, 1].std())
