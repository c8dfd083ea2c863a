"""The start of a latent variable model: its objective is the paper's, its gradient is right, and it fits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import latent as oracle

from iegp.core.latent.evidence import fit_start, leading_columns, objective
from iegp.core.latent.warmup import (
    RowScaling,
    filled_rows,
    fit_scaling,
    principal_positions,
    rotation_onto,
    search_axes,
)
from iegp.errors import InputError


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.mark.parametrize("shape", [(15, 4), (6, 40)])
def test_objective_is_the_papers(rng, shape):
    """Up to a constant: differences between two points are compared."""
    y, frequencies = rng.normal(size=shape), rng.normal(size=(7, 2))
    first = leading_columns(y)
    values, expected = [], []
    for noise, prior in ((0.3, 1.5), (0.7, 0.4)):
        x = rng.normal(size=(len(y), 2))
        values.append(objective(first, frequencies, x, np.log(noise), np.log(prior), 2.0)[0])
        expected.append(oracle.initial_objective(y, x, frequencies, noise, prior, 2.0))
    assert_allclose(values, expected, rtol=1e-10)


def test_gradients_against_finite_differences(rng):
    y, frequencies, x = rng.normal(size=(9, 5)), rng.normal(size=(6, 3)), rng.normal(size=(9, 3))
    first = leading_columns(y)
    packed = np.append(x.ravel(), [np.log(0.2), np.log(1.3)])

    def value(p):
        return objective(first, frequencies, p[:-2].reshape(x.shape), p[-2], p[-1], 1.7)[0]

    _, by_position, by_noise, by_prior = objective(first, frequencies, x, packed[-2], packed[-1], 1.7)
    steps = 1e-6 * np.eye(len(packed))
    numeric = [(value(packed + step) - value(packed - step)) / 2e-6 for step in steps]
    assert_allclose(np.append(by_position.ravel(), (by_noise, by_prior)), numeric, rtol=1e-6, atol=1e-6)


def test_leading_columns_keep_inner_products(rng):
    wide, tall = rng.normal(size=(8, 90)), rng.normal(size=(90, 8))
    for rows in (wide, tall):
        first = leading_columns(rows)
        assert first.columns.shape[1] <= min(rows.shape)
        assert_allclose(first.columns @ first.columns.T, rows @ rows.T, atol=1e-9)
        assert first.total == pytest.approx(np.sum(rows**2))


def test_leading_columns_leave_out_at_most_two_percent(rng):
    rows = rng.normal(size=(300, 200)) * np.exp(-0.05 * np.arange(200))
    first = leading_columns(rows)
    assert 64 <= first.columns.shape[1] < 150
    assert np.sum(first.columns**2) >= 0.98 * first.total


def test_the_start_finds_noise_and_positions(rng):
    x = rng.normal(size=(150, 2))
    frequencies = rng.normal(size=(40, 2))
    phi = oracle.waves(x, frequencies)
    y = phi @ rng.normal(size=(80, 20)) + 0.1 * rng.normal(size=(150, 20))
    start = fit_start(leading_columns(y), frequencies, x + 0.1 * rng.normal(size=x.shape), 0.5, 1.0, 100)
    assert 0.005 < start.noise_var < 0.02
    assert np.abs(start.positions - x).mean() < 0.1


def test_scaling_is_one_number_and_ignores_gaps(rng):
    rows = rng.normal(size=(200, 3)) * [1.0, 10.0, 0.1] + 5.0
    scaling = fit_scaling(rows)
    assert scaling.scale.shape == (1,)
    assert np.mean(scaling.scaled(rows) ** 2) == pytest.approx(1.0)
    rows[3, 1] = np.nan
    assert np.isnan(fit_scaling(rows).scaled(rows)[3, 1])
    assert np.isfinite(fit_scaling(rows).mean).all()


def test_constant_rows_are_not_divided_by_nothing():
    assert fit_scaling(np.full((5, 2), 0.1)).scale[0] == 1.0
    assert np.isfinite(fit_scaling(np.array([[1e300, -1e300], [-1e300, 1e300]])).scale[0])


def test_values_that_overflow_are_refused():
    with pytest.raises(InputError, match="row 1, column 0"):
        RowScaling(np.zeros(2), np.ones(1)).scaled(np.array([[1.0, 2.0], [1e200, 0.0]]))


def test_gaps_are_filled_from_the_nearest_rows(rng):
    angle = rng.uniform(0.0, 6.28, 300)
    rows = np.stack([np.cos(angle), np.sin(angle), np.cos(2 * angle)], axis=1)
    gappy = rows.copy()
    gappy[::10, 2] = np.nan
    assert np.abs(filled_rows(gappy) - rows).max() < 0.3
    assert (filled_rows(rows) == rows).all()


def test_gaps_without_donors_become_the_mean():
    gappy = np.array([[np.nan, 1.0], [np.nan, 2.0]])
    assert (filled_rows(gappy) == [[0.0, 1.0], [0.0, 2.0]]).all()


def test_principal_start_has_spread_one_and_pads(rng):
    assert_allclose(principal_positions(rng.normal(size=(50, 3)), 2).std(axis=0), 1.0)
    assert (principal_positions(rng.normal(size=(5, 1)), 3)[:, 1:] == 0.0).all()


def test_rotation_brings_a_rotated_map_back(rng):
    picture = rng.normal(size=(30, 2))
    turn = np.array([[np.cos(1.0), np.sin(1.0)], [np.sin(1.0), -np.cos(1.0)]])
    rotation = rotation_onto(picture @ turn, picture)
    assert_allclose(picture @ turn @ rotation, picture, atol=1e-12)
    frequencies = rng.normal(size=(6, 2))
    assert_allclose(oracle.waves(picture @ rotation, frequencies @ rotation), oracle.waves(picture, frequencies))


def test_search_axes_are_the_columns_or_the_leading_directions(rng):
    assert (search_axes(rng.normal(size=(9, 4)), 4) == np.eye(4)).all()
    rows = rng.normal(size=(100, 10)) * np.arange(10, 0, -1) ** 2
    axes = search_axes(rows, 3)
    assert axes.shape == (10, 3)
    assert np.sum((rows @ axes) ** 2) > 0.8 * np.sum(rows**2)
