"""The predictive distribution of counts: fast equals oracle, and the properties a distribution must have."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import laplace as oracle
from scipy import special, stats

from iegp._compile import COMPILED
from iegp.core.predictive.count_cdf import poisson_cdf_pmf
from iegp.core.predictive.count_quantiles import count_quantiles
from iegp.core.predictive.counts import CountMixture
from iegp.errors import InputError

INF = math.inf
LEVELS = [1e-6, 0.025, 0.3, 0.5, 0.8, 0.975, 1 - 1e-6]
NO_LINK = np.zeros(1)
VARIANCES = [0.0, 1e-8, 1e-4, 0.01, 0.1, 0.3, 1.0, 4.0, 30.0, 1e4]

fast = settings(max_examples=60 if COMPILED else 15)


def random_mixture(rng, n=4, n_experts=5):
    weights = rng.dirichlet(np.full(n_experts, 0.5), size=n)
    shape = (n, n_experts)
    return CountMixture(weights, rng.normal(1.5, 1.5, size=shape), 10 ** rng.uniform(-4, 1, shape))


def one_row(weights, log_mean, log_var):
    """A mixture of one row from lists over experts."""
    return CountMixture(*(np.array([values], dtype=float) for values in (weights, log_mean, log_var)))


def single(log_mean, log_var):
    return one_row([1.0], [log_mean], [log_var])


@st.composite
def mixtures(draw):
    """One row, one to four experts, rates over eleven decades, variances over twelve."""
    count = draw(st.integers(1, 4))
    raw = draw(st.lists(st.floats(0.01, 1.0), min_size=count, max_size=count))
    log_mean = draw(st.lists(st.floats(-5.0, math.log(1e9)), min_size=count, max_size=count))
    variances = st.one_of(st.just(0.0), st.floats(-8.0, 4.0).map(lambda x: 10.0**x))
    return one_row(np.array(raw) / sum(raw), log_mean, draw(st.lists(variances, min_size=count, max_size=count)))


def integrated_cdf(k, mean, var):
    """``P(z < log G)`` on a grid over log G that is wide and fine enough for both."""
    a, spread = k + 1.0, math.sqrt(var)
    width = math.sqrt(float(special.polygamma(1, a)))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(max(-12.0 * width, -40.0 / a) - 10.0 * width, 9.0 * width, 6000 if spread < width else 600)
    half = 0.5 * np.diff(edges)[:, None]
    u = edges[:-1, None] + half * (1.0 + nodes)
    series = u * u * (1 / 2 + u * (1 / 6 + u * (1 / 24 + u * (1 / 120 + u / 720))))
    rise = np.where(np.abs(u) < 1e-2, series, np.expm1(u) - u)
    density = half * weights * np.exp(-a * rise)
    return np.sum(density * special.ndtr((u + math.log(a) - mean) / spread)) / np.sum(density)


# One component


@pytest.mark.parametrize("k", [0, 1, 5, 39, 40, 41, 100, 1000, 100_000])
def test_poisson_equals_scipy(k):
    for distance in np.linspace(-6.0, 6.0, 25):
        rate = max(math.sqrt(k + 1.0) + 0.5 * distance, 0.05) ** 2
        cdf, pmf = poisson_cdf_pmf(float(k), math.log(rate))
        assert cdf == pytest.approx(special.gammaincc(k + 1.0, rate), abs=2e-10)
        assert pmf == pytest.approx(stats.poisson.pmf(k, rate), rel=1e-8, abs=1e-12)


def test_poisson_far_from_its_mean():
    assert poisson_cdf_pmf(3.0, 20.0) == (0.0, 0.0)
    assert poisson_cdf_pmf(3.0, 1e6) == (0.0, 0.0)
    assert poisson_cdf_pmf(1000.0, 1e6) == (0.0, 0.0)
    assert poisson_cdf_pmf(1000.0, -1e6) == (1.0, 0.0)
    assert poisson_cdf_pmf(0.0, -1e6) == (1.0, 1.0)


def test_huge_counts_five_standard_deviations_out():
    # Where SciPy's incomplete gamma function has lost its way; by mpmath, 40 digits.
    for distance, expected in ((-4.6, 0.999997889699417), (4.6, 2.11461054782888e-6)):
        cdf, _ = poisson_cdf_pmf(1e9 - 1, math.log(1e9 + distance * math.sqrt(1e9)))
        assert cdf == pytest.approx(expected, abs=2e-12)


@pytest.mark.parametrize("rate", [1e-3, 0.7, 5.0, 60.0, 3000.0, 2e6])
@pytest.mark.parametrize("var", [0.0, 1e-16])
def test_no_variance_is_poisson(rate, var):
    dist, frozen = single(math.log(rate), var), stats.poisson(rate)
    for k in np.unique(np.floor(rate + np.linspace(-4, 4, 7) * math.sqrt(rate)).clip(0)):
        assert dist.cdf(k)[0] == pytest.approx(frozen.cdf(k), abs=1e-9)
        assert dist.logpmf(k)[0] == pytest.approx(frozen.logpmf(k), abs=2e-6)
        assert dist.pmf(k)[0] == pytest.approx(frozen.pmf(k), rel=2e-6)
    np.testing.assert_array_equal(dist.quantile(LEVELS)[:, 0], frozen.ppf(LEVELS))
    assert dist.mean[0] == pytest.approx(rate)
    assert dist.var[0] == pytest.approx(rate, rel=1e-6)


@pytest.mark.parametrize("var", [0.001, 0.05, 0.6, 3.0, 50.0])
def test_probabilities_equal_oracle(var):
    for k in (0, 1, 4, 30, 400):
        for mean in (-2.0, 1.0, math.log(k + 1.0)):
            expected = oracle.log_predictive("poisson", k, mean, var, NO_LINK)
            assert single(mean, var).logpmf(k)[0] == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("var", [1e-6, 0.001, 0.03, 0.3, 1.0, 30.0])
def test_sum_of_oracle_probabilities_is_cdf(var):
    dist = single(1.3, var)
    below = np.cumsum([oracle.predictive("poisson", k, 1.3, var, NO_LINK) for k in range(12)])
    np.testing.assert_allclose([dist.cdf(k)[0] for k in range(12)], below, atol=1e-9)


@pytest.mark.parametrize("k", [0, 1, 2, 3, 7, 25, 40, 100, 1e4, 1e7])
def test_cdf_equals_integral(k):
    # Around every change of rule: spreads from a hundredth to a thousand times the width of log G.
    for ratio in (0.02, 0.099, 0.101, 0.299, 0.301, 0.599, 0.601, 0.8, 1.0, 2.0, 10.0, 1000.0):
        spread = ratio / math.sqrt(k + 1.0)
        for distance in (-5.0, -2.0, -0.3, 0.8, 3.0):
            mean = math.log(k + 1.0) + distance * math.hypot(spread, 1.0 / math.sqrt(k + 1.0))
            assert single(mean, spread**2).cdf(k)[0] == pytest.approx(integrated_cdf(k, mean, spread**2), abs=1e-9)


@pytest.mark.parametrize("var", VARIANCES[1:])
def test_sum_of_probabilities_is_cdf(var):
    dist = one_row([0.3, 0.7], [1.0, 4.0], [var, 0.5 * var])
    counts = np.arange(90 if COMPILED else 30)
    rows = CountMixture(
        *(np.repeat(values, counts.size, axis=0) for values in (dist.weights, dist.log_mean, dist.log_var))
    )
    # A probability is integrated less finely where z is wider than all that floats can hold.
    tolerance = 2e-9 if var < 100.0 else 1e-5
    np.testing.assert_allclose(np.cumsum(rows.pmf(counts)), rows.cdf(counts), atol=tolerance)


# Mixtures


def test_mixture_is_the_weighted_sum():
    mixture = random_mixture(np.random.default_rng(1), n=6)
    k = np.array([0, 1, 2, 5, 20, 100])
    parts = [
        [single(mixture.log_mean[i, m], mixture.log_var[i, m]) for m in range(mixture.weights.shape[1])]
        for i in range(len(mixture))
    ]
    for name in ("cdf", "pmf"):
        each = np.array([[getattr(part, name)(k[i])[0] for part in row] for i, row in enumerate(parts)])
        np.testing.assert_allclose(getattr(mixture, name)(k), np.sum(mixture.weights * each, axis=1), atol=1e-9)


def test_moments_equal_sums():
    dist = one_row([0.3, 0.7], [0.5, 1.5], [0.2, 0.05])
    counts = np.arange(300)
    p = np.array([dist.pmf(k)[0] for k in counts])
    mean = np.sum(p * counts)
    assert dist.mean[0] == pytest.approx(mean, rel=1e-8)
    assert dist.var[0] == pytest.approx(np.sum(p * (counts - mean) ** 2), rel=1e-8)
    assert dist.std[0] == pytest.approx(math.sqrt(dist.var[0]))


@fast
@given(mixtures(), st.lists(st.floats(-2.0, 1e10), min_size=2, max_size=6))
def test_cdf_is_monotone(mixture, points):
    values = [mixture.cdf(k)[0] for k in sorted(points)]
    assert np.all(np.diff(values) >= -2e-9)
    assert values[0] >= 0.0
    assert values[-1] <= 1.0


@fast
@given(mixtures(), st.floats(1e-6, 1 - 1e-6))
def test_quantile_is_the_smallest_count_that_reaches_its_level(mixture, q):
    k = mixture.quantile(q)[0]
    assert k >= 0.0
    assert k == math.floor(k)
    if k < 1e11:
        assert mixture.cdf(k)[0] >= q
        assert mixture.cdf(k - 1.0)[0] < q + 1e-9
    elif k < math.exp(699.0):
        assert mixture.cdf(k)[0] == pytest.approx(q, abs=1e-6)


@fast
@given(mixtures())
def test_quantiles_are_ordered(mixture):
    assert np.all(np.diff(mixture.quantile(LEVELS)[:, 0]) >= 0.0)


@fast
@given(mixtures(), st.integers(0, 1000))
def test_components_without_weight_are_invisible(mixture, k):
    nothing = np.full((1, 1), np.nan)
    padded = [np.concatenate([nothing, values, nothing], axis=1) for values in (mixture.log_mean, mixture.log_var)]
    same = CountMixture(np.pad(mixture.weights, ((0, 0), (1, 1))), *padded)
    for name in ("mean", "var"):
        np.testing.assert_array_equal(getattr(same, name), getattr(mixture, name))
    np.testing.assert_allclose(same.logpmf(k), mixture.logpmf(k), rtol=1e-12)
    np.testing.assert_allclose(same.cdf(k), mixture.cdf(k), atol=1e-15)
    np.testing.assert_array_equal(same.quantile(LEVELS), mixture.quantile(LEVELS))
    np.testing.assert_array_equal(np.isfinite(same.sample(5, 0)), True)


@pytest.mark.parametrize(
    ("weights", "log_mean", "log_var"),
    [
        ([0.5, 0.5], [-10.0, math.log(1e9)], [0.0, 0.0]),
        ([0.5, 0.5], [0.0, 20.0], [0.0, 1e-8]),
        ([1 - 1e-5, 1e-5], [0.0, 18.0], [0.1, 0.1]),
        ([0.2, 0.3, 0.5], [3.0, 3.0, 3.0], [1e-8, 1.0, 1e4]),
        ([0.5, 0.5], [math.log(1e6), math.log(1e6) + 1e-3], [0.0, 0.0]),
    ],
)
def test_quantiles_of_awkward_mixtures(weights, log_mean, log_var):
    mixture = one_row(weights, log_mean, log_var)
    levels = np.array([1e-6, 1e-3, 0.3, 0.5, 0.5 + 1e-9, 0.7, 1 - 1e-3, 1 - 1e-6])
    found = mixture.quantile(levels)[:, 0]
    assert np.all(np.diff(found) >= 0.0)
    for q, k in zip(levels, found, strict=True):
        assert mixture.cdf(k)[0] >= q - 1e-9
        if k < 1e11:
            assert mixture.cdf(k - 1.0)[0] < q + 1e-9


def test_interval_holds_its_level():
    mixture = random_mixture(np.random.default_rng(3), n=20)
    lower, upper = mixture.interval(0.9)
    np.testing.assert_array_equal(lower, mixture.quantile(0.5 - 0.5 * 0.9))
    np.testing.assert_array_equal(upper, mixture.quantile(0.5 + 0.5 * 0.9))
    assert np.all(mixture.cdf(upper) - mixture.cdf(lower - 1.0) >= 0.9 - 1e-8)


# Extremes


@pytest.mark.parametrize("log_mean", [-1e300, -1e6, -50.0, 0.0, 50.0, 250.0, 699.0, 1e6, 1e300])
@pytest.mark.parametrize("log_var", [0.0, 1e-300, 1e-8, 1.0, 1e4, 1e300])
def test_extremes_stay_numbers(log_mean, log_var):
    dist = single(log_mean, log_var)
    values = [dist.mean, dist.var, dist.std, *dist.interval(), *dist.quantile([1e-15, 1 - 1e-15]), *dist.sample(3, 0)]
    assert np.all(np.isfinite(values))
    assert np.all(np.array(values) >= 0.0)
    for k in (0.0, 0.5, 7.0, 1e3, 1e7, 1e9, 1e11, 1e13, 1e200, 1e308):
        assert 0.0 <= dist.cdf(k)[0] <= 1.0
        assert dist.logpmf(k)[0] <= 0.0  # and not NaN
        assert dist.pmf(k)[0] >= 0.0


def test_huge_counts_are_log_normal():
    dist, frozen = single(60.0, 25.0), stats.norm(60.0, 5.0)
    np.testing.assert_allclose(np.log(dist.quantile(LEVELS)[:, 0]), frozen.ppf(LEVELS), rtol=1e-9)
    assert dist.cdf(math.exp(63.0))[0] == pytest.approx(frozen.cdf(63.0), abs=1e-9)
    assert dist.logpmf(math.exp(63.0))[0] == pytest.approx(frozen.logpdf(63.0) - 63.0, abs=1e-9)


@pytest.mark.parametrize(("k", "var"), [(1e10, 0.5), (1e10, 1e-10), (1e10, 1e-12), (1e12, 0.5)])
def test_the_step_to_log_normal_is_small(k, var):
    dist = single(math.log(k) + 0.3 * math.sqrt(var), var)
    above = k * (1.0 + 1e-9)
    assert dist.cdf(above)[0] == pytest.approx(dist.cdf(k)[0], abs=2e-4)
    if k == 1e10:
        assert dist.logpmf(above)[0] == pytest.approx(dist.logpmf(k)[0], abs=2e-4)


def test_counts_that_are_none():
    dist = single(1.0, 0.1)
    assert dist.logpmf(-1.0)[0] == dist.logpmf(INF)[0] == -INF
    assert dist.pmf(-0.5)[0] == 0.0
    assert (dist.cdf(-1e-9)[0], dist.cdf(-INF)[0], dist.cdf(INF)[0]) == (0.0, 0.0, 1.0)
    assert np.isnan(dist.logpmf(np.nan)[0])
    assert np.isnan(dist.cdf(np.nan)[0])


def test_between_the_integers():
    dist = single(1.0, 0.1)
    assert dist.cdf(2.9)[0] == dist.cdf(2)[0]
    expected = oracle.log_predictive("poisson", 2.5, 1.0, 0.1, NO_LINK)
    assert dist.logpmf(2.5)[0] == pytest.approx(expected, abs=1e-8)


def test_raw_quantiles_of_what_is_no_mixture():
    one = np.ones((1, 1))
    for weights, log_mean, log_var in ((0 * one, one, one), (one, np.nan * one, one), (one, one, np.nan * one)):
        assert np.isnan(count_quantiles(weights, log_mean, log_var, np.array([0.3]))).all()


# Samples, shapes, errors


def test_samples_agree_with_moments_and_cdf():
    dist = one_row([0.2, 0.5, 0.3, 0.0], [0.0, 1.5, 2.5, np.nan], [0.5, 0.1, 0.0, np.nan])
    draws = dist.sample(40_000, np.random.default_rng(10))[:, 0]
    assert draws.dtype == np.float64
    assert draws.mean() == pytest.approx(dist.mean[0], abs=5.0 * dist.std[0] / 200.0)
    assert draws.std() == pytest.approx(dist.std[0], rel=0.03)
    for k in (0, 2, 5, 12):
        assert np.mean(draws <= k) == pytest.approx(dist.cdf(k)[0], abs=0.012)
    np.testing.assert_array_equal(draws, dist.sample(40_000, 10)[:, 0])


def test_shapes():
    mixture = random_mixture(np.random.default_rng(7), n=3)
    k = np.zeros(3)
    assert len(mixture) == 3
    for values in (mixture.mean, mixture.var, mixture.std, mixture.cdf(k), mixture.pmf(k), mixture.logpmf(1)):
        assert values.shape == (3,)
    assert mixture.quantile(0.2).shape == (3,)
    assert mixture.quantile([0.1, 0.2, 0.3, 0.4]).shape == (4, 3)
    assert mixture.sample(5, 0).shape == (5, 3)


def test_rows_can_be_taken():
    mixture = random_mixture(np.random.default_rng(8), n=5)
    np.testing.assert_array_equal(mixture[1:3].mean, mixture.mean[1:3])
    np.testing.assert_array_equal(mixture[[4, 0]].mean, mixture.mean[[4, 0]])
    np.testing.assert_array_equal(mixture[mixture.mean > 2].mean, mixture.mean[mixture.mean > 2])
    np.testing.assert_array_equal(mixture[-1].mean, mixture.mean[-1:])
    assert [len(row) for row in mixture] == [1] * 5
    assert len(mixture[:0]) == 0
    assert mixture[:0].interval()[0].shape == (0,)


def test_rows_do_not_depend_on_their_neighbours():
    mixture = random_mixture(np.random.default_rng(9), n=7)
    pieces = [mixture[:3], mixture[3:]]
    whole = CountMixture.concatenate(pieces)
    assert CountMixture.concatenate(pieces[:1]) is pieces[0]
    np.testing.assert_array_equal(whole.weights, mixture.weights)
    np.testing.assert_array_equal(whole.cdf(3), np.concatenate([part.cdf(3) for part in pieces]))
    joined = np.concatenate([part.quantile([0.05, 0.95]) for part in pieces], axis=1)
    np.testing.assert_array_equal(whole.quantile([0.05, 0.95]), joined)


def test_repr():
    assert repr(single(0.0, 1.0)) == "CountMixture(1 row, 1 expert)"
    assert repr(random_mixture(np.random.default_rng(0))) == "CountMixture(4 rows, 5 experts)"


def test_unchecked_takes_arrays_as_they_are():
    arrays = [np.ones((2, 1)), np.zeros((2, 1)), np.ones((2, 1))]
    mixture = CountMixture.unchecked(*arrays)
    assert mixture.weights is arrays[0]
    assert mixture.log_var is arrays[2]


@pytest.mark.parametrize("q", [0.0, 1.0, -0.1, np.nan, [0.5, 1.5], [[0.5]]])
def test_levels_outside_are_refused(q):
    with pytest.raises(InputError, match="q"):
        single(0.0, 1.0).quantile(q)


@pytest.mark.parametrize("level", [0.0, 1.0, 95, np.nan])
def test_interval_levels_outside_are_refused(level):
    with pytest.raises(InputError, match=r"level=0\.95"):
        single(0.0, 1.0).interval(level)


def test_wrong_shapes_are_refused():
    one = np.ones((3, 1))
    with pytest.raises(InputError, match="log_mean has shape"):
        CountMixture(one, np.ones((3, 2)), one)
    with pytest.raises(InputError, match="log_var has shape"):
        CountMixture(one, one, np.ones(3))
    with pytest.raises(InputError, match="weights has shape"):
        CountMixture(np.ones(3), one, one)
    with pytest.raises(InputError, match="k has shape"):
        CountMixture(one, one, one).cdf(np.zeros(4))


@pytest.mark.parametrize(
    ("weights", "log_mean", "log_var"),
    [
        ([0.5, 0.4], [0.0, 0.0], [1.0, 1.0]),
        ([1.5, -0.5], [0.0, 0.0], [1.0, 1.0]),
        ([np.nan, 1.0], [0.0, 0.0], [1.0, 1.0]),
        ([0.5, 0.5], [np.nan, 0.0], [1.0, 1.0]),
        ([0.5, 0.5], [INF, 0.0], [1.0, 1.0]),
        ([0.5, 0.5], [0.0, 0.0], [1.0, -1e-3]),
        ([0.5, 0.5], [0.0, 0.0], [1.0, np.nan]),
    ],
)
def test_what_is_no_mixture_is_refused(weights, log_mean, log_var):
    with pytest.raises(InputError, match="Row 0 is not a mixture"):
        one_row(weights, log_mean, log_var)
