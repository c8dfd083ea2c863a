"""Maximum evidence: equal to dense algebra, never beaten by a search that knows nothing, and calm at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import batch
from scipy.optimize import minimize

from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import MANY_ROWS, MAX_NOISE_VAR, MAX_PRIOR_RATIO, MIN_NOISE_VAR, MIN_PRIOR_RATIO
from iegp.core.features import fourier_rows
from iegp.core.fitting import evidence


@pytest.fixture(autouse=True)
def _one_blas_thread():
    """As in the library: small matrices are slower on several threads."""
    with one_blas_thread():
        yield


def rows(n=40, n_frequencies=6, n_outputs=1, seed=0, noise=0.3, scale=1.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    phi = fourier_rows(x, rng.normal(size=(n_frequencies, 2)))
    y = 2.0 * phi @ rng.normal(size=(2 * n_frequencies, n_outputs)) + noise * rng.normal(size=(n, n_outputs))
    return phi, scale * y


def dense(phi, y, prior_ratio, noise_var):
    """The log evidence of all outputs with n by n matrices."""
    return sum(batch.log_marginal_likelihood(phi, y[:, d], prior_ratio * s, s) for d, s in enumerate(noise_var))


STREAMS = {
    "typical": rows(),
    "two rows": rows(n=2),
    "one row": rows(n=1),
    "fewer rows than features": rows(n=7),
    "many rows": rows(n=400),
    "three outputs": rows(n_outputs=3),
    "pure noise": (rows()[0], np.random.default_rng(4).normal(size=(40, 1))),
    "no noise": rows(noise=0.0),
    "constant": (rows()[0], np.ones((40, 1))),
    "zero": (rows()[0], np.zeros((40, 1))),
    "tiny": rows(scale=1e-9),
    "huge": rows(scale=1e6),
}
streams = pytest.mark.parametrize("name", STREAMS)
# Fewer rows have a penalty, so that their optimum is not that of the evidence.
long_streams = pytest.mark.parametrize("name", [name for name, (phi, _) in STREAMS.items() if len(phi) >= MANY_ROWS])


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("n", [2, 7, 60])
@pytest.mark.parametrize("prior_ratio", [1e-6, 0.3, 1e5])
def test_log_evidence_is_the_dense_log_marginal_likelihood(n, n_outputs, prior_ratio):
    phi, y = rows(n=n, n_outputs=n_outputs)
    noise_var = np.linspace(0.1, 0.7, n_outputs)
    found = evidence.log_evidence(evidence.spectrum(phi, y), prior_ratio, noise_var)
    assert found == pytest.approx(dense(phi, y, prior_ratio, noise_var), rel=1e-9)


@streams
def test_fit_reports_the_evidence_of_what_it_returns(name):
    phi, y = STREAMS[name]
    found = evidence.fit(evidence.spectrum(phi, y))
    assert found.noise_var.shape == (y.shape[1],)
    assert found.log_evidence == pytest.approx(
        dense(phi, y, found.prior_ratios[0], found.noise_var), rel=1e-5, abs=1e-5
    )


@streams
def test_optimum_is_within_its_bounds(name):
    phi, y = STREAMS[name]
    found = evidence.fit(evidence.spectrum(phi, y))
    assert MIN_PRIOR_RATIO <= found.prior_ratios[0] <= MAX_PRIOR_RATIO
    assert np.all((found.noise_var >= MIN_NOISE_VAR) & (found.noise_var <= MAX_NOISE_VAR))
    assert math.isfinite(found.log_evidence)


@long_streams
def test_optimum_is_not_beaten_by_a_fine_grid(name):
    spectrum = evidence.spectrum(*STREAMS[name])
    found = evidence.fit(spectrum)
    best = -math.inf
    for ratio in np.geomspace(MIN_PRIOR_RATIO, MAX_PRIOR_RATIO, 801):
        misfit = np.maximum(spectrum.squares - (ratio / (1 + ratio * spectrum.eigenvalues)) @ spectrum.projections, 0)
        noise_var = np.clip(misfit / spectrum.n_rows, MIN_NOISE_VAR, MAX_NOISE_VAR)
        best = max(best, evidence.log_evidence(spectrum, ratio, noise_var))
    assert found.log_evidence >= best - 1e-3 - 1e-9 * abs(best)


@long_streams
def test_optimum_is_not_beaten_by_scipy_from_random_starts(name):
    spectrum = evidence.spectrum(*STREAMS[name])
    found = evidence.fit(spectrum)
    n_outputs = len(spectrum.squares)
    bounds = [(np.log(MIN_PRIOR_RATIO), np.log(MAX_PRIOR_RATIO))]
    bounds += [(np.log(MIN_NOISE_VAR), np.log(MAX_NOISE_VAR))] * n_outputs
    rng = np.random.default_rng(1)

    def loss(parameters):
        return -evidence.log_evidence(spectrum, np.exp(parameters[0]), np.exp(parameters[1:]))

    for _ in range(3):
        begin = np.array([rng.uniform(*bound) for bound in bounds])
        least = float(minimize(loss, begin, method="L-BFGS-B", bounds=bounds).fun)
        assert found.log_evidence >= -least - 1e-3 - 1e-9 * abs(least)


def test_the_truth_is_recovered_from_many_rows():
    rng = np.random.default_rng(5)
    phi = fourier_rows(rng.normal(size=(4000, 2)), rng.normal(size=(40, 2)))
    y = phi @ rng.normal(scale=2.0, size=(80, 1)) + 0.3 * rng.normal(size=(4000, 1))
    found = evidence.fit(evidence.spectrum(phi, y))
    assert found.noise_var[0] == pytest.approx(0.09, rel=0.1)
    assert found.prior_ratios[0] * found.noise_var[0] == pytest.approx(4.0, rel=0.5)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_fixed_values_are_kept_and_the_other_is_best(n_outputs):
    phi, y = rows(n_outputs=n_outputs)
    spectrum = evidence.spectrum(phi, y)
    grid = np.geomspace(1e-4, 1e4, 801)
    both = evidence.fit(spectrum, prior_var=2.0, noise_var=0.5)
    assert both.prior_ratios[0] == 4.0
    assert_allclose(both.noise_var, 0.5)
    assert both.log_evidence == pytest.approx(dense(phi, y, 4.0, both.noise_var), rel=1e-9)
    noise_only = evidence.fit(spectrum, noise_var=0.5)
    assert_allclose(noise_only.noise_var, 0.5)
    prior_only = evidence.fit(spectrum, prior_var=2.0)
    assert_allclose(prior_only.prior_ratios[0] * prior_only.noise_var, 2.0, rtol=1e-12)
    half = np.full(n_outputs, 0.5)
    assert noise_only.log_evidence >= max(evidence.log_evidence(spectrum, r, half) for r in grid) - 1e-6
    ones = np.ones(n_outputs)
    assert prior_only.log_evidence >= max(evidence.log_evidence(spectrum, r, 2.0 / r * ones) for r in grid) - 1e-6
    free = evidence.fit(spectrum)
    assert free.log_evidence >= max(noise_only.log_evidence, prior_only.log_evidence, both.log_evidence) - 1e-6


@pytest.mark.parametrize("name", ["zero", "constant", "no noise", "huge", "two rows"])
@pytest.mark.parametrize("prior_var", [1e-3, 1.0, 1e4])
def test_noise_stays_within_its_bounds_under_a_fixed_prior(name, prior_var):
    found = evidence.fit(evidence.spectrum(*STREAMS[name]), prior_var=prior_var)
    assert np.all(found.noise_var >= MIN_NOISE_VAR * (1 - 1e-9))
    assert np.all(found.noise_var <= MAX_NOISE_VAR * (1 + 1e-9))


def test_the_higher_of_two_humps_is_found():
    """Few rows and a kernel that can explain them or not: whichever is likelier must win, from any seed."""
    for seed in range(20):
        phi, y = rows(n=32, n_frequencies=8, seed=seed, noise=1.5)
        spectrum = evidence.spectrum(phi, y)
        found = evidence.fit(spectrum)
        for ratio in np.geomspace(MIN_PRIOR_RATIO, MAX_PRIOR_RATIO, 300):
            shrunk = np.maximum(
                spectrum.squares - (ratio / (1 + ratio * spectrum.eigenvalues)) @ spectrum.projections, 0
            )
            noise_var = np.clip(shrunk / 32, MIN_NOISE_VAR, MAX_NOISE_VAR)
            assert found.log_evidence >= evidence.log_evidence(spectrum, ratio, noise_var) - 1e-3


@pytest.mark.parametrize("n", [2, 8, 31])
def test_the_penalised_optimum_of_a_few_rows(n):
    """Not beaten on a grid, and away from the bounds that an evidence without penalty runs into."""
    phi, y = rows(n=n, noise=0.0)
    spectrum = evidence.spectrum(phi, y)
    found = evidence.fit(spectrum)

    def penalised(ratio, noise_var):
        penalty = evidence._penalty(np.log([ratio]), noise_var, n)[0]
        return evidence.log_evidence(spectrum, ratio, noise_var) - penalty

    best = penalised(found.prior_ratios[0], found.noise_var)
    for ratio in np.geomspace(1e-3, 1e6, 200):
        misfit = np.maximum(spectrum.squares - (ratio / (1 + ratio * spectrum.eigenvalues)) @ spectrum.projections, 0)
        assert best >= penalised(ratio, evidence.best_noise(misfit, n)) - 1e-3
    assert found.noise_var[0] > 100 * MIN_NOISE_VAR
    assert found.prior_ratios[0] < 1e-2 * MAX_PRIOR_RATIO


def test_slopes_of_the_penalised_evidence_of_terms():
    phi, y = rows(n=20)
    term_of = np.arange(phi.shape[1]) % 2
    terms = evidence.term_rows(phi, y, term_of)
    logs, noise = np.log([4.0, 0.5]), np.array([0.2])
    _, slopes, d_noise = evidence._penalty(logs, noise, terms.n_rows)
    step = 1e-6
    wanted = [
        (evidence._penalty(logs + h, noise, 20)[0] - evidence._penalty(logs - h, noise, 20)[0]) / (2 * step)
        for h in step * np.eye(2)
    ]
    assert_allclose(slopes, wanted, rtol=1e-6)
    up, down = (evidence._penalty(logs, noise * np.exp(s * step), 20)[0] for s in (1, -1))
    assert d_noise == pytest.approx((up - down) / (2 * step), rel=1e-5)
