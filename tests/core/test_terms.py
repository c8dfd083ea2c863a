"""Kernels that are sums of terms: exact against a naive recursion, in blocks and rows, wherever kernels are used."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import expert as oracle
from scipy.special import ndtr

import iegp
from iegp.core.features import feature_rows, joined, term_of_features
from iegp.core.fitting import evidence, laplace_evidence
from iegp.core.fitting.experts import term_bases
from iegp.core.kernels import KERNELS, Inputs, kernel_from_config
from iegp.core.likelihoods import named
from iegp.errors import InputError
from iegp.kernels import HSGP, RBF, Cauchy, Constant, Laplace, Linear, Matern, Periodic, Stationary, register

RNG = np.random.default_rng(8)
N = 90
X = RNG.normal(size=(N, 3))
Y = np.sin(X[:, 0]) + 0.7 * X[:, 1] + 2.0 + 0.1 * RNG.normal(size=N)
NOISE = 0.04
SETTINGS = {"n_frequencies": 5, "noise_var": NOISE, "noise_forgetting": None, "standardize": False}
SETTINGS |= {"shutdown": 0.0, "random_state": 3}


def model(kernel, **changes):
    return iegp.IEGPRegressor([kernel], **(SETTINGS | {"drift_var": 0.0, "weights": "bayes"} | changes))


def naive_features(frequencies, x):
    """Sines, cosines, columns over the root of their number, one."""
    angles = x @ frequencies.T
    waves = np.hstack([np.sin(angles), np.cos(angles)]) / np.sqrt(len(frequencies))
    return np.hstack([waves, x / np.sqrt(x.shape[1]), np.ones((len(x), 1))])


def naive_run(found, prior_vars, drift_vars, x, y):
    phi = naive_features(found.experts_[0].frequencies, x)
    sizes = [10, x.shape[1], 1]
    return oracle.run(phi, y[:, None], np.repeat(prior_vars, sizes) / NOISE, np.repeat(drift_vars, sizes) / NOISE)


@pytest.mark.parametrize("drifts", [(0.0, 0.0, 0.0), (0.01, 0.01, 0.01), (0.01, 0.0, 0.1), (0.0, 0.0, 0.05)])
@pytest.mark.parametrize("size", [1, 7, N])
def test_a_sum_is_the_naive_recursion(drifts, size):
    priors = (2.0, 0.5, 8.0)
    rbf, linear, constant = (
        kind(prior_var=p, drift_var=d) for kind, p, d in zip((RBF, Linear, Constant), priors, drifts, strict=True)
    )
    found = model(rbf + linear + constant)
    runs = [found.prequential(X[i : i + size], Y[i : i + size]) for i in range(0, N, size)]
    wanted = naive_run(found, priors, drifts, X, Y)
    assert_allclose(np.concatenate([run.mean for run in runs]), wanted.mean[:, 0], rtol=0, atol=1e-9)
    stds = np.concatenate([run.std for run in runs])
    assert_allclose(stds, np.sqrt(NOISE * wanted.variance), rtol=1e-9)
    ahead = oracle.walk(wanted.belief, np.repeat(drifts, [10, 3, 1]) / NOISE)
    phi = naive_features(found.experts_[0].frequencies, X[:4])
    assert_allclose(found.predict(X[:4]), [oracle.predict(ahead, row)[0][0] for row in phi], atol=1e-9)


def test_drift_in_units_of_the_prior():
    """drift_var times each term's initial prior variance; experts_ shows it in units of the target."""
    kernel = RBF(prior_var=2.0) + Linear(prior_var=0.5) + Constant(prior_var=8.0, drift_var=0.0)
    found = model(kernel, drift_var=0.01, drift_units="prior")
    run = found.prequential(X, Y)
    wanted = naive_run(found, (2.0, 0.5, 8.0), (0.02, 0.005, 0.0), X, Y)
    assert_allclose(run.mean, wanted.mean[:, 0], atol=1e-9)
    assert_allclose(found.experts_[0].drift_var, (0.02, 0.005, 0.0), rtol=1e-12)


def test_drift_in_units_of_the_prior_stays_after_going_live():
    kernel = RBF() + Linear()
    fitted = {"prior_var": "evidence", "noise_var": "evidence", "noise_forgetting": 1.0, "standardize": True}
    static = model(kernel, warmup=60, **fitted).fit(X, Y)
    live = static.go_live(drift_var=(0.0, 0.01), drift_units="prior")
    prior_vars = [term.prior_var for term in static.experts_[0].kernel.terms]
    shown = next(e.drift_var for e in live.experts_ if e.drift_var[0] > 0.0)
    assert_allclose(shown, [0.01 * v for v in prior_vars], rtol=1e-9)


LABELS = {
    "classes": (iegp.IEGPClassifier, (Y > 2.0).astype(int)),
    "three classes": (iegp.IEGPClassifier, np.digitize(Y, [1.5, 2.5])),
    "levels": (iegp.IEGPOrdinalClassifier, np.digitize(Y, [1.5, 2.5])),
    "counts": (iegp.IEGPCountRegressor, np.floor(np.exp(Y / 2)).astype(int)),
}


@pytest.mark.parametrize("drift_var", [0.0, 0.01])
@pytest.mark.parametrize("labels", LABELS)
def test_blocks_are_rows_whatever_the_labels(labels, drift_var):
    estimator, y = LABELS[labels]
    kernel = RBF() + Linear() + Constant(drift_var=10 * drift_var)
    settings = {"n_frequencies": 5, "warmup": 40, "drift_var": drift_var, "random_state": 0}
    at_once = estimator(kernels=[kernel], **settings).partial_fit(X[:40], y[:40], **_classes(labels, y))
    by_row = estimator(kernels=[kernel], **settings).partial_fit(X[:40], y[:40], **_classes(labels, y))
    score = at_once.prequential(X[40:], y[40:]).log_score
    rows = [by_row.prequential(X[i : i + 1], y[i : i + 1]).log_score[0] for i in range(40, N)]
    assert_allclose(rows, score, atol=1e-8)


def _classes(labels, y):
    return {"classes": np.unique(y)} if labels != "counts" else {}


def _rows(kernel, n_frequencies=5):
    settings = iegp.IEGPRegressor([kernel], n_frequencies=n_frequencies, random_state=0).settings(1)
    bases = term_bases(settings, kernel, 0, Inputs((0, 1, 2), np.ones(3)))
    return feature_rows(X, joined(bases)), term_of_features(bases)


def test_slopes_of_the_evidence():
    phi, term_of = _rows(RBF() + Linear() + Constant())
    y = np.column_stack([Y, np.cos(X[:, 2])])
    rows = evidence.term_rows(phi, y, term_of)
    logs, noise = np.log([3.0, 0.2, 40.0]), np.array([0.1, 0.3])
    _, slopes, d_noise = evidence.term_evidence(rows, evidence.explained(rows, np.exp(logs)), noise)

    def value(logs, log_noise):
        """By the density of all rows together."""
        total = 0.0
        for d, level in enumerate(np.exp(log_noise)):
            covariance = level * ((phi * np.exp(logs)[term_of]) @ phi.T + np.eye(N))
            sign, log_det = np.linalg.slogdet(2 * np.pi * covariance)
            total -= 0.5 * (sign * log_det + y[:, d] @ np.linalg.solve(covariance, y[:, d]))
        return total

    assert_allclose(
        evidence.term_evidence(rows, evidence.explained(rows, np.exp(logs)), noise)[0],
        value(logs, np.log(noise)),
        rtol=1e-10,
    )
    step = 1e-5 * np.eye(3)
    wanted = [(value(logs + h, np.log(noise)) - value(logs - h, np.log(noise))) / 2e-5 for h in step]
    assert_allclose(slopes, wanted, rtol=1e-6, atol=1e-6)
    wanted = [(value(logs, np.log(noise) + h) - value(logs, np.log(noise) - h)) / 2e-5 for h in 1e-5 * np.eye(2)]
    assert_allclose(d_noise, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["bernoulli-logit", "poisson"])
def test_slopes_of_the_laplace_evidence(name):
    phi, term_of = _rows(RBF() + Linear() + Constant())
    counts = np.column_stack([np.floor(np.exp(Y / 2)), np.ones(N)])
    y = counts if name == "poisson" else (Y > 2.0).astype(float)[:, None]
    likelihood = named(name)
    link = likelihood.link_from(y, 2, None)
    search = laplace_evidence.Search(y, phi, term_of, link)
    logs, free = np.log([1.5, 0.3, 2.0]), link.free()
    slopes = search.evidence(logs, free)[1]
    values = [[search.evidence(logs + s * h, free)[0] for s in (1, -1)] for h in 1e-4 * np.eye(3)]
    assert_allclose(slopes, [(a - b) / 2e-4 for a, b in values], rtol=1e-4, atol=1e-4)


def test_evidence_finds_the_terms_that_matter():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(800, 2))
    linear = x @ [2.0, -1.0] + 0.1 * rng.normal(size=800)
    found = iegp.IEGPRegressor([RBF("dimension") + Linear() + Constant()], warmup=400, random_state=0).fit(x, linear)
    rbf, line, constant = (term.prior_var for term in found.experts_[0].kernel.terms)
    assert line > 10 * rbf
    # A share is left to what the warm-up rows do not need.
    total = rbf + line + constant
    assert min(rbf, constant) >= 0.99e-3 * total


def test_a_term_that_was_not_needed_becomes_so():
    """The warm-up rows are linear, later ones are not: with drift, the other term is still there to follow."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, size=(3000, 1))
    late = np.where(np.arange(3000) < 1000, 0.0, 2.0 * np.sin(3 * x[:, 0]))
    y = x[:, 0] + late + 0.1 * rng.normal(size=3000)
    shape = {"warmup": 500, "n_frequencies": 25, "drift_var": (0.0, 1e-2), "drift_units": "prior", "random_state": 0}
    both = iegp.IEGPRegressor([RBF(0.5) + Linear()], **shape).prequential(x, y)
    line = iegp.IEGPRegressor([Linear()], **shape).prequential(x, y)
    tail = slice(2000, None)
    assert np.mean((both.mean - y)[tail] ** 2) < 0.2 * np.mean((line.mean - y)[tail] ** 2)


def test_a_period_is_in_the_units_of_its_column():
    hours = np.arange(600.0)
    y = np.sin(2 * np.pi * hours / 24.0) + 0.3 * np.cos(4 * np.pi * hours / 24.0)
    found = model(Periodic(24.0), prior_var=1.0, standardize=True, warmup=200).fit(hours[:300, None], y[:300])
    assert_allclose(found.predict(hours[300:, None]), y[300:], atol=0.05)
    kernel = Periodic(24.0, length_scale=0.8)
    bases = term_bases(model(kernel).settings(1), kernel, 0, Inputs((0,), np.array([5.0])))
    phi = feature_rows(hours[:50, None] / 5.0, joined(bases))
    assert_allclose(phi @ phi.T, kernel(hours[:50, None]), atol=3e-2)
    assert_allclose((phi**2).sum(axis=1), 1.0)


def test_a_term_sees_its_columns_only():
    changed = X.copy()
    changed[:, 1] = 7.0
    found = model(RBF(columns=[0, 2]) + Linear(columns=[2]), prior_var=1.0).fit(X, Y)
    assert_allclose(found.predict(changed), found.predict(X))
    seeing = model(RBF() + Linear(columns=[2]), prior_var=1.0).fit(X, Y)
    assert not np.allclose(seeing.predict(changed), seeing.predict(X))


# Terms whose features are not drawn at random, and how close these come to the covariance.
FIXED = [
    (Linear(), 1e-12),
    (Constant(), 1e-12),
    (Periodic(24.0, length_scale=0.8), 5e-3),
    (HSGP(1.0, n_functions=40), 5e-3),
]


@pytest.mark.parametrize(("term", "tolerance"), FIXED, ids=repr)
def test_features_reproduce_the_covariance(term, tolerance):
    bases = term_bases(model(term, n_frequencies=20).settings(1), term, 0, Inputs((0, 1, 2), np.ones(3)))
    phi = feature_rows(X[:20], joined(bases))
    assert_allclose(phi @ phi.T, term(X[:20]), atol=tolerance)


SUMS = [
    RBF(2.0) + Linear() + Constant(),
    Matern(1.0, nu=2.5, prior_var=3.0) + Cauchy("per-dimension", columns=[0, 2]) + Periodic(24.0, columns=[1]),
    Linear(columns=[0]) + Constant(drift_var=0.1, prior_var=2.0),
    Laplace(1.0) + Constant(),
    HSGP(0.5, n_functions=4, boundary=2.0),
    HSGP("per-dimension", nu=1.5, n_functions=3, columns=[0, 2]) + Linear(),
]


@pytest.mark.parametrize("kernel", SUMS, ids=lambda kernel: kernel.short())
def test_printed_saved_and_loaded(kernel, tmp_path):
    assert eval(repr(kernel)) == kernel
    assert kernel_from_config(kernel.to_config()) == kernel
    found = iegp.IEGPRegressor([RBF(1.0), kernel], warmup=50, n_frequencies=5, random_state=0).fit(X, Y)
    found.save(tmp_path / "m")
    again = iegp.load(tmp_path / "m")
    assert again.kernels == (RBF(1.0), kernel)
    for one in (found, again):
        one.partial_fit(X[:30], Y[:30])
    assert np.array_equal(again.predict(X), found.predict(X))
    assert repr(again.experts_) == repr(found.experts_)


def test_merged_and_unlearned_as_any_kernel():
    kernel = RBF() + Linear() + Constant()
    base = model(kernel, prior_var="evidence", noise_forgetting=1.0, warmup=30, standardize=True)
    base.warm_up(X[:30], Y[:30])
    whole, first, second = (copy.deepcopy(base) for _ in range(3))
    whole.partial_fit(X[30:], Y[30:])
    first.partial_fit(X[30:60], Y[30:60])
    second.partial_fit(X[60:], Y[60:])
    alone = copy.deepcopy(first)
    merged = first.merge(second, since=base)
    assert_allclose(merged.predict(X), whole.predict(X), atol=1e-9)
    assert_allclose(whole.unlearn(X[60:], Y[60:]).predict(X), alone.predict(X), atol=1e-8)


def test_fleets_are_models():
    kernel = RBF() + Linear() + Constant()
    base = iegp.IEGPRegressor([RBF(0.5), kernel], warmup=40, n_frequencies=5, drift_var=(0.0, 0.01), random_state=0)
    base.warm_up(X[:40], Y[:40])
    fleet, alone = iegp.Fleet(base), copy.deepcopy(base)
    fleet.learn(["a"] * 50, X[40:], Y[40:])
    alone.partial_fit(X[40:], Y[40:])
    assert_allclose(fleet.predict(["a"] * 5, X[:5]), alone.predict(X[:5]), atol=1e-12)


@register
@dataclass(frozen=True, repr=False)
class SquaredSinc(Stationary):
    """A user's kernel: frequencies from a product of triangular densities."""

    is_product = True

    def value(self, x, x2):
        return np.prod(np.sinc((x[:, None] - x2[None]) / (2 * np.pi)) ** 2, axis=2)

    def spectral(self, normal):
        u = ndtr(normal)
        return np.where(u < 0.5, np.sqrt(2 * u) - 1, 1 - np.sqrt(2 * (1 - u)))


def test_a_kernel_of_a_user(tmp_path):
    kernel = SquaredSinc("per-dimension") + Constant()
    x = RNG.normal(size=(40, 2))
    bases = term_bases(model(kernel, n_frequencies=4000).settings(1), SquaredSinc(2.0), 0, Inputs((0, 1), np.ones(2)))
    phi = feature_rows(x, joined(bases))
    assert_allclose(phi @ phi.T, SquaredSinc(2.0)(x), atol=0.08)
    found = iegp.IEGPRegressor([kernel], warmup=50, n_frequencies=5, random_state=0).fit(X, Y)
    found.save(tmp_path / "m")
    assert np.array_equal(iegp.load(tmp_path / "m").predict(X), found.predict(X))
    own = KERNELS.pop("SquaredSinc")
    try:
        with pytest.raises(iegp.errors.ModelFileError, match=r"SquaredSinc.*iegp\.kernels\.register"):
            iegp.load(tmp_path / "m")
    finally:
        register(own)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Periodic(0.0), "period=0.0"),
        (lambda: Periodic(float("nan")), "period=nan"),
        (lambda: Linear(columns=[]), "columns=\\[\\]"),
        (lambda: Linear(columns=[-1]), "columns=\\[-1\\]"),
        (lambda: Linear(columns=[0, 0]), "columns=\\[0, 0\\]"),
        (lambda: Constant(prior_var=-1.0), "prior_var=-1.0"),
        (lambda: Constant(drift_var="fast"), "drift_var='fast'"),
        (lambda: RBF(lags="some"), "lags='some'"),
        (lambda: model(RBF(columns=[5])).fit(X, Y), r"there is no 5; the data have 0 to 2"),
        (lambda: model(RBF(columns=["hour"])).fit(X, Y), r"there is no 'hour'"),
        (lambda: model(RBF((1.0, 2.0), columns=[0])).fit(X, Y), "2 length scales but the data have 1"),
        (lambda: model(Linear()).fit(np.ones((3, 1001)), Y[:3]), "1001 columns.*name the columns"),
        (lambda: model(RBF(lags="only")).fit(X, Y), "sees lags only"),
        (lambda: iegp.IEGPLVM(kernels=[RBF(1.0) + Linear()]).fit(X), "stationary"),
        (lambda: register(RBF), "exists already"),
        (lambda: register(int), "derive it from"),
    ],
)
def test_bad_terms_are_named(wrong, message):
    with pytest.raises(InputError, match=message):
        wrong()


def test_bad_input_changes_nothing():
    found = model(RBF() + Linear(), prior_var=1.0).fit(X, Y)
    before = found.predict(X)
    with pytest.raises(InputError):
        found.partial_fit(np.full((2, 3), np.inf), Y[:2])
    assert np.array_equal(found.predict(X), before)


def test_positive_over_many_rows_with_a_term_that_does_not_drift():
    """A term that drifts beside one that does not, at a prior far above the noise."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(20_000, 2))
    y = np.sin(x[:, 0]) + 1e-6 * rng.normal(size=20_000)
    kernel = RBF(prior_var=1.0, drift_var=0.0) + Linear(prior_var=1e2, drift_var=1e-8) + Constant(prior_var=1.0)
    run = model(kernel, noise_var=1e-10, drift_var=0.0).prequential(x, y)
    assert np.isfinite(run.std).all()
    assert np.isfinite(run.mean).all()
