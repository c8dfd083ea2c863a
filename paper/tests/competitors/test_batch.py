"""I-SSGPR and the batch GPs against formulas and other libraries."""

from __future__ import annotations

import numpy as np
import pytest
from competitors.data import wave
from iegp_paper.competitors import ISSGPR, BatchGP, BatchRandomFeatureGP
from iegp_paper.competitors.spectrum_evidence import fit_spectrum, negative_log_evidence
from oracles.batch import log_marginal_likelihood, rf_predictor
from scipy.optimize import check_grad, minimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as SklearnRBF
from sklearn.gaussian_process.kernels import ConstantKernel

from iegp.errors import InputError
from iegp.kernels import RBF


def phi_of(frequencies, x):
    angles = x @ frequencies.T
    return np.hstack([np.sin(angles), np.cos(angles)]) / np.sqrt(len(frequencies))


def test_the_evidence_of_the_spectrum_and_its_gradient():
    x, y = wave(30)
    draws = np.random.default_rng(0).standard_normal((4, 2))
    parameters = np.array([0.2, -0.1, 0.4, -2.0])
    value, _ = negative_log_evidence(draws, x, y, parameters)
    phi = phi_of(draws / np.exp(parameters[:2]), x)
    assert value == pytest.approx(-log_marginal_likelihood(phi, y, *np.exp(parameters[2:])), rel=1e-9)
    error = check_grad(
        lambda p: negative_log_evidence(draws, x, y, p)[0],
        lambda p: negative_log_evidence(draws, x, y, p)[1],
        parameters,
    )
    assert error < 1e-4


@pytest.mark.parametrize("kind", [ISSGPR, BatchRandomFeatureGP])
def test_they_are_the_predictor_that_ends_section_2(kind):
    x, y = wave(120)
    model = kind(n_frequencies=8, standardize=False, random_state=0).warm_up(x[:60], y[:60])
    run = model.prequential(x[60:], y[60:])
    phi = phi_of(model._frequencies, x[60:])
    for t in (0, 1, 30, 59):
        mean, variance = rf_predictor(phi[:t], y[60 : 60 + t], phi[t : t + 1], model._prior_var, model._noise_var)
        assert run.mean[t] == pytest.approx(mean[0], rel=1e-7, abs=1e-9)
        assert run.std[t] ** 2 == pytest.approx(variance[0], rel=1e-7)
    mean, std = model.predict(x[:5], return_std=True)
    expected = rf_predictor(phi, y[60:], phi_of(model._frequencies, x[:5]), model._prior_var, model._noise_var)
    np.testing.assert_allclose(mean, expected[0], rtol=1e-6)
    np.testing.assert_allclose(std**2, expected[1], rtol=1e-6)


@pytest.mark.parametrize("kind", [ISSGPR, BatchRandomFeatureGP])
def test_the_warm_up_may_be_learned_too(kind):
    x, y = wave(50)
    model = kind(n_frequencies=8, standardize=False, learn_warmup=True, random_state=0).warm_up(x[:40], y[:40])
    phi = phi_of(model._frequencies, x)
    mean, _ = rf_predictor(phi[:40], y[:40], phi[40:], model._prior_var, model._noise_var)
    np.testing.assert_allclose(model.predict(x[40:]), mean, rtol=1e-6)


def test_length_scales_tell_columns_that_matter():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 2))
    y = np.sin(2.0 * x[:, 0]) + 0.1 * rng.standard_normal(400)
    model = ISSGPR(n_frequencies=40, random_state=0).warm_up(x, y)
    reach = np.abs(model._frequencies).mean(axis=0)
    assert reach[0] > 5.0 * reach[1]
    assert model._noise_var == pytest.approx(0.01 / y.var(), rel=0.5)


def test_batch_gp_is_that_of_scikit_learn():
    x, y = wave(60)
    model = BatchGP(kernel=RBF((0.7, 1.5)), prior_var=1.3, noise_var=0.02, standardize=False, warmup=0)
    run = model.prequential(x[:40], y[:40])
    other = ConstantKernel(1.3, "fixed") * SklearnRBF((0.7, 1.5), "fixed")
    for t in (1, 20, 39):
        peer = GaussianProcessRegressor(other, alpha=0.02, optimizer=None).fit(x[:t], y[:t])
        mean, std = peer.predict(x[t : t + 1], return_std=True)
        assert run.mean[t] == pytest.approx(mean[0], rel=1e-8)
        assert run.std[t] ** 2 == pytest.approx(std[0] ** 2 + 0.02, rel=1e-8)
    peer = GaussianProcessRegressor(other, alpha=0.02, optimizer=None).fit(x[:40], y[:40])
    mean, std = model.predict(x[40:], return_std=True)
    expected_mean, expected_std = peer.predict(x[40:], return_std=True)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-8)
    np.testing.assert_allclose(std**2, expected_std**2 + 0.02, rtol=1e-8)


def test_batch_gp_fits_as_well_as_scikit_learn():
    x, y = wave(80)
    model = BatchGP(standardize=False).warm_up(x, y)
    kernel = ConstantKernel(model._signal) * SklearnRBF(model._kernel.scales(2))
    peer = GaussianProcessRegressor(kernel, alpha=model._noise, n_restarts_optimizer=0).fit(x, y)
    ours = peer.log_marginal_likelihood(kernel.theta)
    assert ours >= peer.log_marginal_likelihood_value_ - 0.1


def test_batch_gp_goes_on_from_the_hyperparameters_of_another():
    x, y = wave(80)
    first = BatchGP(standardize=False).warm_up(x, y)
    # One step from the best leads nowhere, one from the usual start does not lead there.
    again = BatchGP(standardize=False, begin=first.hyper_, n_steps=1).warm_up(x, y)
    np.testing.assert_allclose(again.hyper_, first.hyper_, atol=0.01)
    fresh = BatchGP(standardize=False, n_steps=1).warm_up(x, y)
    assert np.abs(fresh.hyper_ - first.hyper_).max() > 0.1
    np.testing.assert_allclose(np.exp(first.hyper_[:2]), first._kernel.scales(2))


def test_batch_gp_refuses_what_it_cannot_hold():
    x, y = wave(30)
    with pytest.raises(InputError, match="max_rows=20"):
        BatchGP(max_rows=20, standardize=False).warm_up(x, y).prequential(x, y)
    with pytest.raises(InputError, match="together"):
        BatchGP(noise_var=0.1).warm_up(x, y)


def test_the_search_is_as_good_as_either_start():
    """Columns of heavy tails have long ranges: there the two starts lie far apart."""
    rng = np.random.default_rng(3)
    x = rng.standard_t(3, size=(150, 12))
    y = x[:, 0] / x[:, 0].std() + 0.1 * rng.standard_normal(150)
    draws = rng.standard_normal((10, 12))
    scales, signal, noise = fit_spectrum(draws, x, y, 20)
    value, _ = negative_log_evidence(draws, x, y, np.log([*scales, signal, noise]))
    centre = 0.5 * np.log(12)
    by_number = np.array([centre] * 12 + [0.0, np.log(0.1)])
    by_range = np.concatenate([np.log(2.0 * np.ptp(x, axis=0)), [0.0, np.log(1.0 / 16.0)]])
    bounds = [(centre - 7.0, centre + 7.0)] * 12 + [(np.log(1e-4), np.log(1e4)), (np.log(1e-6), np.log(1e2))]
    for begin in (by_number, by_range):
        alone = minimize(
            lambda parameters: negative_log_evidence(draws, x, y, parameters),
            begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 20},
        )  # fmt: skip
        assert value <= alone.fun + 1e-6 * abs(alone.fun)
