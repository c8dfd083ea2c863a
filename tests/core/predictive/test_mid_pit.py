"""The probability of a smaller label plus half of its own: the oracle's, and uniform where the model is right."""

from __future__ import annotations

import numpy as np
import pytest
from core.builders import Kind, build
from oracles import mid_pit as oracle
from scipy import stats

from iegp.core import ensemble as ens
from iegp.core.features import fourier_rows
from iegp.core.likelihoods import likelihood_code
from iegp.core.predictive.classes import mid_pit_rows
from iegp.core.predictive.count_cdf import cdf

COUNTS = [0.0, 1.0, 2.0, 7.0, 30.0, 60.0, 2.5]
CUTS = np.array([-1.0, 0.0, 1.5])
PRIOR_VAR, OFFSET = 0.5, 1.0


@pytest.mark.parametrize("spread", [1e-4, 0.1, 1.0])
@pytest.mark.parametrize("count", COUNTS)
def test_counts_are_the_oracle_s(count, spread):
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(3), size=4)
    log_mean, log_var = rng.normal(1.5, 1.0, size=(4, 3)), spread * rng.uniform(0.5, 1.5, size=(4, 3))
    found = cdf(weights, log_mean, log_var, np.full(4, count), 0.5)
    wanted = [oracle.of_counts(*row, count) for row in zip(weights, log_mean, log_var, strict=True)]
    np.testing.assert_allclose(found, wanted, atol=1e-8)


def test_levels_are_sums_of_probabilities():
    proba = np.array([[0.1, 0.2, 0.7], [0.1, 0.2, 0.7], [0.1, 0.2, 0.7]])
    pit = np.empty((3, 1))
    mid_pit_rows(proba, np.array([[0.0], [1.0], [2.0]]), pit)
    np.testing.assert_allclose(pit[:, 0], [0.05, 0.2, 0.65], rtol=1e-14)


def model_of(likelihood, drift=0.0):
    """Two kernels with the same prior; labels of :func:`drawn` come from the first."""
    ensemble = build(Kind(n_kernels=2, n_frequencies=8, drifts=(drift,)))
    link = [OFFSET, 0.0, PRIOR_VAR] if likelihood == "poisson" else CUTS
    return ensemble._replace(
        likelihood=likelihood_code(likelihood),
        noise_var=np.ones((2, 1)),
        prior_ratio=np.full(2, PRIOR_VAR),
        link=np.tile(link, (2, 1)),
        nodes=np.zeros((1, 0)),
    )


def drawn(ensemble, likelihood, n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    f = fourier_rows(x, ensemble.kernel_basis(0).frequencies) @ rng.normal(scale=np.sqrt(PRIOR_VAR), size=16)
    if likelihood == "poisson":
        exposure = rng.uniform(0.5, 2.0, size=n)
        return x, np.column_stack([rng.poisson(exposure * np.exp(OFFSET + f)), exposure]).astype(float)
    noisy = f + (rng.logistic(size=n) if likelihood == "ordinal-logit" else rng.normal(size=n))
    return x, np.searchsorted(CUTS, noisy).astype(float)[:, None]


@pytest.mark.parametrize("drift", [0.0, 1e-3])
@pytest.mark.parametrize("likelihood", ["poisson", "ordinal-logit"])
def test_each_row_is_the_oracle_s_for_the_prediction_before_it(likelihood, drift):
    ensemble = model_of(likelihood, drift)
    x, y = drawn(ensemble, likelihood, 30)
    state = ens.start(ensemble)
    for t in range(0, 30, 3):
        used, ahead = ens._predict_latent(ensemble, state, x[t : t + 1], ens.lead(1))
        if likelihood == "poisson":
            log_mean = ahead.means[:, 0, 0] + OFFSET + np.log(y[t, 1])
            wanted = oracle.of_counts(used[0], log_mean, np.minimum(ahead.variances[:, 0], PRIOR_VAR), y[t, 0])
        else:
            latent = ahead.means[:, 0, 0], ahead.variances[:, 0]
            wanted = oracle.of_levels(used[0], *latent, ensemble.link, int(y[t, 0]))
        # Three rows, each way: the first of them is the one that was asked for.
        found = ens.learn(ensemble, state, x[t : t + 3], y[t : t + 3], level=0.9)
        assert found.pit[0, 0] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("likelihood", ["poisson", "ordinal-logit", "ordinal-probit"])
def test_labels_from_the_model_are_spread_evenly(likelihood):
    """Four standard errors. The variance of a uniform number, less what halving the own probability takes away."""
    n = 3000
    ensemble = model_of(likelihood)
    x, y = drawn(ensemble, likelihood, n)
    run = ens.learn(ensemble, ens.start(ensemble), x, y, level=0.9)
    pit, own = run.pit[:, 0], np.exp(run.log_score)
    assert run.pit.shape == (n, 1)
    assert np.mean(pit) == pytest.approx(0.5, abs=4.0 / np.sqrt(12.0 * n))
    assert np.var(pit) + np.mean(own**2) / 12.0 == pytest.approx(1.0 / 12.0, abs=4.0 / np.sqrt(180.0 * n))
    spread = pit + own * (np.random.default_rng(1).uniform(size=n) - 0.5)
    assert stats.kstest(spread, "uniform").pvalue > 1e-3


def test_rows_and_blocks_agree():
    for likelihood in ("poisson", "ordinal-logit"):
        ensemble = model_of(likelihood)
        x, y = drawn(ensemble, likelihood, 40)
        whole = ens.learn(ensemble, ens.start(ensemble), x, y, level=0.9)
        state = ens.start(ensemble)
        rows = [ens.learn(ensemble, state, x[t : t + 1], y[t : t + 1], level=0.9).pit for t in range(40)]
        np.testing.assert_allclose(np.concatenate(rows), whole.pit, atol=1e-8)


def test_unordered_classes_have_none():
    ensemble = model_of("ordinal-logit")._replace(likelihood=likelihood_code("bernoulli-logit"), link=np.zeros((2, 1)))
    x = np.random.default_rng(0).normal(size=(20, 2))
    assert len(ens.learn(ensemble, ens.start(ensemble), x, (x[:, :1] > 0.0).astype(float)).pit) == 0
