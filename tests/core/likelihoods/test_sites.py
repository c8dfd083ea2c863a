"""Sites: the mode is a mode, wherever belief and label stand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from core.likelihoods.test_likelihoods import TABLE
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from oracles import laplace
from scipy import special

from iegp.core.compute import newton
from iegp.core.likelihoods import LIKELIHOODS, categorical, sites
from iegp.core.predictive import poisson_log_normal as poisson

EPS = np.finfo(float).eps
MEANS = st.one_of(st.floats(-1e3, 1e3), st.floats(-10.0, 10.0))
VARIANCES = st.floats(-8.0, 8.0).map(lambda exponent: 10.0**exponent)
COUNTS = st.one_of(st.integers(0, 10**9).map(float), st.floats(0.0, 1e3), st.sampled_from([0.0, 1.0, 1e9]))
GAPS = st.floats(-6.0, 2.0).map(lambda exponent: 10.0**exponent)


def mode_of(case, label, mean, var, link):
    guess = poisson.first_guess(label, mean, var, link) if case.name == "poisson" else math.nan
    return newton.mode_at(label, mean, var, (LIKELIHOODS[case.name].derivatives_address, link), guess)


def assert_mode(name, label, mean, var, link, exposure=1.0):
    """Zero gradient up to rounding, inside the bracket, and finite throughout; returns the mode."""
    case, link = TABLE[name], np.array(link)
    z = mode_of(case, case.row(label, exposure), mean, var, link)
    at_mean, (log_probability, slope, curvature) = (case.derivatives(label, at, link, exposure) for at in (mean, z))
    assert all(math.isfinite(value) for value in (z, log_probability, slope, curvature))
    assert curvature >= 0.0
    ends = sorted((mean, mean + var * float(at_mean[1])))
    slack = 4.0 * EPS * (abs(mean) + abs(z))
    assert ends[0] - slack <= z <= ends[1] + slack
    # The Newton step that is left: the gradient in units of its own slope. Close cut-points make the gradient noisy.
    step = (var * slope - (z - mean)) / (1.0 + var * curvature)
    assert abs(step) <= 1e-9 * (1.0 + abs(z)) + 64.0 * EPS * (1.0 + abs(z)) / np.min(np.diff(link), initial=1.0)
    return z


def assert_site(name, label, mean, var, link, exposure=1.0):
    """What an update uses is the slope and the curvature at the mode."""
    case, link = TABLE[name], np.array(link)
    z = assert_mode(name, label, mean, var, link, exposure)
    slope = np.full(1, np.nan)
    curvature = sites.site(case.label_model(link), case.row(label, exposure), np.array([mean]), var, slope)
    assert (slope[0], curvature) == case.derivatives(label, z, link, exposure)[1:]


@pytest.mark.parametrize("name", ["bernoulli-logit", "bernoulli-probit"])
@given(label=st.sampled_from([0.0, 1.0]), mean=MEANS, var=VARIANCES, bias=st.floats(-5.0, 5.0))
@example(label=1.0, mean=-1e3, var=1e8, bias=0.0)
@example(label=0.0, mean=-1e3, var=1e8, bias=0.0)
@example(label=1.0, mean=-1e3, var=1e-8, bias=0.0)
def test_mode_of_a_binary_label(name, label, mean, var, bias):
    assert_site(name, label, mean, var, [bias])


@given(count=COUNTS, exposure=st.floats(1e-3, 1e3), mean=MEANS, var=VARIANCES, bias=st.floats(-5.0, 5.0))
@example(count=1e9, exposure=1.0, mean=-1e3, var=1e8, bias=0.0)
@example(count=1e9, exposure=1.0, mean=1e3, var=1e-8, bias=0.0)
@example(count=0.0, exposure=1e3, mean=1e3, var=1e8, bias=0.0)
@example(count=0.0, exposure=1.0, mean=-1e3, var=1e8, bias=0.0)
@example(count=0.3, exposure=1.0, mean=700.0, var=1.0, bias=0.0)
def test_mode_of_a_count(count, exposure, mean, var, bias):
    assert_site("poisson", count, mean, var, [bias], exposure)


@pytest.mark.parametrize("name", ["ordinal-logit", "ordinal-probit"])
@given(label=st.integers(0, 3).map(float), mean=MEANS, var=VARIANCES, start=st.floats(-5.0, 5.0), gap=GAPS)
@example(label=1.0, mean=1e3, var=1e8, start=0.0, gap=1e-6)
@example(label=2.0, mean=-1e3, var=1e-8, start=0.0, gap=1e-6)
@example(label=1.0, mean=-30.0, var=3.0, start=1.5, gap=1e-6)
def test_mode_of_an_ordered_label(name, label, mean, var, start, gap):
    assert_site(name, label, mean, var, [start, start + gap, start + 2.0 * gap])


@pytest.mark.parametrize("name", laplace.SCALAR_KINDS)
@pytest.mark.parametrize("var", [1e-4, 0.5, 30.0, 1e6])
def test_mode_is_the_mode_of_the_oracle(name, var):
    case, link = TABLE[name], np.array(TABLE[name].links[0])
    for label in case.labels(link)[:4]:
        for mean in (-20.0, -0.7, 0.0, 9.0):
            found, _ = laplace.update(name, np.ones(1), label, np.array([mean]), np.array([[var]]), link, 1.7)
            assert found[0] == pytest.approx(assert_mode(name, label, mean, var, link, 1.7), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("name", laplace.SCALAR_KINDS)
def test_a_certain_belief_does_not_move(name):
    case, link = TABLE[name], np.array(TABLE[name].links[0])
    for label in case.labels(link):
        assert mode_of(case, case.row(label), 0.7, 0.0, link) == 0.7


@given(count=COUNTS, exposure=st.floats(1e-3, 1e3), mean=MEANS, var=VARIANCES)
def test_first_guess_for_a_count_is_finite(count, exposure, mean, var):
    assert math.isfinite(poisson.first_guess(np.array([count, exposure]), mean, var, np.zeros(1)))


@given(
    count=COUNTS,
    exposure=st.floats(1e-3, 1e3),
    mean=MEANS,
    var=VARIANCES,
)
def test_predictive_probability_of_a_count_is_a_probability(count, exposure, mean, var):
    score = TABLE["poisson"].predict(count, mean, var, (0.0,), exposure=exposure)[0]
    # Rounding of the terms: a log factorial, and a mean that is known to its own last place.
    rounding = 4.0 * EPS * special.gammaln(count + 1.0) + 1e-9
    assert -math.inf < score <= rounding


# --- categorical ----------------------------------------------------------------------------------------------------


@st.composite
def classes(draw):
    n = draw(st.integers(2, 20))
    scale = draw(st.sampled_from([0.0, 1.0, 30.0, 500.0]))
    mean = scale * np.array(draw(st.lists(st.floats(-1.0, 1.0), min_size=n, max_size=n)))
    link = np.array(draw(st.lists(st.floats(-2.0, 2.0), min_size=n, max_size=n)))
    return draw(st.integers(0, n - 1)), mean, 10.0 ** draw(st.floats(-6.0, 6.0)), link


def assert_joint_mode(label, mean, var, link):
    slope = np.full(mean.size, np.nan)
    curvature = sites.site(TABLE["categorical"].label_model(link), np.array([float(label)]), mean, var, slope)
    assert np.all(np.isfinite(slope))
    assert slope.sum() == pytest.approx(0.0, abs=1e-14)
    assert slope[label] >= 0.0
    z = mean + var * slope
    p = special.softmax(z + link)
    assert curvature == pytest.approx(p @ (1.0 - p) / (mean.size - 1), rel=1e-8, abs=1e-14)
    # The Newton step that is left, solved with the dense Hessian.
    gradient = np.eye(mean.size)[label] - p - slope
    step = np.linalg.solve(np.eye(mean.size) / var + np.diag(p) - np.outer(p, p), gradient)
    assert_allclose(step, 0.0, atol=1e-8 * (1.0 + np.abs(z).max()))


@given(classes())
@example((0, np.zeros(3), 1e6, np.zeros(3)))
@example((1, np.array([500.0, -500.0]), 1e6, np.zeros(2)))
@example((1, np.array([500.0, -500.0]), 1e-6, np.zeros(2)))
@example((0, np.array([500.0, -500.0, 0.0]), 1e6, np.zeros(3)))
@example((19, np.linspace(500.0, -500.0, 20), 1e6, np.zeros(20)))
@settings(max_examples=300)
def test_joint_mode_of_the_classes_is_stationary(case):
    assert_joint_mode(*case)


@pytest.mark.parametrize("var", [1e-6, 1.0, 1e3, 3e5, 1e6])
def test_joint_mode_of_many_random_classes_is_stationary(var):
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(2, 21))
        mean = rng.choice([1.0, 10.0, 500.0]) * rng.uniform(-1.0, 1.0, size=n)
        assert_joint_mode(int(rng.integers(n)), mean, var, rng.normal(size=n))


@pytest.mark.parametrize("var", [1e-3, 1.0, 1e4])
def test_joint_mode_of_two_classes_is_the_mode_of_their_difference(var):
    rng = np.random.default_rng(1)
    for label in (0, 1):
        mean, link, slope = 5.0 * rng.normal(size=2), rng.normal(size=2), np.empty(2)
        curvature = categorical.joint_site(label, mean, var, link, slope)
        difference = np.array([link[1] - link[0]])
        z = assert_mode("bernoulli-logit", float(label), mean[1] - mean[0], 2.0 * var, difference)
        _, wanted, wanted_curvature = TABLE["bernoulli-logit"].derivatives(float(label), z, difference)
        assert slope[1] == pytest.approx(wanted, rel=1e-7, abs=1e-12)
        assert curvature == pytest.approx(2.0 * wanted_curvature, rel=1e-7, abs=1e-12)
