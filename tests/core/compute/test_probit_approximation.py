"""The paper's probit approximation (Murphy 2012, chapter 8.4.4.2) against the integral that it stands for."""

from __future__ import annotations

import math

import pytest
from scipy import integrate, special, stats

from iegp.core.compute.logistic import probit_shrinkage


@pytest.mark.parametrize("mean", [-4.0, -1.0, 0.3, 2.0])
@pytest.mark.parametrize("var", [0.01, 1.0, 4.0, 25.0])
def test_a_sigmoid_under_a_gaussian_is_nearly_that_of_the_shrunk_mean(mean, var):
    spread = math.sqrt(var)
    exact, _ = integrate.quad(
        lambda z: special.expit(z) * stats.norm.pdf(z, mean, spread), mean - 12.0 * spread, mean + 12.0 * spread
    )
    assert probit_shrinkage(var) == pytest.approx((1.0 + math.pi * var / 8.0) ** -0.5, rel=1e-15)
    assert special.expit(probit_shrinkage(var) * mean) == pytest.approx(exact, abs=0.02)
