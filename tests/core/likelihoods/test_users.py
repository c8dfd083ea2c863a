"""Likelihoods of users: functions in plain Python and compiled are those of the package, and errors come through."""

from __future__ import annotations

import copy
import math
import os
import pickle
import subprocess
import sys

import numba
import numpy as np
import pytest
from core.likelihoods.test_likelihoods import TABLE
from core.likelihoods.users import FastLogit, Geometric, PlainLogit, needs_numba
from numpy.testing import assert_allclose
from scipy import integrate, special

from iegp import _compile
from iegp.core.compute import newton
from iegp.core.likelihoods import BUILT_IN, LIKELIHOODS, forms, likelihood_of, named, register, sites
from iegp.core.likelihoods.protocol import Likelihood
from iegp.errors import InputError

SCALAR = [name for name in TABLE if name != "categorical"]
NOTHING = np.zeros((1, 0))


@pytest.mark.parametrize("name", SCALAR)
@pytest.mark.parametrize("var", [1e-6, 0.05, 1.0, 9.0, 30.0])
def test_what_follows_from_derivatives_is_what_each_likelihood_has(name, var):
    """Sites and predictive probabilities by the address of the derivatives alone."""
    case = TABLE[name]
    link = np.array(case.links[0])
    by_address = (LIKELIHOODS[name].derivatives_address, link)
    own = case.label_model(link)
    for label in case.labels(link)[:4]:
        row = case.row(label)
        for mean in (0.0, -2.0, 4.0):
            slope, wanted = np.empty(1), np.empty(1)
            curvature = newton.site_at(row, np.array([mean]), var, by_address, slope)
            assert curvature == pytest.approx(sites.site(own, row, np.array([mean]), var, wanted), rel=1e-7, abs=1e-12)
            assert_allclose(slope, wanted, rtol=1e-7, atol=1e-9)
            found = newton.log_integral(row, mean, var, by_address)
            assert found == pytest.approx(case.predict(label, mean, var, link)[0], rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("kind", [PlainLogit, FastLogit])
@pytest.mark.parametrize("integration", ["quadrature", "monte-carlo"])
def test_a_users_logit_is_that_of_the_package(kind, integration):
    likelihood, nodes = kind(), sites.draws(integration, 1, seed=0)
    own = sites.label_model_of(likelihood, integration, np.zeros(1), nodes)
    built_in = sites.label_model_of(named("bernoulli-logit"), integration, np.zeros(1), nodes)
    for label in (0.0, 1.0):
        for mean, var in ((0.3, 0.5), (-5.0, 3.0), (2.0, 40.0)):
            row, slopes = np.array([label]), np.empty((2, 1))
            curvatures = [
                sites.site(model, row, np.array([mean]), var, slope)
                for model, slope in zip((own, built_in), slopes, strict=True)
            ]
            assert curvatures[0] == pytest.approx(curvatures[1], rel=1e-9)
            assert slopes[0] == pytest.approx(slopes[1], rel=1e-9)
            outcomes = np.empty((2, 2))
            for model, out in zip((own, built_in), outcomes, strict=True):
                sites.log_predictive(model, row, np.array([mean]), var, out)
            assert_allclose(outcomes[0], outcomes[1], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("var", [1e-8, 0.3, 5.0])
@pytest.mark.parametrize("count", [0.0, 3.0, 50.0])
def test_the_integral_of_a_likelihood_that_the_package_does_not_have(count, var):
    likelihood = Geometric()
    model = sites.label_model_of(likelihood, "quadrature", np.array([0.2]), NOTHING)
    row, mean = np.array([count, 2.0]), 0.7
    found = sites.log_predictive(model, row, np.array([mean]), var, np.empty(0))

    def density(z):
        return math.exp(Geometric.log_density(count, z + 0.2 + math.log(2.0)) - 0.5 * (z - mean) ** 2 / var)

    reach = 12.0 * math.sqrt(var)
    total = integrate.quad(density, mean - reach, mean + reach, epsabs=0.0, epsrel=1e-11, limit=400)[0]
    assert found == pytest.approx(math.log(total / math.sqrt(2.0 * math.pi * var)), rel=1e-8, abs=1e-9)


class Waiting(Likelihood):
    """Waiting times with the mean ``exp(z)``: far below a label the slope grows beyond any power of z."""

    name = "waiting"
    label_low = 0.0

    @staticmethod
    def derivatives(label, z, link):
        ratio = label[0] * math.exp(-z - link[0])
        return -z - link[0] - ratio, ratio - 1.0, ratio


@pytest.mark.parametrize("mean", [-300.0, -200.0, -40.0, 0.0, 9.0])
@pytest.mark.parametrize("var", [1e-6, 0.3, 30.0])
def test_the_mode_of_a_steep_likelihood_is_found_from_afar(mean, var):
    """There ``z = mean + var (y exp(-z) - 1)``: for u = z - mean + var that is ``u exp(u) = var y exp(var - mean)``."""
    label = np.array([0.1, 1.0])
    found = newton.mode_at(label, mean, var, (Waiting().derivatives_address, np.zeros(1)), math.nan)
    wanted = special.lambertw(var * label[0] * math.exp(var - mean)).real + mean - var
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-8)


def test_log_average_takes_the_draws():
    rows = np.linspace(-2.0, 2.0, 7)
    by_address = (named("bernoulli-logit").derivatives_address, np.zeros(1))
    found = newton.log_average(np.array([1.0]), 0.4, 0.25, by_address, rows)
    assert found == pytest.approx(math.log(np.mean(1.0 / (1.0 + np.exp(-0.4 - 0.5 * rows)))))


# --- errors ---------------------------------------------------------------------------------------------------------


class Failing(PlainLogit):
    name = "failing"

    @staticmethod
    def derivatives(label, z, link):
        del label, z, link
        raise ZeroDivisionError("no such label")


class Interrupted(PlainLogit):
    name = "interrupted"

    @staticmethod
    def derivatives(label, z, link):
        del label, z, link
        raise KeyboardInterrupt


class Short(PlainLogit):
    name = "short"

    @staticmethod
    def derivatives(label, z, link):
        del label, z, link
        return 0.0, 0.0


@pytest.mark.parametrize(
    ("kind", "error", "match"),
    [
        (Failing, InputError, "no such label"),
        (Interrupted, KeyboardInterrupt, None),
        (Short, InputError, "'short'"),
    ],
)
def test_what_a_function_raises_is_kept_and_its_results_are_nan(kind, error, match):
    likelihood = kind()
    model = sites.label_model_of(likelihood, "quadrature", np.zeros(1), NOTHING)
    slope = np.zeros(1)
    curvature = sites.site(model, np.ones(1), np.zeros(1), 1.0, slope)
    assert math.isnan(curvature)
    with pytest.raises(error, match=match):
        likelihood.require_sound(np.array([curvature]))
    assert not likelihood.failures
    likelihood.require_sound(np.zeros(3), np.array([-np.inf]))  # nothing is wrong with these


def test_a_likelihood_that_never_fails_is_not_checked():
    named("poisson").require_sound(np.array([np.nan]))


# --- the registry ---------------------------------------------------------------------------------------------------


def test_registering_makes_a_name_known_and_replaces_it():
    first = register(PlainLogit())
    assert named("plain-logit") is first is likelihood_of(first.code)
    second = register(PlainLogit())
    assert named("plain-logit") is second is likelihood_of(second.code)


def _named(given):
    kind = type("Odd", (PlainLogit,), {"name": given})
    return kind()


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (PlainLogit, "did you mean PlainLogit()"),
        ("plain-logit", "no likelihood"),
        (_named("poisson"), "one of its own"),
        (_named("gaussian"), "one of its own"),
        (_named(""), "one of its own"),
        (_named(3), "one of its own"),
        (type("Empty", (Likelihood,), {"name": "empty"})(), "no derivatives"),
    ],
)
def test_what_cannot_be_registered(given, match):
    before = dict(LIKELIHOODS)
    with pytest.raises(InputError, match=match):
        register(given)
    assert before == LIKELIHOODS


def test_names_that_are_not_registered():
    with pytest.raises(InputError, match=r"'no-such'.*registered first"):
        named("no-such")
    with pytest.raises(InputError, match="not registered"):
        likelihood_of(12345)


@needs_numba
def test_a_compiled_function_that_cannot_be_compiled():
    class Uncompilable(PlainLogit):
        name = "uncompilable"
        derivatives = staticmethod(numba.njit(lambda label, z, link: open(label)))  # noqa: ARG005, SIM115

    with pytest.raises(InputError, match="cannot be compiled"):
        register(Uncompilable())


def test_codes_are_of_names():
    codes = {LIKELIHOODS[name].code for name in BUILT_IN}
    assert len(codes) == len(BUILT_IN)
    assert 0 not in codes
    assert type("Other", (PlainLogit,), {})().code == PlainLogit().code


def test_copies_hold_no_addresses():
    likelihood = PlainLogit()
    address = likelihood.derivatives_address
    assert copy.deepcopy(likelihood) is likelihood
    there = pickle.loads(pickle.dumps(likelihood))
    assert type(there) is PlainLogit
    assert not vars(there)
    assert there.derivatives_address != address


# --- compiled code --------------------------------------------------------------------------------------------------

_SCRIPT = """
from iegp import _compile
from iegp.core.likelihoods import named
named("bernoulli-logit").derivatives_address
print(_compile._KEPT[-1].cache_hits)
"""


@needs_numba
def test_a_second_process_finds_the_entry_of_a_function_on_disk(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    said = [
        subprocess.run([sys.executable, "-c", _SCRIPT], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [one.stdout.strip() for one in said] == ["0", "1"]


@needs_numba
def test_entries_of_different_functions_have_different_files():
    """Two likelihoods have a function of the same name; one must never be taken for the other."""
    names = set()
    for name in SCALAR:
        entry = _compile._c_entry(LIKELIHOODS[name].derivatives, forms.DERIVATIVES)
        names.add(entry._cache._cache_file._index_name)
    assert len(names) == len(SCALAR)


@needs_numba
def test_only_contiguous_numbers_are_passed_through_an_address():
    @_compile.compiled
    def call(address, values):
        return _compile.call_at(address, (values,))

    with pytest.raises(TypeError, match="contiguous"):
        call(1, np.zeros((4, 4))[:, 0])
