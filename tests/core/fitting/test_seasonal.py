"""Seasonal lags: found where there is a season, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from iegp.core.fitting.seasonal import autocorrelation, with_seasons

N = 900


def standardised(y):
    return ((y - y.mean()) / y.std())[:, None]


def slow_autocorrelation(values, n_lags):
    """The oracle: sums of products, one lag after another."""
    centred = [column - np.mean(column) for column in values.T]
    products = [sum(float(c[: len(c) - k] @ c[k:]) for c in centred) for k in range(n_lags + 1)]
    return np.array(products) / products[0]


def test_autocorrelation_is_the_sum_of_products():
    values = np.random.default_rng(0).normal(size=(60, 2)).cumsum(axis=0)
    np.testing.assert_allclose(autocorrelation(values, 20), slow_autocorrelation(values, 20), atol=1e-12)
    np.testing.assert_array_equal(autocorrelation(np.ones((10, 1)), 3), np.zeros(4))


def seasonal(seed, *periods):
    """A profile for each period, around a level that wanders."""
    rng = np.random.default_rng(seed)
    y = 0.05 * rng.normal(size=N).cumsum() + 0.4 * rng.normal(size=N)
    for period in periods:
        y += rng.normal(size=period)[np.arange(N) % period]
    return rng.normal(size=(N, 2)), standardised(y)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("period", "delay"), [(24, 0), (7, 0), (168, 0), (24, 5), (4, 9)])
def test_a_season_is_found(period, delay, seed):
    base = tuple(range(delay + 1, delay + 4))
    found = with_seasons(base, delay, *seasonal(seed, period))
    assert set(base) <= set(found)
    assert min(found) > delay
    least = period * -(-(delay + 1) // period)
    assert any(offset % period == 0 and offset >= least for offset in found)
    assert found == tuple(sorted(set(found)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["white", "ar", "walk", "trend", "constant"])
def test_there_is_none_where_there_is_no_season(kind, seed):
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=N)
    ar = np.zeros(N)
    for t in range(1, N):
        ar[t] = 0.9 * ar[t - 1] + noise[t]
    trend = noise + 0.05 * np.arange(N)
    y = {"white": noise, "ar": ar, "walk": noise.cumsum(), "trend": trend, "constant": np.zeros(N)}[kind]
    values = y[:, None] if kind == "constant" else standardised(y)
    assert with_seasons((1, 2, 3), 0, rng.normal(size=(N, 2)), values) == (1, 2, 3)


def test_a_glitch_hides_no_season():
    x, values = seasonal(0, 24)
    values[500] = 1e6
    assert 24 in with_seasons((1, 2, 3), 0, x, values)


def test_few_rows():
    for n in range(1, 12):
        assert with_seasons((1, 2, 3), 0, np.zeros((n, 1)), np.arange(float(n))[:, None]) == (1, 2, 3)
