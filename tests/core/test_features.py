"""Rows of random features: the oracle's, of norm one, and the kernel estimate as inner product."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import features as oracle

from iegp.core.features import fourier_rows

SHAPES = [(1, 1, 1), (1, 5, 3), (7, 1, 2), (40, 13, 10), (130, 50, 21)]


@pytest.mark.parametrize(("n", "n_frequencies", "d"), SHAPES)
def test_features_are_the_oracle_s_and_have_norm_one(n, n_frequencies, d):
    rng = np.random.default_rng(n)
    x, frequencies = rng.normal(size=(n, d)), rng.normal(scale=3.0, size=(n_frequencies, d))
    phi = fourier_rows(x, frequencies)
    assert phi.shape == (n, 2 * n_frequencies)
    assert_allclose(phi, oracle.features(x, frequencies), atol=1e-13)
    assert_allclose((phi**2).sum(axis=1), 1.0, rtol=1e-14)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e5, 1e7, 1e12])
def test_rows_have_norm_one_at_any_scale(size):
    rng = np.random.default_rng(0)
    phi = fourier_rows(size * rng.normal(size=(50, 3)), rng.normal(size=(8, 3)))
    assert_allclose((phi**2).sum(axis=1), 1.0, rtol=1e-13)


def test_inner_products_are_the_kernel_estimate():
    rng = np.random.default_rng(1)
    x, frequencies = rng.normal(size=(12, 3)), rng.normal(size=(9, 3))
    phi = fourier_rows(x, frequencies)
    differences = (x[:, None] - x[None]) @ frequencies.T
    assert_allclose(phi @ phi.T, np.cos(differences).mean(axis=2), atol=1e-14)


def test_a_row_s_features_do_not_depend_on_its_neighbours():
    rng = np.random.default_rng(2)
    x, frequencies = rng.normal(size=(33, 4)), rng.normal(size=(6, 4))
    together = fourier_rows(x, frequencies)
    alone = np.concatenate([fourier_rows(x[t : t + 1], frequencies) for t in range(len(x))])
    assert_allclose(together, alone, atol=1e-15)
    assert_array_equal(fourier_rows(x, frequencies), together)
