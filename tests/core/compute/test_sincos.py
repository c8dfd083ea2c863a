"""Sines and cosines against exact arithmetic, below and beyond the limit of the fast reduction."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from iegp.core.compute.sincos import sincos
from iegp.core.compute.tolerances import REDUCTION_LIMIT


def pair(angles):
    sines, cosines = np.empty_like(angles), np.empty_like(angles)
    sincos(angles, sines, cosines)
    return sines, cosines


def exact(angles):
    with mpmath.workdps(60):
        values = [mpmath.mpf(float(a)) for a in angles]
        return np.array([float(mpmath.sin(a)) for a in values]), np.array([float(mpmath.cos(a)) for a in values])


def near_multiples_of_half_pi(up_to):
    """Where a sloppy reduction loses all digits: the floats next to k pi/2."""
    k = np.unique(np.geomspace(1, up_to / (np.pi / 2) - 1, 60).astype(int))
    centre = k * (np.pi / 2)
    return np.concatenate([centre, np.nextafter(centre, 0), np.nextafter(centre, np.inf)])


ANGLES = {
    "small": np.linspace(-1.0, 1.0, 201),
    "tiny": np.array([0.0, -0.0, 1e-300, -1e-20, 5e-324]),
    "ordinary": np.random.default_rng(0).normal(scale=30.0, size=500),
    "large": np.random.default_rng(1).uniform(-REDUCTION_LIMIT, REDUCTION_LIMIT, 500),
    "near multiples": near_multiples_of_half_pi(REDUCTION_LIMIT),
    "at the limit": np.array([np.nextafter(REDUCTION_LIMIT, 0), -np.nextafter(REDUCTION_LIMIT, 0), 1.0]),
    "beyond": np.array([REDUCTION_LIMIT, -REDUCTION_LIMIT, 1.3e9, -1e16, 1e300, 0.3]),
}


@pytest.mark.parametrize("name", ANGLES)
def test_error_is_below_three_units_of_the_sixteenth_digit(name):
    angles = ANGLES[name]
    for found, wanted in zip(pair(angles), exact(angles), strict=True):
        assert np.max(np.abs(found - wanted)) <= 3e-16


def test_relative_accuracy_of_small_sines():
    angles = np.geomspace(1e-300, 0.7, 200)
    assert_allclose(pair(angles)[0], np.sin(angles), rtol=4e-16)


@pytest.mark.parametrize("length", [1, 2, 3, 7, 64, 257])
def test_agrees_with_numpy_at_any_length(length):
    angles = np.random.default_rng(length).normal(scale=100.0, size=length)
    sines, cosines = pair(angles)
    assert_allclose(sines, np.sin(angles), atol=3.2e-16)
    assert_allclose(cosines, np.cos(angles), atol=3.2e-16)


def test_symmetry_to_the_bit():
    angles = np.abs(np.random.default_rng(2).normal(scale=1e3, size=400))
    (sines, cosines), (mirrored, same) = pair(angles), pair(-angles)
    assert_array_equal(mirrored, -sines)
    assert_array_equal(same, cosines)


@pytest.mark.filterwarnings("ignore:invalid value")  # heard only where compilation is off
def test_non_finite_angles_stay_visible():
    sines, cosines = pair(np.array([np.nan, 1.0]))
    assert np.isnan(sines[0])
    assert np.isnan(cosines[0])
    assert_allclose(sines[1], np.sin(1.0), rtol=1e-15)
