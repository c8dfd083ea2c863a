"""Laplace evidence: equal to dense algebra, with the right gradient, an optimum that is one, and calm at the edges."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import laplace as oracle
from scipy import stats

from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import (
    MAX_DISPERSION,
    MAX_LATENT_VAR,
    MAX_LOG_RATE_VAR,
    MIN_DISPERSION,
    MIN_LATENT_VAR,
)
from iegp.core.features import fourier_rows
from iegp.core.fitting import laplace_evidence
from iegp.core.fitting.laplace_evidence import Search
from iegp.core.likelihoods import LIKELIHOODS, poisson, sites

PRIOR_VARS = [1e-4, 0.03, 1.0, 30.0, 1e4]
CUTS = (-1.0, 0.3, 2.0)


@pytest.fixture(autouse=True)
def _one_blas_thread():
    """As in the library: small matrices are slower on several threads."""
    with one_blas_thread():
        yield


def link_at(link, start):
    """The same link, starting elsewhere."""
    other = copy.copy(link)
    other.start = start
    return other


def count_link(y):
    return LIKELIHOODS["poisson"].link_from(y, 1)


@dataclass(frozen=True)
class Model:
    """A likelihood and its parameters; ``overdispersion`` as a user gives it, ``None`` is free."""

    name: str
    link: tuple[float, ...] = (0.0,)
    overdispersion: float | None = None

    @property
    def n_classes(self):
        return len(self.link) + 1 if self.name.startswith("ordinal") else max(2, len(self.link))

    @property
    def known(self):
        """A link that starts where the labels come from."""
        return link_at(self.found_from(np.empty((0, 2))), np.array(self.link))

    def found_from(self, y):
        """A link that starts where the library does."""
        return LIKELIHOODS[self.name].link_from(y, self.n_classes, self.overdispersion)

    def draw(self, z, rng):
        """Labels (n, columns) for latent values."""
        if self.name == "poisson":
            exposure = rng.uniform(0.5, 2.0, size=z.size)
            noise = rng.normal(-0.5 * self.link[1], math.sqrt(self.link[1]), size=z.size)
            rate = exposure * np.exp(z + self.link[0])
            return np.stack([rng.poisson(rate * np.exp(noise)), exposure], axis=1).astype(float)
        noise = rng.logistic(size=z.size) if self.name.endswith("logit") else rng.normal(size=z.size)
        cuts = self.link if self.name.startswith("ordinal") else (-self.link[0],)
        return np.searchsorted(cuts, z + noise).astype(float)[:, None]


MODELS = {
    "bernoulli-logit": Model("bernoulli-logit"),
    "bernoulli-probit": Model("bernoulli-probit"),
    "poisson": Model("poisson", (0.7, 0.0), 0.0),
    "overdispersed": Model("poisson", (0.7, 0.4), 0.4),
    "free overdispersion": Model("poisson", (0.7, 0.4)),
    "ordinal-logit": Model("ordinal-logit", CUTS),
    "ordinal-probit": Model("ordinal-probit", CUTS),
}
models = pytest.mark.parametrize("name", MODELS)
prior_vars = pytest.mark.parametrize("prior_var", PRIOR_VARS)


def features(n, n_frequencies=5, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    return fourier_rows(spread * rng.normal(size=(n, 2)), rng.normal(size=(n_frequencies, 2)))


def rows(name, n=30, n_frequencies=5, seed=0, prior_var=4.0, spread=1.0):
    """Labels and features, drawn from the model."""
    phi, rng = features(n, n_frequencies, seed, spread), np.random.default_rng((seed, 1))
    theta = rng.normal(scale=math.sqrt(prior_var), size=phi.shape[1])
    return MODELS[name].draw(phi @ theta, rng), phi


class OneTerm:
    """The search with a kernel of one term: a number in place of an array of one."""

    def __init__(self, y, phi, link):
        self.search = Search(y, phi, np.zeros(phi.shape[1], dtype=np.int64), link)

    def evidence(self, log_var, free):
        value, d_log_vars, d_free = self.search.evidence(np.array([log_var]), free)
        return value, d_log_vars[0], d_free


class Found(NamedTuple):
    prior_var: float
    link: np.ndarray
    log_evidence: float


def fit_one(y, phi, link, prior_var=np.nan):
    """Evidence of a kernel of one term."""
    term_of = np.zeros(phi.shape[1], dtype=np.int64)
    found = laplace_evidence.fit(y, phi, term_of, link, np.array([prior_var], dtype=float))
    return Found(float(found.prior_vars[0]), found.link, found.log_evidence)


def log_evidence(y, phi, link, log_var, free):
    """From a cold start."""
    return OneTerm(y, phi, link).evidence(log_var, np.asarray(free, dtype=float))[0]


# --- value and gradient ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in MODELS if "dispers" not in name])
@prior_vars
def test_evidence_is_that_of_the_oracle(name, prior_var):
    model, (y, phi) = MODELS[name], rows(name)
    found = log_evidence(y, phi, model.known, math.log(prior_var), model.known.free())
    exposure = y[:, 1] if y.shape[1] > 1 else None
    wanted = oracle.laplace_log_evidence(model.name, y[:, 0], phi, prior_var, np.array(model.link), exposure)
    assert found == pytest.approx(wanted, abs=1e-6)


@models
@prior_vars
def test_gradient_is_that_of_the_evidence(name, prior_var):
    link, (y, phi) = MODELS[name].known, rows(name)
    at = np.array([math.log(prior_var), *link.free()])
    value, d_log_var, d_free = OneTerm(y, phi, link).evidence(at[0], at[1:])
    step = 1e-4
    differences = []
    for unit in step * np.eye(at.size):
        ahead, behind = (log_evidence(y, phi, link, there[0], there[1:]) for there in (at + unit, at - unit))
        differences.append((ahead - behind) / (2.0 * step))
    assert_allclose([d_log_var, *d_free], differences, rtol=1e-4, atol=1e-7 * abs(value))


@models
def test_evidence_does_not_depend_on_where_the_search_came_from(name):
    link, (y, phi) = MODELS[name].known, rows(name)
    search = OneTerm(y, phi, link)
    for prior_var in (4.0, 1e4, 1e-4, 1.0):
        value, d_log_var, d_free = search.evidence(math.log(prior_var), link.free())
        cold = OneTerm(y, phi, link).evidence(math.log(prior_var), link.free())
        assert value == pytest.approx(cold[0], abs=1e-6)
        assert_allclose([d_log_var, *d_free], [cold[1], *cold[2]], rtol=1e-5, atol=1e-6)


# --- overdispersed counts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dispersion", [1e-4, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("count", [0.0, 1.0, 2.5, 40.0, 1e5])
def test_overdispersed_counts_are_negative_binomial(count, dispersion):
    link, exposure = np.array([-0.4, dispersion]), 1.7
    label = np.array([count, exposure])
    for z in (-20.0, -2.0, 0.0, 1.3, 6.0, 15.0):
        found, slope, curvature = poisson.derivatives(label, z, link)
        wanted = oracle.negative_binomial_log_density(count, z, link, exposure)
        # Large terms are subtracted from each other: log gamma functions of the shape, which is about 1 / dispersion.
        rounding = 1e-15 * (1.0 / dispersion + count + 1.0)
        assert found == pytest.approx(wanted, rel=1e-11, abs=100.0 * rounding)
        step = 1e-3
        ahead, behind = (poisson.derivatives(label, z + side * step, link) for side in (1.0, -1.0))
        slack = 100.0 * rounding / step + 1e-9
        assert slope == pytest.approx((ahead[0] - behind[0]) / (2.0 * step), rel=1e-5, abs=slack)
        assert curvature == pytest.approx((behind[1] - ahead[1]) / (2.0 * step), rel=1e-5, abs=rounding / step + 1e-9)
        assert curvature >= 0.0


@pytest.mark.parametrize("dispersion", [1e-3, 0.3, 2.0])
def test_oracle_of_overdispersed_counts(dispersion):
    """It is SciPy's, with the moments of a Poisson count whose rate has log-normal noise."""
    link, shape = np.array([0.2, dispersion]), 1.0 / math.expm1(dispersion)
    mean = 1.5 * math.exp(1.1 + 0.2)
    frozen = stats.nbinom(shape, shape / (shape + mean))
    for count in (0, 1, 7, 100):
        found = oracle.negative_binomial_log_density(count, 1.1, link, 1.5)
        assert found == pytest.approx(frozen.logpmf(count), rel=1e-9, abs=1e-9)
    assert frozen.mean() == pytest.approx(mean)
    assert frozen.var() == pytest.approx(mean + math.expm1(dispersion) * mean**2)


@pytest.mark.parametrize("dispersion", [1e-3, 0.3, 4.0])
@pytest.mark.parametrize("var", [0.0, 0.01, 1.0, 20.0])
def test_predictions_take_overdispersion_in_exactly(var, dispersion):
    def predict(mean, var, link):
        nothing = np.empty((1, 0))
        label = np.array([count, 1.7])
        label_model = sites.label_model_of(LIKELIHOODS["poisson"], "quadrature", link, nothing)
        return sites.log_predictive(label_model, label, np.array([mean]), var, nothing[0])

    for count in (0.0, 1.0, 7.0, 300.0):
        for mean in (-2.0, 0.4, 5.0):
            found = predict(mean, var, np.array([0.3, dispersion]))
            widened = mean - 0.5 * dispersion, var + dispersion
            assert found == pytest.approx(predict(*widened, np.array([0.3, 0.0])), abs=1e-12)
            wanted = oracle.log_predictive("poisson", count, *widened, np.array([0.3]), 1.7)
            assert found == pytest.approx(wanted, abs=1e-7)


# --- the search -----------------------------------------------------------------------------------------------------


def largest_var(link):
    return MAX_LOG_RATE_VAR if link.likelihood.name == "poisson" else MAX_LATENT_VAR


def assert_inside(found, link):
    """Bounds are bounds of logs, so their exponentials may be a rounding outside."""
    assert MIN_LATENT_VAR * (1 - 1e-9) <= found.prior_var <= largest_var(link) * (1 + 1e-9)
    assert np.all(np.isfinite(found.link))
    free = link_at(link, found.link).free()
    for value, (low, high) in zip(free, link.bounds(), strict=True):
        assert low - 1e-9 <= value <= high + 1e-9
    assert math.isfinite(found.log_evidence)


def assert_not_beaten(found, value):
    assert found.log_evidence >= value - 1e-3 - 1e-3 * abs(value)


@pytest.mark.plain_cases(15)
@models
@pytest.mark.parametrize("n", [32, 300])
@pytest.mark.parametrize("seed", range(3))
def test_optimum_is_one(name, n, seed):
    """From 32 rows on, which is where the library begins to fit: with a handful there may be several humps."""
    y, phi = rows(name, n=n, seed=seed)
    link = MODELS[name].found_from(y)
    found = fit_one(y, phi, link)
    assert_inside(found, link)
    best = link_at(link, found.link).free()
    reported = log_evidence(y, phi, link, math.log(found.prior_var), best)
    assert found.log_evidence == pytest.approx(reported, rel=1e-6, abs=1e-5)
    for free in (link.free(), best):
        for log_var in np.linspace(math.log(MIN_LATENT_VAR), math.log(largest_var(link)), 17):
            assert_not_beaten(found, log_evidence(y, phi, link, log_var, free))


@models
@pytest.mark.parametrize("n", [2, 5, 10])
@pytest.mark.parametrize("seed", range(3))
def test_a_handful_of_rows_is_no_worse_than_the_start(name, n, seed):
    y, phi = rows(name, n=n, seed=seed)
    link = MODELS[name].found_from(y)
    found = fit_one(y, phi, link)
    assert_inside(found, link)
    assert_not_beaten(found, log_evidence(y, phi, link, math.log(laplace_evidence.START_LATENT_VAR), link.free()))


@models
@pytest.mark.parametrize("prior_var", [1e-6, 0.5, 1e6])
def test_a_given_prior_variance_is_kept(name, prior_var):
    y, phi = rows(name)
    link = MODELS[name].found_from(y)
    found = fit_one(y, phi, link, prior_var)
    assert found.prior_var == pytest.approx(prior_var, rel=1e-12)
    assert_not_beaten(found, log_evidence(y, phi, link, math.log(prior_var), link.free()))
    best = link_at(link, found.link).free()
    assert found.log_evidence == pytest.approx(log_evidence(y, phi, link, math.log(prior_var), best), abs=1e-5)


@pytest.mark.parametrize("name", ["ordinal-logit", "ordinal-probit"])
def test_cut_points_are_recovered(name):
    # Wide inputs: no function of them is as good as constant, so the level of the cut-points has nowhere to hide.
    y, phi = rows(name, n=4000, n_frequencies=10, spread=10.0)
    found = fit_one(y, phi, MODELS[name].found_from(y))
    assert_allclose(found.link, CUTS, atol=0.2)
    assert_allclose(np.diff(found.link), np.diff(CUTS), rtol=0.1)
    assert found.prior_var == pytest.approx(4.0, rel=0.7)


@pytest.mark.parametrize("dispersion", [0.05, 0.5, 2.0])
def test_rate_and_overdispersion_are_recovered(dispersion):
    phi, rng = features(4000, 10, spread=10.0), np.random.default_rng(2)
    shape, exposure = 1.0 / math.expm1(dispersion), rng.uniform(0.5, 2.0, size=4000)
    rate = exposure * np.exp(phi @ rng.normal(size=20) + 1.5)
    y = np.stack([rng.negative_binomial(shape, shape / (shape + rate)), exposure], axis=1).astype(float)
    found = fit_one(y, phi, count_link(y))
    assert found.link[0] == pytest.approx(1.5, abs=0.2)
    assert found.link[1] == pytest.approx(dispersion, rel=0.2)
    assert found.prior_var == pytest.approx(1.0, rel=0.7)


@pytest.mark.parametrize("dispersion", [0.05, 0.3])
def test_log_normal_noise_is_about_as_much_overdispersion(dispersion):
    """Evidence fits a negative binomial. Its tails are lighter, so that much noise would seem less than it is."""
    phi, rng = features(4000, 10), np.random.default_rng(2)
    y = Model("poisson", (1.5, dispersion)).draw(phi @ rng.normal(size=20), rng)
    assert fit_one(y, phi, count_link(y)).link[1] == pytest.approx(dispersion, rel=0.25)


def test_plain_poisson_counts_have_no_overdispersion():
    phi, rng = features(2000, 10), np.random.default_rng(3)
    y = MODELS["poisson"].draw(phi @ rng.normal(size=20), rng)
    found = fit_one(y, phi, count_link(y))
    assert MIN_DISPERSION * (1 - 1e-9) <= found.link[1] < 0.03 < MAX_DISPERSION


@pytest.mark.parametrize("name", ["bernoulli-logit", "bernoulli-probit", "ordinal-logit", "ordinal-probit"])
def test_separable_classes_stay_within_the_bound(name):
    phi = features(60)
    side = phi @ np.arange(-4.0, 6.0)
    y = np.searchsorted(np.quantile(side, [0.25, 0.5, 0.75] if name.startswith("ordinal") else [0.5]), side)
    link = MODELS[name].found_from(y[:, None].astype(float))
    found = fit_one(y[:, None].astype(float), phi, link)
    assert_inside(found, link)
    assert found.prior_var > 10.0


def edge(name, case):
    """Labels and features of an extreme case."""
    y, phi = rows(name, n=1 if case == "one row" else 30)
    counts = y.shape[1] > 1
    if case == "all labels equal":
        y[:, 0] = 3.0 if counts else y[0, 0]
    elif case == "all zero":
        y[:, 0] = 0.0
    elif case == "the last class only":
        y[:, 0] = 1.0 if name.startswith("bernoulli") else 3.0
    elif case == "constant features":
        phi = np.repeat(phi[:1], 30, axis=0)
    elif case == "no features to speak of":
        phi = np.zeros_like(phi)
    elif case == "huge counts":
        y[:, 0] = np.where(counts, 1e8 + 1e4 * y[:, 0], y[:, 0])
    elif case == "one huge count":
        y[7, 0] = 1e8 if counts else y[7, 0]
    return y, phi


CASES = [
    "one row",
    "all labels equal",
    "all zero",
    "the last class only",
    "constant features",
    "no features to speak of",
    "huge counts",
    "one huge count",
]


@models
@pytest.mark.parametrize("case", CASES)
def test_edges_are_calm(name, case):
    y, phi = edge(name, case)
    link = MODELS[name].found_from(y)
    found = fit_one(y, phi, link)
    assert_inside(found, link)
    assert_not_beaten(found, log_evidence(y, phi, link, math.log(laplace_evidence.START_LATENT_VAR), link.free()))


# --- K classes ------------------------------------------------------------------------------------------------------


def categorical_link(n_classes):
    return LIKELIHOODS["categorical"].link_from(np.empty((0, 1)), n_classes)


@pytest.mark.parametrize("prior_var", [1e-4, 0.1, 1.0, 5.0, 100.0])
@pytest.mark.parametrize("n", [1, 20, 300])
def test_two_classes_are_the_binary_model_with_twice_the_variance(n, prior_var):
    y, phi = rows("bernoulli-logit", n=n)
    binary = fit_one(y, phi, MODELS["bernoulli-logit"].known, 2.0 * prior_var)
    both = fit_one(y, phi, categorical_link(2), prior_var)
    assert both.prior_var == prior_var
    assert both.log_evidence == pytest.approx(binary.log_evidence, abs=1e-2)


def class_rows(n, n_classes, seed=0, prior_var=4.0):
    phi, rng = features(n, seed=seed), np.random.default_rng((seed, 4))
    z = phi @ rng.normal(scale=math.sqrt(prior_var), size=(phi.shape[1], n_classes))
    return np.argmax(z + rng.gumbel(size=z.shape), axis=1).astype(float)[:, None], phi


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("n", [5, 300])
def test_variance_of_classes_is_not_beaten_by_a_grid(n, n_classes):
    y, phi = class_rows(n, n_classes)
    link = categorical_link(n_classes)
    found = fit_one(y, phi, link)
    assert_inside(found, link)
    for prior_var in np.geomspace(MIN_LATENT_VAR, MAX_LATENT_VAR, 17):
        assert_not_beaten(found, fit_one(y, phi, link, prior_var).log_evidence)


def test_variance_of_classes_is_recovered():
    y, phi = class_rows(500, 4)
    assert fit_one(y, phi, categorical_link(4)).prior_var == pytest.approx(4.0, rel=0.7)


@pytest.mark.parametrize("case", ["separable", "one class only", "one row", "constant features"])
def test_edges_with_many_classes_are_calm(case):
    y, phi = class_rows(1 if case == "one row" else 60, 4)
    if case == "separable":
        side = phi @ np.arange(-4.0, 6.0)
        y = np.searchsorted(np.quantile(side, [0.25, 0.5, 0.75]), side).astype(float)[:, None]
    elif case == "one class only":
        y[:] = 2.0
    elif case == "constant features":
        phi = np.repeat(phi[:1], 60, axis=0)
    assert_inside(fit_one(y, phi, categorical_link(4)), categorical_link(4))


@pytest.mark.parametrize("kind", ["poisson", "ordinal-logit"])
def test_the_gradient_of_the_links_prior(kind):
    start = np.array([0.3, 0.2]) if kind == "poisson" else np.array([-1.5, -0.2, 0.1, 2.0])
    link = link_at(LIKELIHOODS[kind].link_from(np.empty((0, 2)), len(start) + 1), start)
    assert link.penalty(link.free()) == (0.0, pytest.approx(np.zeros(len(start))))
    free = link.free() + np.linspace(-0.8, 0.9, len(start))
    slopes = []
    for j in range(len(free)):
        step = 1e-6 * (np.arange(len(free)) == j)
        slopes.append((link.penalty(free + step)[0] - link.penalty(free - step)[0]) / 2e-6)
    np.testing.assert_allclose(link.penalty(free)[1], slopes, rtol=1e-6)
