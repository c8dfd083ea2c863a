"""Frequencies: the right distribution, the right structure, and the same ones for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from iegp.core.features import fourier_rows
from iegp.core.frequencies import METHODS, draw_frequencies
from iegp.core.kernels import RBF, Cauchy, Laplace, Matern
from iegp.errors import InputError

KERNELS = {
    "rbf": RBF(),
    "matern12": Matern(nu=0.5),
    "matern32": Matern(nu=1.5),
    "matern52": Matern(nu=2.5),
    "laplace": Laplace(),
    "cauchy": Cauchy(),
}
names = pytest.mark.parametrize("name", KERNELS)
methods = pytest.mark.parametrize("method", METHODS)

# One column of a frequency at length scale one.
MARGINALS = {
    "rbf": stats.norm(),
    "matern12": stats.t(1),
    "matern32": stats.t(3),
    "matern52": stats.t(5),
    "laplace": stats.cauchy(),
    "cauchy": stats.laplace(),
}


def kernel_error(kernel, method, n_frequencies, d, seed, n_rows=12):
    """Root mean square error of the approximate kernel matrix at rows a typical distance apart."""
    x = np.random.default_rng(99).normal(size=(n_rows, d)) / np.sqrt(d)
    phi = fourier_rows(x, np.ascontiguousarray(draw_frequencies(kernel, n_frequencies, d, method, (seed,))))
    off = ~np.eye(n_rows, dtype=bool)
    return float(np.sqrt(np.mean((phi @ phi.T - kernel(x))[off] ** 2)))


@names
@methods
@pytest.mark.parametrize("d", [1, 3, 10])
def test_approximate_kernel_converges_to_the_exact_one(name, method, d):
    """Each entry is a mean of n cosines with variance at most 1, so 4 / sqrt(n) has ample room; n = 5,000."""
    n = 5_000
    kernel = KERNELS[name]
    x = np.random.default_rng(7).normal(size=(8, d)) / np.sqrt(d)
    phi = fourier_rows(x, np.ascontiguousarray(draw_frequencies(kernel, n, d, method, (1,))))
    assert_allclose(phi @ phi.T, kernel(x), atol=4.0 / np.sqrt(n))


@names
@methods
def test_error_falls_like_one_over_the_square_root(name, method):
    few, many = (np.mean([kernel_error(KERNELS[name], method, n, 3, seed) for seed in range(6)]) for n in (40, 2000))
    assert many < few / 4.0


@names
@pytest.mark.parametrize("d", [1, 3, 10])
def test_orthogonal_features_err_less_than_plain_ones_on_average(name, d):
    n = 60
    plain, orthogonal = (
        np.mean([kernel_error(KERNELS[name], m, n, d, s) for s in range(40)]) for m in ("random", "orthogonal")
    )
    assert orthogonal < plain


@names
@methods
@pytest.mark.parametrize("d", [1, 3])
def test_every_column_has_the_spectral_marginal(name, method, d):
    """Kolmogorov-Smirnov distance, n = 4,000: 0.04 is beyond the 1e-5 quantile of independent draws."""
    draws = draw_frequencies(KERNELS[name], 4_000, d, method, (3,))
    for column in draws.T:
        assert stats.kstest(column, MARGINALS[name].cdf).statistic < 0.04


@names
@methods
def test_a_seed_gives_the_same_frequencies_and_another_seed_others(name, method):
    one = draw_frequencies(KERNELS[name], 20, 3, method, (5, 0))
    assert one.shape == (20, 3)
    assert np.all(np.isfinite(one))
    assert_array_equal(one, draw_frequencies(KERNELS[name], 20, 3, method, (5, 0)))
    for other in ((5, 1), (6, 0)):
        assert not np.any(one == draw_frequencies(KERNELS[name], 20, 3, method, other))


@names
def test_adding_a_column_leaves_plain_features_of_the_others_as_they_are(name):
    narrow, wide = (draw_frequencies(KERNELS[name], 20, d, "random", (5,)) for d in (3, 4))
    assert_array_equal(wide[:, :3], narrow)


@pytest.mark.parametrize("d", [2, 3, 10])
def test_groups_of_directions_are_orthogonal(d):
    draws = draw_frequencies(RBF(), 2 * d + 1, d, "orthogonal", (0,))
    for start in (0, d):
        gram = draws[start : start + d] @ draws[start : start + d].T
        assert_allclose(gram, np.diag(np.diagonal(gram)), atol=1e-12 * np.max(gram))


@names
@methods
@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 5), (7, 3)])
def test_any_count_of_frequencies_and_columns(name, method, n, d):
    draws = draw_frequencies(KERNELS[name], n, d, method, (0,))
    assert draws.shape == (n, d)
    assert np.all(np.isfinite(draws))


def test_unknown_method():
    with pytest.raises(InputError, match="sobol"):
        draw_frequencies(RBF(), 3, 1, "sobol", (0,))
