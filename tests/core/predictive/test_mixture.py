"""The predictive mixture: fast equals oracle, and the properties a distribution must have."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import mixture as oracle
from scipy import stats

from iegp.core.predictive.mixture import Mixture
from iegp.core.predictive.quantiles import quantiles
from iegp.core.predictive.student import student_cdf_pdf, student_log_kernel, student_log_normaliser
from iegp.errors import InputError

INF = math.inf
LEVELS = [1e-6, 0.025, 0.3, 0.5, 0.8, 0.975, 1 - 1e-6]


def student_logpdf(residual, scale, dof):
    return student_log_normaliser(dof) + student_log_kernel(residual, scale, dof)


def student_cdf(r, dof):
    return student_cdf_pdf(r, dof, student_log_normaliser(dof))[0]


fast = settings(max_examples=40, deadline=None, derandomize=True)


def random_mixture(rng, n=4, n_experts=5, n_outputs=1, low_dof=0.6):
    """Weights, centres, scales and degrees of freedom of all sizes; a third of the components are Gaussian."""
    shape = (n, n_experts, n_outputs)
    dof = np.where(rng.random(shape) < 0.33, INF, low_dof * 10 ** rng.uniform(0, 4, shape))
    weights = rng.dirichlet(np.full(n_experts, 0.5), size=n)
    scale = 10 ** rng.uniform(-1, 1, shape)
    return Mixture(weights, 2.0 * rng.normal(size=shape), scale, dof, single_output=n_outputs == 1)


def one_row(weights, loc, scale, dof):
    """A mixture of one row and one output from lists over experts."""
    columns = [np.array(values, dtype=float)[None, :, None] for values in (loc, scale, dof)]
    return Mixture(np.array([weights], dtype=float), *columns)


def fields(mixture, row, output=0):
    return (
        mixture.weights[row],
        mixture.loc[row, :, output],
        mixture.scale[row, :, output],
        mixture.dof[row, :, output],
    )


@st.composite
def mixtures(draw):
    """One row, one output, one to four experts, scales over eight decades."""
    count = draw(st.integers(1, 4))
    raw = draw(st.lists(st.floats(0.01, 1.0), min_size=count, max_size=count))
    loc = draw(st.lists(st.floats(-1e3, 1e3), min_size=count, max_size=count))
    log_scale = draw(st.lists(st.floats(-4.0, 4.0), min_size=count, max_size=count))
    dof = draw(st.lists(st.one_of(st.just(INF), st.floats(0.6, 1e7)), min_size=count, max_size=count))
    return one_row(np.array(raw) / sum(raw), loc, 10.0 ** np.array(log_scale), dof)


# The Student-t


@pytest.mark.parametrize("dof", [0.5, 1.0, 2.0, 3.0, 3.7, 5.0, 12.0, 20.0, 29.0, 29.9, 30.0, 31.5, 80.0, 1e3, 1e5, INF])
def test_student_equals_high_precision(dof):
    for r in [0.0, 1e-8, 0.3, 1.0, 2.2, 3.99, 4.01, 5.6, 9.0, 40.0]:
        for value in (-r, r):
            assert student_cdf(value, dof) == pytest.approx(oracle.student_cdf(value, dof), rel=1e-11, abs=1e-17)
            expected = oracle.student_logpdf(value, dof) - math.log(2.0)
            assert student_logpdf(2.0 * value, 2.0, dof) == pytest.approx(expected, rel=2e-14, abs=2e-14)


@pytest.mark.parametrize("dof", [0.01, 20.0, 29.999, 30.0, 1e4, 1e9, 1e15, 1e17, 1e18, 1e20])
def test_normaliser_keeps_its_digits(dof):
    assert student_log_normaliser(dof) == pytest.approx(oracle.student_logpdf(0.0, dof), abs=2e-14)


def test_student_far_out_neither_overflows_nor_warns():
    assert student_cdf(-1e200, 0.5) == 0.0
    assert student_cdf(1e200, INF) == 1.0
    assert student_logpdf(1e200, 1e-100, 1.0) == pytest.approx(
        -math.log(math.pi) - 2 * 300 * math.log(10) + 100 * math.log(10)
    )
    assert student_logpdf(1e200, 1.0, INF) == -INF
    assert student_log_kernel(0.0, 1.0, 4.0) == 0.0
    assert math.isnan(student_logpdf(math.nan, 1.0, INF))


# Fast equals oracle


def test_cdf_equals_oracle():
    rng = np.random.default_rng(1)
    mixture = random_mixture(rng, n=12)
    y = 3.0 * rng.normal(size=12)
    expected = [oracle.cdf(y[i], *fields(mixture, i)) for i in range(12)]
    np.testing.assert_allclose(mixture.cdf(y), expected, rtol=1e-11)


def test_moments_equal_oracle():
    mixture = random_mixture(np.random.default_rng(2), n=6, low_dof=2.5)
    expected = [oracle.var(*fields(mixture, i)) for i in range(6)]
    np.testing.assert_allclose(mixture.mean, [oracle.mean(*fields(mixture, i)[:2]) for i in range(6)], rtol=1e-12)
    np.testing.assert_allclose(mixture.var, expected, rtol=1e-10)
    np.testing.assert_allclose(mixture.std, np.sqrt(expected), rtol=1e-10)


def test_logpdf_is_joint_over_outputs():
    rng = np.random.default_rng(3)
    mixture = random_mixture(rng, n=5, n_outputs=3)
    y = rng.normal(size=(5, 3))
    rows = zip(y, mixture.weights, mixture.loc, mixture.scale, mixture.dof, strict=True)
    np.testing.assert_allclose(mixture.logpdf(y), [oracle.joint_logpdf(*row) for row in rows], rtol=1e-11)


def test_quantile_equals_oracle():
    mixture = random_mixture(np.random.default_rng(4), n=5, low_dof=1.5)
    expected = [[oracle.quantile(q, *fields(mixture, i)) for i in range(5)] for q in LEVELS]
    np.testing.assert_allclose(mixture.quantile(LEVELS), expected, rtol=1e-8)


@pytest.mark.parametrize("dof", [0.8, 1.0, 2.5, 6.0, 50.0, INF])
def test_crps_equals_oracle(dof):
    rng = np.random.default_rng(5)
    mixture = random_mixture(rng, n=2, n_experts=3)
    mixture = Mixture(mixture.weights, mixture.loc, mixture.scale, np.full_like(mixture.dof, dof))
    y = 4.0 * rng.normal(size=2)
    expected = [oracle.crps(y[i], *fields(mixture, i)) for i in range(2)]
    np.testing.assert_allclose(mixture.crps(y), expected, rtol=1e-6)


def test_crps_of_a_standard_gaussian_at_its_centre():
    assert one_row([1.0], [0.0], [1.0], [INF]).crps(0.0)[0] == pytest.approx((math.sqrt(2) - 1) / math.sqrt(math.pi))


def test_crps_by_quadrature_equals_its_closed_form():
    rng = np.random.default_rng(6)
    gaussian = random_mixture(rng, n=6)
    y = 3.0 * rng.normal(size=6)
    closed = Mixture(gaussian.weights, gaussian.loc, gaussian.scale, np.full_like(gaussian.dof, INF)).crps(y)
    quadrature = Mixture(gaussian.weights, gaussian.loc, gaussian.scale, np.full_like(gaussian.dof, 1e17)).crps(y)
    np.testing.assert_allclose(quadrature, closed, rtol=1e-7)


def test_crps_where_the_closed_form_cancels():
    # A rare, enormously wide component: E|Y - y| and E|Y - Y'|/2 agree to ten digits.
    weights, scale = [1 - 1e-11, 1e-11], [1e-12, 1e11]
    rare, narrow = (
        1e-22 * 1e11 * (math.sqrt(2) - 1) / math.sqrt(math.pi),
        1e-12 * (math.sqrt(2) - 1) / math.sqrt(math.pi),
    )
    score = one_row(weights, [0.0, 0.0], scale, [INF, INF]).crps(0.0)[0]
    assert score == pytest.approx(rare + narrow, rel=1e-5)


def test_crps_of_very_heavy_tails():
    # With half a degree of freedom the integral diverges; just above, the tail is most of it.
    assert one_row([1.0], [0.0], [1.0], [0.5]).crps(0.0)[0] == INF
    near, nearer = (one_row([1.0], [0.0], [1.0], [dof]).crps(0.0)[0] for dof in (0.5 + 1e-4, 0.5 + 5e-5))
    assert nearer / near == pytest.approx(2.0, rel=1e-2)


# Properties


@fast
@given(mixtures(), st.lists(st.floats(-1e5, 1e5), min_size=2, max_size=6))
def test_cdf_is_monotone(mixture, points):
    values = [mixture.cdf(y)[0] for y in sorted(points)]
    assert np.all(np.diff(values) >= -1e-14)
    assert values[0] >= 0.0
    assert values[-1] <= 1.0


@fast
@given(mixtures(), st.floats(1e-6, 1 - 1e-6))
def test_quantile_inverts_cdf(mixture, q):
    y = mixture.quantile(q)[0]
    # A float cannot do better than its neighbours where a component is narrow and far from zero.
    spacing = mixture.cdf(np.nextafter(y, INF))[0] - mixture.cdf(np.nextafter(y, -INF))[0]
    assert abs(mixture.cdf(y)[0] - q) < 1e-12 + spacing


@fast
@given(mixtures())
def test_quantiles_are_ordered(mixture):
    assert np.all(np.diff(mixture.quantile(LEVELS)[:, 0]) >= 0.0)


@fast
@given(mixtures(), st.permutations([0, 1, 2, 3]), st.floats(-1e3, 1e3))
def test_order_of_experts_is_irrelevant(mixture, order, y):
    order = [m for m in order if m < mixture.weights.shape[1]]
    shuffled = Mixture(mixture.weights[:, order], mixture.loc[:, order], mixture.scale[:, order], mixture.dof[:, order])
    same(shuffled, mixture, y)


@fast
@given(mixtures(), st.floats(0.01, 0.99), st.floats(-1e3, 1e3))
def test_splitting_weights_over_copies_changes_nothing(mixture, share, y):
    weights = np.concatenate([share * mixture.weights, (1 - share) * mixture.weights], axis=1)
    copies = [np.concatenate([values, values], axis=1) for values in (mixture.loc, mixture.scale, mixture.dof)]
    same(Mixture(weights, *copies), mixture, y)


@fast
@given(mixtures(), st.floats(-1e3, 1e3))
def test_components_without_weight_are_invisible(mixture, y):
    nothing = np.full((1, 1, 1), np.nan)
    fields_ = [
        np.concatenate([nothing, values, nothing], axis=1) for values in (mixture.loc, mixture.scale, mixture.dof)
    ]
    same(Mixture(np.pad(mixture.weights, ((0, 0), (1, 1))), *fields_), mixture, y)


def same(left, right, y):
    for name in ("mean", "var"):
        np.testing.assert_allclose(getattr(left, name), getattr(right, name), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(left.cdf(y), right.cdf(y), rtol=1e-12)
    np.testing.assert_allclose(left.logpdf(y), right.logpdf(y), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(left.crps(y), right.crps(y), rtol=1e-6)
    lower, upper = left.interval(0.9)
    np.testing.assert_allclose(right.cdf(lower), 0.05, atol=1e-9 + float_spacing(right, lower))
    np.testing.assert_allclose(right.cdf(upper), 0.95, atol=1e-9 + float_spacing(right, upper))


def float_spacing(mixture, y):
    return (mixture.cdf(np.nextafter(y, INF)) - mixture.cdf(np.nextafter(y, -INF)))[0]


@fast
@given(mixtures(), st.floats(-100.0, 100.0), st.floats(0.001, 1000.0), st.floats(-100.0, 100.0))
def test_location_and_scale_move_everything_along(mixture, shift, factor, y):
    moved = Mixture(mixture.weights, shift + factor * mixture.loc, factor * mixture.scale, mixture.dof)
    at = shift + factor * y
    coarse = 1e-10 * (1 + abs(shift) + factor * (abs(y) + np.abs(mixture.loc).max()))
    tolerance = coarse / (factor * mixture.scale.min())
    np.testing.assert_allclose(moved.cdf(at), mixture.cdf(y), atol=1e-12 + tolerance)
    np.testing.assert_allclose(moved.mean, shift + factor * mixture.mean, atol=coarse)
    np.testing.assert_allclose(moved.std, factor * mixture.std, rtol=1e-6, atol=coarse)
    np.testing.assert_allclose(moved.crps(at), factor * mixture.crps(y), rtol=2e-6, atol=coarse)
    back = (moved.quantile([0.1, 0.99]) - shift) / factor
    np.testing.assert_allclose(mixture.cdf(back[1]), 0.99, atol=1e-9 + tolerance)
    np.testing.assert_allclose(mixture.cdf(back[0]), 0.1, atol=1e-9 + tolerance)


def test_concentrated_weights_are_a_single_component():
    for dof, frozen in ((4.0, stats.t(4, 1.5, 0.2)), (INF, stats.norm(1.5, 0.2))):
        mixture = one_row([0.0, 1.0, 0.0], [0.0, 1.5, 9.0], [1.0, 0.2, 3.0], [3.0, dof, 1.0])
        np.testing.assert_allclose(mixture.quantile(LEVELS)[:, 0], frozen.ppf(LEVELS), rtol=1e-9)
        assert mixture.std[0] == pytest.approx(frozen.std())
        assert mixture.logpdf(1.0)[0] == pytest.approx(frozen.logpdf(1.0))


def test_many_degrees_of_freedom_approach_the_gaussian():
    gaussian = one_row([0.3, 0.7], [0.0, 1.0], [1.0, 2.0], [INF, INF])
    for dof in (1e8, 1e17, 1e19):
        near = one_row([0.3, 0.7], [0.0, 1.0], [1.0, 2.0], [dof, dof])
        np.testing.assert_allclose(near.quantile(LEVELS), gaussian.quantile(LEVELS), rtol=1e-6)
        np.testing.assert_allclose(near.crps(0.3), gaussian.crps(0.3), rtol=1e-7)
        np.testing.assert_allclose(near.logpdf(0.3), gaussian.logpdf(0.3), rtol=1e-7)


# Hard cases


@pytest.mark.parametrize(
    ("weights", "loc", "scale", "dof"),
    [
        ([0.5, 0.5], [-1e9, 1e9], [1.0, 1.0], [INF, 3.0]),
        ([0.5, 0.5], [0.0, 0.0], [1e-12, 1e12], [INF, INF]),
        ([0.5, 0.5], [0.0, 0.0], [1e-12, 1e12], [0.5, 0.5]),
        ([1 - 1e-15, 1e-15], [0.0, 1e6], [1e-12, 1e12], [5.0, 0.5]),
        ([1e-15, 1 - 1e-15], [0.0, 1e6], [1e-3, 1e2], [INF, 40.0]),
        ([1 - 1e-5, 1e-5], [0.0, 1e12], [1e-6, 1e12], [0.7, INF]),
        ([0.2, 0.3, 0.5], [0.0, 0.0, 0.0], [1e-12, 1.0, 1e12], [30.0, 1.0, 1e6]),
        ([1.0], [0.0], [1e12], [0.5]),
        ([1.0], [0.0], [1e-12], [INF]),
    ],
)
def test_quantiles_of_awkward_mixtures(weights, loc, scale, dof):
    mixture = one_row(weights, loc, scale, dof)
    levels = np.array([1e-6, 1e-3, 0.3, 0.5, 0.5 + 1e-9, 0.7, 1 - 1e-3, 1 - 1e-6])
    found = mixture.quantile(levels)[:, 0]
    assert np.all(np.isfinite(found))
    assert np.all(np.diff(found) >= 0.0)
    for q, y in zip(levels, found, strict=True):
        assert abs(mixture.cdf(y)[0] - q) < 1e-11 + float_spacing(mixture, y)


def test_components_narrower_than_the_spacing_of_floats():
    mixture = one_row([0.4, 0.6], [1e6, 2e6], [1e-12, 1e-12], [0.9, INF])
    found = mixture.quantile([1e-6, 0.1, 0.9])[:, 0]
    np.testing.assert_allclose(found, [1e6, 1e6, 2e6], rtol=1e-9)


def test_infinite_variance_only_where_it_has_weight():
    assert one_row([0.5, 0.5], [0.0, 1.0], [1.0, 1.0], [2.0, INF]).var[0] == INF
    assert one_row([0.0, 1.0], [0.0, 1.0], [1.0, 1.0], [2.0, INF]).var[0] == 1.0


def test_logpdf_of_the_impossible():
    mixture = one_row([0.5, 0.5], [0.0, 1.0], [1.0, 1.0], [INF, INF])
    assert mixture.logpdf(1e4)[0] == pytest.approx(math.log(0.5) + stats.norm.logpdf(9999.0))
    assert mixture.logpdf(INF)[0] == -INF
    assert np.isnan(mixture.logpdf(np.nan)[0])
    assert np.isnan(mixture.cdf(np.nan)[0])
    assert np.isnan(mixture.crps(np.nan)[0])
    assert mixture.crps(-INF)[0] == INF
    assert (mixture.cdf(-INF)[0], mixture.cdf(INF)[0]) == (0.0, 1.0)


def test_raw_quantiles_of_what_is_no_mixture():
    one = np.ones((1, 1, 1))
    for weights, loc, scale, dof in (
        (np.zeros((1, 1)), one, one, one),
        (np.ones((1, 1)), np.nan * one, one, one),
        (np.ones((1, 1)), one, np.nan * one, one),
        (np.ones((1, 1)), one, one, np.nan * one),
    ):
        assert np.isnan(quantiles(weights, loc, scale, dof, np.array([0.3]))).all()


# Shapes, samples, errors


def test_shapes():
    for n_outputs, tail in ((1, ()), (2, (2,))):
        mixture = random_mixture(np.random.default_rng(7), n=3, n_outputs=n_outputs)
        y = np.zeros((3, *tail))
        assert len(mixture) == 3
        for values in (mixture.mean, mixture.var, mixture.std, mixture.cdf(y), mixture.crps(y), mixture.quantile(0.2)):
            assert values.shape == (3, *tail)
        assert mixture.logpdf(y).shape == (3,)
        assert mixture.quantile([0.1, 0.2, 0.3, 0.4]).shape == (4, 3, *tail)
        assert mixture.sample(5, 0).shape == (5, 3, *tail)
        lower, upper = mixture.interval()
        np.testing.assert_allclose(mixture.cdf(upper) - mixture.cdf(lower), 0.95, atol=1e-10)


def test_rows_can_be_taken():
    mixture = random_mixture(np.random.default_rng(8), n=5)
    np.testing.assert_array_equal(mixture[1:3].mean, mixture.mean[1:3])
    np.testing.assert_array_equal(mixture[[4, 0]].mean, mixture.mean[[4, 0]])
    np.testing.assert_array_equal(mixture[mixture.mean > 0].mean, mixture.mean[mixture.mean > 0])
    np.testing.assert_array_equal(mixture[-1].mean, mixture.mean[-1:])
    assert [len(row) for row in mixture] == [1] * 5
    assert len(mixture[:0]) == 0
    assert mixture[:0].interval()[0].shape == (0,)


def test_rows_do_not_depend_on_their_neighbours():
    mixture = random_mixture(np.random.default_rng(9), n=7, n_outputs=2)
    whole = mixture.quantile([0.05, 0.95])
    pieces = np.concatenate([mixture[:3].quantile([0.05, 0.95]), mixture[3:].quantile([0.05, 0.95])], axis=1)
    np.testing.assert_array_equal(whole, pieces)


def test_repr():
    assert repr(one_row([1.0], [0.0], [1.0], [INF])) == "Mixture(1 row, 1 expert, 1 output, Gaussian)"
    assert (
        repr(one_row([1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [3.0, INF]))
        == "Mixture(1 row, 2 experts, 1 output, Student-t)"
    )
    assert "Gaussian and Student-t" in repr(one_row([0.5, 0.5], [0.0, 0.0], [1.0, 1.0], [3.0, INF]))


def test_samples_follow_the_distribution():
    # Kolmogorov-Smirnov at a fixed seed; a correct sampler fails with probability 1e-4.
    mixture = one_row([0.2, 0.5, 0.3, 0.0], [-3.0, 0.0, 4.0, np.nan], [1.0, 0.5, 2.0, np.nan], [INF, 3.0, 0.6, np.nan])
    draws = mixture.sample(4000, np.random.default_rng(10))[:, 0]
    uniform = np.array([mixture.cdf(y)[0] for y in draws[:1000]])
    assert stats.kstest(uniform, "uniform").pvalue > 1e-4
    np.testing.assert_array_equal(draws, mixture.sample(4000, 10)[:, 0])


def test_outputs_of_a_draw_share_their_expert():
    loc = np.array([[[-10.0, -10.0], [10.0, 10.0]]])
    mixture = Mixture(np.array([[0.5, 0.5]]), loc, np.ones_like(loc), np.full_like(loc, INF), single_output=False)
    draws = mixture.sample(200, 0)[:, 0]
    assert np.all(np.sign(draws[:, 0]) == np.sign(draws[:, 1]))
    assert 50 < np.sum(draws[:, 0] > 0) < 150


@pytest.mark.parametrize("q", [0.0, 1.0, -0.1, np.nan, [0.5, 1.5], [[0.5]]])
def test_levels_outside_are_refused(q):
    with pytest.raises(InputError, match="q"):
        one_row([1.0], [0.0], [1.0], [INF]).quantile(q)


@pytest.mark.parametrize("level", [0.0, 1.0, 95, np.nan])
def test_interval_levels_outside_are_refused(level):
    with pytest.raises(InputError, match=r"level=0\.95"):
        one_row([1.0], [0.0], [1.0], [INF]).interval(level)


def test_wrong_shapes_are_refused():
    one, two = np.ones((3, 1, 1)), np.ones((3, 1, 2))
    with pytest.raises(InputError, match="weights has shape"):
        Mixture(np.ones((3, 2)), one, one, one)
    with pytest.raises(InputError, match="dof has shape"):
        Mixture(np.ones((3, 1)), one, one, two)
    with pytest.raises(InputError, match="loc has shape"):
        Mixture(np.ones((3, 1)), np.ones((3, 1)), one, one)
    with pytest.raises(InputError, match="single_output=False"):
        Mixture(np.ones((3, 1)), two, two, two)
    with pytest.raises(InputError, match="y has shape"):
        Mixture(np.ones((3, 1)), one, one, one).cdf(np.zeros(4))


@pytest.mark.parametrize(
    ("weights", "loc", "scale", "dof"),
    [
        ([0.5, 0.4], [0.0, 0.0], [1.0, 1.0], [3.0, 3.0]),
        ([1.5, -0.5], [0.0, 0.0], [1.0, 1.0], [3.0, 3.0]),
        ([np.nan, 1.0], [0.0, 0.0], [1.0, 1.0], [3.0, 3.0]),
        ([0.5, 0.5], [np.nan, 0.0], [1.0, 1.0], [3.0, 3.0]),
        ([0.5, 0.5], [0.0, 0.0], [1.0, 0.0], [3.0, 3.0]),
        ([0.5, 0.5], [0.0, 0.0], [1.0, 1.0], [3.0, 0.0]),
    ],
)
def test_what_is_no_mixture_is_refused(weights, loc, scale, dof):
    with pytest.raises(InputError, match="Row 0 is not a mixture"):
        one_row(weights, loc, scale, dof)
