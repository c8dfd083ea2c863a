"""Kernels against their formulas, their configurations and their errors."""

from __future__ import annotations

import numpy as np
import pytest
from core.test_frequencies import KERNELS as DRAWN
from core.test_terms import FIXED, SUMS
from numpy.testing import assert_allclose
from oracles import features as oracle

from iegp.core.kernels import RBF, Cauchy, Laplace, Matern, Stationary, kernel_from_config
from iegp.core.kernels.registry import BUILT_IN
from iegp.errors import InputError

TWINS = [
    (RBF, {}, oracle.rbf),
    (Matern, {"nu": 0.5}, lambda x, z, s: oracle.matern(x, z, s, 0.5)),
    (Matern, {"nu": 1.5}, lambda x, z, s: oracle.matern(x, z, s, 1.5)),
    (Matern, {"nu": 2.5}, lambda x, z, s: oracle.matern(x, z, s, 2.5)),
    (Laplace, {}, oracle.laplace),
    (Cauchy, {}, oracle.cauchy),
]
KERNELS = [RBF, Matern, Laplace, Cauchy]
RELATIVES = [RBF(), Matern(nu=1.5), Matern(nu=2.5)]


def test_every_kernel_is_in_the_lists():
    """Stationary ones with random features here and in test_frequencies.py, the others in test_terms.py."""
    fixed = {type(term).__name__ for term, _ in FIXED}
    drawn = {kind.__name__ for kind in KERNELS}
    assert {kind.__name__ for kind, *_ in TWINS} == drawn == {type(kernel).__name__ for kernel in DRAWN.values()}
    assert drawn | fixed == set(BUILT_IN)
    assert {type(term).__name__ for kernel in SUMS for term in kernel.terms} == set(BUILT_IN)


@pytest.mark.parametrize(("kind", "extra", "twin"), TWINS)
@pytest.mark.parametrize("scale", [0.4, [0.5, 1.0, 30.0]])
def test_value_is_the_formula(kind, extra, twin, scale):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    assert_allclose(kind(scale, **extra)(x, z), twin(x, z, np.asarray(scale)), rtol=1e-12)
    assert_allclose(np.diagonal(kind(scale, **extra)(x)), 1.0, rtol=1e-14)


@pytest.mark.parametrize(("kind", "extra", "twin"), TWINS)
def test_stretch_multiplies_the_length_scale(kind, extra, twin):
    x = np.random.default_rng(1).normal(size=(5, 2))
    assert_allclose(kind(0.5, stretch=4.0, **extra)(x), twin(x, x, 2.0), rtol=1e-12)
    assert_allclose(kind("dimension", stretch=2.0, **extra)(x), twin(x, x, 2.0 * np.sqrt(2.0)), rtol=1e-12)


@pytest.mark.parametrize("kernel", [kind() for kind in KERNELS])
def test_relatives_are_smooth_functions_of_the_squared_distance(kernel):
    relative = kernel.relative()
    assert relative in RELATIVES
    square = np.array([0.0, 0.01, 0.5, 2.0, 9.0])
    value, slope = relative.value_and_slope(square)
    assert_allclose(value, relative(np.zeros((1, 1)), np.sqrt(square)[:, None])[0], rtol=1e-13)
    step = 1e-6
    above, below = relative.value_and_slope(square[1:] + step)[0], relative.value_and_slope(square[1:] - step)[0]
    assert_allclose(slope[1:], -(above - below) / step, rtol=1e-6)


def test_the_relative_of_a_smooth_kernel_is_itself():
    for kernel in RELATIVES:
        assert kernel.relative() == kernel
    assert Matern(3.0, nu=0.5).relative() in RELATIVES


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("scale", [2.0, [1.0, 2.0], "evidence", "per-dimension", "dimension"])
def test_configuration_round_trip(kind, scale):
    kernel = kind(scale, stretch=0.5)
    again = kernel_from_config(kernel.to_config())
    assert again == kernel
    assert hash(again) == hash(kernel)
    assert kernel.is_fitted_to_data == (scale in ("evidence", "per-dimension"))


def test_nu_survives_the_round_trip():
    assert kernel_from_config(Matern(1.0, nu=2.5).to_config()) == Matern(1.0, nu=2.5)


def test_resolved_puts_stretched_numbers_in_place_of_words():
    assert RBF("evidence", stretch=3.0).resolved(2, np.array([2.0, 2.0])) == RBF(6.0)
    assert RBF("per-dimension").resolved(2, np.array([2.0, 5.0])) == RBF([2.0, 5.0])
    assert RBF("dimension", stretch=3.0).resolved(4, np.ones(4)) == RBF(6.0)
    assert RBF([1.0, 2.0], stretch=2.0).resolved(2, np.ones(2)) == RBF([2.0, 4.0])
    assert Matern("evidence", nu=2.5).resolved(1, np.ones(1)) == Matern(1.0, nu=2.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RBF(0.0), "positive finite"),
        (lambda: RBF(-1.0), "positive finite"),
        (lambda: RBF(np.inf), "positive finite"),
        (lambda: RBF(np.nan), "positive finite"),
        (lambda: RBF([]), "positive finite"),
        (lambda: RBF([[1.0]]), "positive finite"),
        (lambda: RBF("median"), "median.*evidence"),
        (lambda: RBF(stretch=0.0), "stretch"),
        (lambda: RBF(stretch=np.nan), "stretch"),
        (lambda: Matern(nu=2.0), "nu=2.0"),
        (lambda: RBF([1.0, 2.0])(np.zeros((1, 3))), "2 length scales.*3 columns"),
        (lambda: RBF("evidence")(np.zeros((1, 3))), "no length scale yet"),
        (lambda: kernel_from_config({"kernel": "Wavelet"}), "Wavelet.*register"),
    ],
)
def test_errors_name_the_value(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_the_base_class_is_abstract():
    for call in (
        lambda: Stationary().value(np.zeros((1, 1)), np.zeros((1, 1))),
        lambda: Stationary().spectral(np.zeros((1, 1))),
        lambda: Stationary().radius(np.zeros(1), 1),
        lambda: Laplace().value_and_slope(np.zeros(1)),
    ):
        with pytest.raises(NotImplementedError):
            call()


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (RBF(1.0), "RBF 1"),
        (Matern(0.123456, nu=0.5), "Matern-0.5 0.123"),
        (Laplace("per-dimension"), "Laplace per-dimension"),
        (Cauchy([3.0, 0.25, 1.0]), "Cauchy 0.25 to 3"),
    ],
)
def test_short_names(kernel, name):
    assert kernel.short() == name
