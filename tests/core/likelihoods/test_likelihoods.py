"""Likelihoods: derivatives and predictive probabilities against slow quadrature, wherever the latent value lies."""

from __future__ import annotations

import math
from dataclasses import dataclass

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import laplace
from scipy import special, stats

from iegp.core.compute import logistic, normal
from iegp.core.compute.exponential import exp_negative
from iegp.core.likelihoods import LIKELIHOODS, categorical, named, sites
from iegp.errors import InputError

EPS = np.finfo(float).eps
EXPOSURE = 1.7


@dataclass(frozen=True)
class Case:
    """A likelihood, parameters to try it with (the first ones ordinary), and labels if they are not 0..K-1."""

    name: str
    links: tuple[tuple[float, ...], ...]
    numbers: tuple[float, ...] = ()

    def n_outcomes(self, link):
        if not LIKELIHOODS[self.name].has_classes:
            return 0
        return next(k for k in range(2, 99) if LIKELIHOODS[self.name].n_link(k) == len(link))

    def n_latents(self, link):
        return LIKELIHOODS[self.name].n_latents(self.n_outcomes(link))

    def labels(self, link):
        return self.numbers or tuple(float(k) for k in range(self.n_outcomes(link)))

    def row(self, label, exposure=EXPOSURE):
        """A row of y."""
        return np.array([label, exposure][: LIKELIHOODS[self.name].label_columns])

    def derivatives(self, label, z, link, exposure=EXPOSURE):
        return LIKELIHOODS[self.name].derivatives(self.row(label, exposure), z, np.array(link))

    def label_model(self, link, integration="quadrature", nodes=None):
        nodes = np.zeros((self.n_latents(link), 0)) if nodes is None else nodes
        return sites.label_model_of(LIKELIHOODS[self.name], integration, np.array(link), nodes)

    def predict(self, label, mean, var, link, integration="quadrature", nodes=None, exposure=EXPOSURE):
        """Log probability of a label, and of all classes."""
        mean = np.atleast_1d(np.array(mean, dtype=float))
        outcomes = np.full(self.n_outcomes(link), np.nan)
        label = self.row(label, exposure)
        score = sites.log_predictive(self.label_model(link, integration, nodes), label, mean, var, outcomes)
        return score, outcomes


# To test a likelihood, add its row.
TABLE = {
    case.name: case
    for case in (
        Case("bernoulli-logit", links=((0.3,), (-40.0,))),
        Case("bernoulli-probit", links=((0.3,), (-40.0,))),
        Case("poisson", links=((-0.4,), (5.0,)), numbers=(0.0, 1.0, 2.5, 40.0, 1e6)),
        Case("ordinal-logit", links=((-1.0, 0.2, 2.5), (-300.0, 300.0), (0.0, 0.01))),
        Case("ordinal-probit", links=((-1.0, 0.2, 2.5), (-30.0, 30.0), (0.0, 0.01))),
        Case("categorical", links=((0.5, 0.0, -0.5), (0.2, -0.4), (0.1,) * 10)),
    )
}
CATEGORICAL = TABLE["categorical"]
SCALAR = [(TABLE[name], link) for name in laplace.SCALAR_KINDS for link in TABLE[name].links]
CLASSES = [(case, link) for case, link in SCALAR if case.n_outcomes(link)]
IDS = {"ids": lambda value: value.name if isinstance(value, Case) else None}
NEAR = np.array([0.0, 0.1, 0.7, 2.0, 5.0, 8.3, 11.9, 12.1, 20.0, 37.0, 39.0, 50.0])
LATENTS = np.concatenate([-NEAR[:0:-1], NEAR])
MEANS = [0.0, -0.4, 2.0, -9.0, 33.0, -200.0]
VARIANCES = [1e-6, 0.05, 0.3, 0.9, 1.9, 2.1, 7.0, 30.0, 1e3, 1e6]


def test_every_likelihood_has_a_row():
    assert list(TABLE) == list(LIKELIHOODS)
    # The tests below take their names from the oracle: without an entry there a likelihood would not be tested.
    assert set(TABLE) == {*laplace.SCALAR_KINDS, "categorical"}


def test_an_unknown_name_is_refused():
    assert named("poisson").name == "poisson"
    with pytest.raises(InputError, match="bernoulli-logit"):
        named("gaussian")


# --- derivatives ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("case", "link"), SCALAR, **IDS)
def test_derivatives_are_those_of_the_oracle(case, link):
    for label in case.labels(link):
        found = np.array([case.derivatives(label, z, link) for z in LATENTS])
        arguments = [(case.name, label, z, np.array(link), EXPOSURE) for z in LATENTS]
        for column, function in enumerate((laplace.log_density, laplace.gradient, laplace.curvature)):
            wanted = np.array([function(*a) for a in arguments])
            # Two cut-points that are close together leave a difference of two numbers close together.
            rounding = 8.0 * EPS / np.min(np.diff(link), initial=1.0) ** 2
            assert_allclose(found[:, column], wanted, rtol=1e-11, atol=1e-300 + rounding, err_msg=f"column {column}")


@pytest.mark.parametrize(("case", "link"), SCALAR, **IDS)
def test_derivatives_stay_finite_and_the_curvature_positive_far_away(case, link):
    for label in case.labels(link):
        for z in (-1e5, -1e3, -700.0, 700.0, 1e3, 1e5):
            log_probability, slope, curvature = case.derivatives(label, z, link)
            assert math.isfinite(log_probability)
            assert math.isfinite(slope)
            assert 0.0 <= curvature < math.inf


@pytest.mark.parametrize("name", ["ordinal-logit", "ordinal-probit"])
@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_a_class_between_close_cut_points_loses_only_what_rounding_takes(name, gap):
    case, link = TABLE[name], (0.4, 0.4 + gap)
    for z in LATENTS:
        found = case.derivatives(1.0, z, link)
        exact = [f(name, 1.0, z, np.array(link)) for f in (laplace.log_density, laplace.gradient, laplace.curvature)]
        rounding = 16.0 * EPS * (1.0 + abs(z)) / gap
        assert_allclose(found[:2], exact[:2], rtol=1e-10 + rounding, atol=rounding)
        assert_allclose(found[2], exact[2], atol=1e-10 + min(1.0, rounding * (1.0 + abs(z))))


@pytest.mark.parametrize(("case", "link"), CLASSES, **IDS)
def test_probabilities_of_the_labels_sum_to_one(case, link):
    for z in LATENTS:
        total = sum(math.exp(case.derivatives(label, z, link)[0]) for label in case.labels(link))
        assert total == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize(("case", "link"), SCALAR, **IDS)
@pytest.mark.parametrize("shift", [-3.0, 0.7, 25.0])
def test_a_shift_of_the_link_is_a_shift_of_the_latent_value(case, link, shift):
    """Cut-points move with the latent value, biases against it."""
    moved = np.array(link) + (shift if case.name.startswith("ordinal") else -shift)
    for label in case.labels(link):
        for z in (-4.0, 0.0, 6.0):
            wanted = case.derivatives(label, z, link)
            assert_allclose(case.derivatives(label, z + shift, moved), wanted, rtol=1e-9, atol=1e-9)
            found, wanted = (case.predict(label, m, 1.3, u)[0] for m, u in ((z + shift, moved), (z, link)))
            assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_exposure_multiplies_the_rate():
    case = TABLE["poisson"]
    for count in case.numbers:
        wanted = case.derivatives(count, 0.3 + math.log(5.0), (-0.4,), exposure=1.0)
        assert_allclose(case.derivatives(count, 0.3, (-0.4,), exposure=5.0), wanted, rtol=1e-13)


# --- predictive probabilities, one latent value ---------------------------------------------------------------------


def tolerance(case, link, label, var):
    """Of a log probability; rounding of the log factorial and of differences of close cut-points is allowed for."""
    if case.numbers:
        wide = 1e-3 if var > 1e3 else 1e-4 if var > 30.0 else 1e-8
        return wide + 4.0 * EPS * special.gammaln(max(label, 0.0) + 1.0)
    return 1e-8 + 40.0 * EPS * math.sqrt(1.0 + var) / np.min(np.diff(link), initial=1.0)


@pytest.mark.parametrize("label", [-5.0, -2.0, -1.0, 0.0])
def test_the_tolerance_for_negative_labels_is_small(label):
    """The log factorial of a negative whole number is infinite."""
    case = Case("noise", links=((0.0,),), numbers=(label,))
    assert tolerance(case, (0.0,), label, 1.0) <= 1e-8


@pytest.mark.parametrize(("case", "link"), SCALAR, **IDS)
@pytest.mark.parametrize("var", VARIANCES)
def test_predictive_probabilities_are_those_of_the_quadrature(case, link, var):
    for label in case.labels(link):
        for mean in MEANS if link == case.links[0] else MEANS[1::2]:
            found = case.predict(label, mean, var, link)[0]
            wanted = laplace.log_predictive(case.name, label, mean, var, np.array(link), EXPOSURE)
            assert found == pytest.approx(wanted, rel=1e-12, abs=tolerance(case, link, label, var)), (label, mean)


@pytest.mark.parametrize(("case", "link"), SCALAR, **IDS)
@pytest.mark.parametrize("integration", ["quadrature", "probit"])
def test_predictive_probability_of_a_known_latent_value_is_the_likelihood(case, link, integration):
    for label in case.labels(link):
        for mean in (-4.0, 0.0, 0.3, 6.0):
            wanted, slope, _ = case.derivatives(label, mean, link)
            for var in (0.0, -1e-18):  # rounding may leave less than nothing
                found = case.predict(label, mean, var, link, integration)[0]
                # A count is given a variance of 1e-14, which a steep likelihood notices.
                assert found == pytest.approx(wanted, rel=1e-12, abs=1e-8 + 1e-14 * slope**2)


def test_predictive_probability_of_a_count_at_a_known_enormous_rate_is_finite():
    case = TABLE["poisson"]
    for mean in (30.0, 45.0, 400.0):
        for count in (0.0, 1.0, 1e8):
            assert -math.inf < case.predict(count, mean, 0.0, (2.8,))[0] < 0.0


@pytest.mark.parametrize(("case", "link"), [*CLASSES, *((CATEGORICAL, link) for link in CATEGORICAL.links)], **IDS)
@pytest.mark.parametrize("var", [0.0, *VARIANCES])
@pytest.mark.parametrize("integration", ["quadrature", "probit", "monte-carlo"])
def test_predictive_probabilities_of_all_classes_sum_to_one(case, link, var, integration):
    n_latents = case.n_latents(link)
    nodes = sites.draws(integration, n_latents, seed=1)
    for centre in MEANS:
        mean = centre * np.cos(np.arange(n_latents))
        for label in case.labels(link):
            score, outcomes = case.predict(label, mean, var, link, integration, nodes)
            assert score == outcomes[int(label)]
        assert np.all(outcomes <= 1e-14)
        assert np.exp(outcomes).sum() == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("name", laplace.SCALAR_KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_monte_carlo_is_the_average_of_the_draws_and_within_its_standard_error(name, seed):
    case, link, mean, var = TABLE[name], TABLE[name].links[0], 0.8, 0.6
    nodes = sites.draws("monte-carlo", 1, seed)
    for label in case.labels(link)[:3]:  # a rare event is not met among so few draws
        at = mean + math.sqrt(var) * nodes[0]
        p = np.exp([laplace.log_density(case.name, label, float(z), np.array(link), EXPOSURE) for z in at])
        found = math.exp(case.predict(label, mean, var, link, "monte-carlo", nodes)[0])
        assert found == pytest.approx(p.mean(), rel=1e-11)
        error = 5.0 * p.std() / math.sqrt(p.size)
        assert found == pytest.approx(math.exp(case.predict(label, mean, var, link)[0]), abs=error)


@pytest.mark.parametrize("seed", range(3))
def test_monte_carlo_of_a_softmax_is_within_its_standard_error(seed):
    case, link, mean = CATEGORICAL, np.array([0.5, 0.0, -0.5]), np.array([0.4, -1.0, 0.0])
    nodes = sites.draws("monte-carlo", 3, seed)
    p = special.softmax((mean + link)[:, None] + math.sqrt(0.6) * nodes, axis=0)
    found = np.exp(case.predict(0.0, mean, 0.6, link, "monte-carlo", nodes)[1])
    assert_allclose(found, p.mean(axis=1), rtol=1e-12)
    exact = np.exp(case.predict(0.0, mean, 0.6, link)[1])
    assert np.all(np.abs(found - exact) <= 5.0 * p.std(axis=1) / math.sqrt(p.shape[1]))


# --- categorical ----------------------------------------------------------------------------------------------------


def assert_probabilities(mean, var, link, wanted, tolerance=1e-5):
    outcomes = CATEGORICAL.predict(0.0, mean, var, link)[1]
    visible = wanted > 1e-9
    assert_allclose(np.exp(outcomes[visible]), wanted[visible], rtol=tolerance)
    assert np.all(outcomes[~visible] < -20.0)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("var", [1e-6, 0.01, 0.05, 0.2, 0.37, 0.9, 2.1, 5.9, 6.1, 60.0, 1e4])
def test_predictive_probabilities_of_classes_are_those_of_the_quadrature(n_classes, var):
    """Means whose differences are seen even beside the spread: some classes are likely, some all but impossible."""
    rng = np.random.default_rng(n_classes)
    link = rng.normal(size=n_classes)
    spread = math.sqrt(1.0 + var) * np.linspace(-2.5, 2.5, n_classes)
    for mean in [rng.permutation(spread)] + [np.zeros(n_classes)] * (n_classes < 10):
        wanted = laplace.softmax_gumbel(mean, np.full(n_classes, var), link, n_nodes=4)
        assert_probabilities(mean, var, link, wanted)


@pytest.mark.parametrize("var", np.geomspace(1e-6, 1e6, 37))
def test_predictive_probabilities_of_two_classes_are_those_of_their_difference(var):
    for distance in (0.0, 0.5, 1.5, 3.0, 5.5):
        difference = distance * math.sqrt(1.0 + 2.0 * var)
        wanted = [laplace.predictive("bernoulli-logit", y, difference, 2.0 * var, np.zeros(1)) for y in (0, 1)]
        assert_probabilities(np.array([3.0, 3.0 + difference]), var, np.zeros(2), np.array(wanted))


@pytest.mark.parametrize("var", [0.01, 0.3, 2.0, 6.1, 20.0, 1e3, 1e6])
@pytest.mark.parametrize("wanted", [-25.0, -40.0])
def test_log_probabilities_of_hopeless_classes_are_right_to_a_percent(var, wanted):
    """A label that was thought impossible must cost what it costs, not end an expert."""
    low, high = 0.0, 1e5
    for _ in range(100):
        middle = 0.5 * (low + high)
        too_far = logistic.log_expected_sigmoid(-middle, 2.0 * var) < wanted
        low, high = (low, middle) if too_far else (middle, high)
    found = CATEGORICAL.predict(0.0, [0.0, low], var, (0.0, 0.0))[0]
    exact = laplace.log_predictive("bernoulli-logit", 0, low, 2.0 * var, np.zeros(1))
    assert exact == pytest.approx(wanted, rel=1e-6)
    assert found == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("var", [0.0, 1e-6, 0.05, 0.5, 3.0, 50.0, 1e6])
@pytest.mark.parametrize("n_classes", [2, 5, 20])
def test_equal_classes_are_equally_probable(n_classes, var):
    link = (0.7,) * n_classes
    for integration in ("quadrature", "probit"):
        outcomes = CATEGORICAL.predict(0.0, np.full(n_classes, -3.0), var, link, integration)[1]
        assert_allclose(np.exp(outcomes), 1.0 / n_classes, rtol=1e-12)


@pytest.mark.parametrize("var", [1e-3, 0.2, 2.0, 50.0])
def test_softmax_ignores_the_common_level_and_the_names_of_the_classes(var):
    case, order = CATEGORICAL, np.array([2, 0, 3, 1])
    mean, link = np.array([0.3, -1.0, 2.0, 0.0]), np.array([0.1, 0.5, -0.2, 0.0])
    wanted = case.predict(0.0, mean, var, link)[1]
    assert_allclose(case.predict(0.0, mean + 400.0, var, link)[1], wanted, rtol=1e-9)
    assert_allclose(case.predict(0.0, mean[order], var, link[order])[1], wanted[order], rtol=1e-12)
    assert_allclose(case.predict(0.0, mean + link, var, np.zeros(4))[1], wanted, rtol=1e-12)


def test_softmax_of_known_latent_values_is_exact():
    case, mean, link = CATEGORICAL, np.array([0.3, -1.0, 30.0]), np.array([0.1, 0.5, -0.2])
    for integration in ("quadrature", "probit"):
        outcomes = case.predict(0.0, mean, 0.0, link, integration)[1]
        assert_allclose(outcomes, special.log_softmax(mean + link), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("var", [0.1, 1.0, 10.0, 1e4])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_probit_approximation_of_a_softmax_is_close(n_classes, var):
    case, link = CATEGORICAL, np.zeros(n_classes)
    for distance in (0.0, 1.0, 4.0):
        mean = distance * np.arange(n_classes)
        exact, rough = (case.predict(0.0, mean, var, link, i)[1] for i in ("quadrature", "probit"))
        assert_allclose(np.exp(rough), np.exp(exact), atol=0.1)


def test_softmax_returns_the_log_of_its_normaliser():
    for values in (np.array([0.3, -1.0, 2.0]), np.array([900.0, -900.0, 899.0])):
        p = np.empty(3)
        assert categorical.softmax(values, np.ones(3), p) == pytest.approx(special.logsumexp(values + 1.0), rel=1e-14)
        assert_allclose(p, special.softmax(values), rtol=1e-13)


# --- distributions --------------------------------------------------------------------------------------------------


def test_normal_distribution_in_both_tails():
    x = np.concatenate([np.linspace(-40.0, 40.0, 401), [-1e4, -1e3, -12.0, -11.999999]])
    assert_allclose([normal.normal_cdf(u) for u in x], special.ndtr(x), rtol=1e-12, atol=1e-300)
    assert_allclose([normal.log_normal_cdf(u) for u in x], special.log_ndtr(x), rtol=1e-12, atol=1e-300)
    low = x[x < 8.0]
    with mpmath.workdps(40):
        wanted = [float(mpmath.ncdf(u) / mpmath.npdf(u)) for u in map(mpmath.mpf, low)]
    assert_allclose([normal.mills_ratio(u) for u in low], wanted, rtol=1e-12)
    assert normal.log_normal_cdf(-math.inf) == -math.inf


@pytest.mark.parametrize(("low", "high"), [(-1.0, 2.0), (5.0, 6.0), (-30.0, -29.0), (0.0, math.inf), (-math.inf, -9.0)])
def test_probabilities_of_intervals(low, high):
    sides = (low, high) if low + high < 0.0 else (-high, -low)
    for found, distribution in ((normal, stats.norm), (logistic, stats.logistic)):
        wanted = math.log(distribution.cdf(sides[1]) - distribution.cdf(sides[0]))
        assert found.interval(low, high)[0] == pytest.approx(wanted, rel=1e-12)


def test_sigmoid_in_both_tails():
    x = np.linspace(-745.0, 745.0, 299)
    assert_allclose([logistic.sigmoid(u) for u in x], special.expit(x), rtol=1e-14, atol=1e-300)
    assert_allclose([logistic.log_sigmoid(u) for u in x], special.log_expit(x), rtol=1e-14, atol=1e-300)


def exp_of_minus(x):
    out = np.empty_like(x)
    exp_negative(x, np.empty(x.size, np.int64), out)
    return out


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1001])
def test_exponentials_of_an_array_are_those_of_numpy(size):
    x = np.linspace(0.0, 699.0, size)
    assert_allclose(exp_of_minus(x), np.exp(-x), rtol=2e-14)


def test_exponentials_of_tiny_and_huge_numbers():
    assert_array_equal(exp_of_minus(np.array([0.0, 1e-300, 1e-20])), 1.0)
    far = exp_of_minus(np.array([700.0, 701.0, 1e300, math.inf]))
    assert_allclose(far, math.exp(-700.0), rtol=2e-14)


@pytest.mark.parametrize("mean", [-3200.0, -3900.0, -4900.0])
def test_a_sigmoid_under_a_very_wide_gaussian_far_away(mean):
    """Where the normal distribution function underflows, and the density around zero is that of an exponential."""
    expected = laplace.log_predictive("bernoulli-logit", 1, mean, 1e4, np.zeros(1))
    assert logistic.log_expected_sigmoid(mean, 1e4) == pytest.approx(expected, abs=1e-2)
    assert np.isfinite(logistic.log_expected_interval(mean, mean + 5.0, 1e4))


def test_one_of_absurdly_different_classes_is_certain():
    """Steps along the line are lost in the digits of the means: the loop must end all the same."""
    outcomes = np.empty(3)
    assert categorical.log_probabilities(0, np.array([1e60, 0.0, 0.0]), 10.0, np.zeros(3), outcomes) == 0.0
    assert np.all(outcomes[1:] < -600.0)
