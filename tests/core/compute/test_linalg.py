"""Each wrapper is one line of NumPy, whatever the shape; triangles that are not promised are never read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import solve_triangular

from iegp.core.compute import linalg

fast = settings(max_examples=25, deadline=None, derandomize=True)
sizes = st.integers(1, 17)
seeds = st.integers(0, 1000)


def spoiled_upper(rng, n):
    """An upper triangular matrix, well conditioned, with rubbish below; and the clean one."""
    clean = np.triu(rng.normal(size=(n, n))) + (2.0 + n) * np.eye(n)
    return clean + np.tril(np.full((n, n), 1e6), -1), clean


@fast
@given(sizes, sizes, sizes, seeds)
def test_products(m, k, n, seed):
    rng = np.random.default_rng(seed)
    a, b, out = rng.normal(size=(m, k)), rng.normal(size=(k, n)), np.full((m, n), np.nan)
    linalg.matmul(a, b, out)
    assert_allclose(out, a @ b, rtol=1e-12, atol=1e-13)
    linalg.matmul_transposed(a, np.ascontiguousarray(b.T), out)
    assert_allclose(out, a @ b, rtol=1e-12, atol=1e-13)
    base = rng.normal(size=(m, n))
    out = base.copy()
    linalg.add_transposed_matmul(np.ascontiguousarray(a.T), b, out)
    assert_allclose(out, base + a @ b, rtol=1e-12, atol=1e-12)


@fast
@given(sizes, sizes, seeds)
def test_gram_matrices_fill_the_documented_triangle(m, k, seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(m, k))
    out = np.full((m, m), 7.0)
    linalg.gram_of_rows(a, out)
    assert_allclose(np.tril(out), np.tril(a @ a.T), rtol=1e-12, atol=1e-13)
    out = np.full((k, k), 7.0)
    linalg.gram_of_columns(a, out)
    assert_allclose(np.triu(out), np.triu(a.T @ a), rtol=1e-12, atol=1e-13)
    base = rng.normal(size=(k, k))
    out = base.copy()
    linalg.subtract_gram_of_columns(a, out)
    assert_allclose(np.triu(out), np.triu(base - a.T @ a), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [1, 5, 23, 24, 25, 49, 100])
def test_the_lower_triangle_of_a_product_in_panels(n):
    rng = np.random.default_rng(n)
    a, b, out = rng.normal(size=(n, 7)), rng.normal(size=(n, 7)), np.full((n, n), np.nan)
    linalg.lower_matmul_transposed(a, b, out)
    assert_allclose(np.tril(out), np.tril(a @ b.T), rtol=1e-12, atol=1e-13)


@fast
@given(sizes, sizes, seeds)
def test_triangular_solves_and_products_read_one_triangle(n, m, seed):
    rng = np.random.default_rng(seed)
    spoiled, upper = spoiled_upper(rng, n)
    b = rng.normal(size=(m, n))
    x = b.copy()
    linalg.solve_from_right(spoiled, x)
    assert_allclose(x @ upper, b, rtol=1e-11, atol=1e-12)
    b = rng.normal(size=(n, m))
    x = b.copy()
    linalg.solve_lower(np.ascontiguousarray(spoiled.T), x)
    assert_allclose(upper.T @ x, b, rtol=1e-11, atol=1e-12)
    x = b.copy()
    linalg.solve_upper_transposed(spoiled, x)
    assert_allclose(upper.T @ x, b, rtol=1e-11, atol=1e-12)
    x = b.copy()
    linalg.multiply_upper(spoiled, x)
    assert_allclose(x, upper @ b, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("n", "m"), [(1, 8), (23, 9), (24, 64), (25, 65), (49, 130), (100, 32), (101, 7), (200, 129)])
def test_triangles_larger_than_a_panel_are_solved_to_the_last_digits(n, m):
    rng = np.random.default_rng(n)
    spoiled, upper = spoiled_upper(rng, n)
    b = rng.normal(size=(n, m))
    wanted = solve_triangular(upper, b, trans="T")
    for got, solve, matrix, rows in (
        (b.T.copy(), linalg.solve_from_right, spoiled, False),
        (b.copy(), linalg.solve_upper_transposed, spoiled, True),
        (b.copy(), linalg.solve_lower, np.ascontiguousarray(spoiled.T), True),
    ):
        solve(matrix, got)
        assert_allclose(got if rows else got.T, wanted, rtol=1e-11, atol=1e-11 * np.abs(wanted).max())


@fast
@given(sizes, seeds)
def test_cholesky_factors_from_one_triangle(n, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n + 2))
    matrix = root @ root.T + 0.1 * np.eye(n)
    lower = np.tril(matrix) + np.triu(np.full((n, n), 1e9), 1)
    assert linalg.cholesky_lower(lower) == 0
    assert_allclose(np.tril(lower) @ np.tril(lower).T, matrix, rtol=1e-11, atol=1e-11)
    upper = np.triu(matrix) + np.tril(np.full((n, n), 1e9), -1)
    assert linalg.cholesky_upper(upper) == 0
    assert_allclose(np.triu(upper).T @ np.triu(upper), matrix, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("factor", [linalg.cholesky_lower, linalg.cholesky_upper])
@pytest.mark.parametrize("diagonal", [[1.0, 1.0, -1.0], [1.0, 0.0, 1.0]])
def test_cholesky_says_so_when_it_fails(factor, diagonal):
    assert factor(np.diag(diagonal)) != 0


def test_wrappers_do_not_touch_their_inputs():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
    before = a.copy(), b.copy()
    linalg.matmul(a, b, np.empty((3, 2)))
    linalg.matmul_transposed(a, np.ascontiguousarray(b.T), np.empty((3, 2)))
    linalg.add_transposed_matmul(np.ascontiguousarray(a.T), b, np.zeros((3, 2)))
    assert_array_equal(a, before[0])
    assert_array_equal(b, before[1])


@pytest.mark.parametrize("n", [1, 31, 32, 33, 100])
def test_two_triangles(n):
    rng = np.random.default_rng(n)
    a, b = (np.triu(rng.normal(size=(n, n))) for _ in range(2))
    wanted = a @ b
    # What lies below the left one's diagonal is never read.
    linalg.multiply_uppers(a + np.tril(np.full((n, n), np.nan), -1), b)
    np.testing.assert_allclose(b, wanted, atol=1e-13)
