"""Likelihoods of users in estimators: as the built-in ones, in plain Python and compiled, stored and loaded."""

from __future__ import annotations

import math
import pickle

import numba
import numpy as np
import pytest
from core.likelihoods.users import FastLogit, Geometric, PlainLogit
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, optimize
from sklearn.base import clone

import iegp
from iegp import IEGPClassifier, IEGPCountRegressor, IEGPRegressor, likelihoods
from iegp.core.features import fourier_rows
from iegp.core.likelihoods import LIKELIHOODS
from iegp.errors import InputError, UnregisteredLikelihoodError
from iegp.fleet import Fleet
from iegp.kernels import RBF

SMALL = {"kernels": [RBF(1.0)], "n_frequencies": 5, "warmup": 40, "random_state": 0}


@pytest.fixture(autouse=True)
def _forget_likelihoods():
    known = dict(LIKELIHOODS)
    yield
    LIKELIHOODS.clear()
    LIKELIHOODS.update(known)


def class_rows(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + rng.logistic(size=n) > 0.0, "yes", "no")


def count_rows(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 1))
    mean = np.exp(0.5 + np.sin(2.0 * X[:, 0]))
    return X, rng.geometric(1.0 / (1.0 + mean)) - 1.0


# --- a user's logit is the built-in one -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [PlainLogit, FastLogit])
def test_blocks_rows_fit_and_predictions_are_those_of_the_built_in(kind):
    X, y = class_rows()
    built_in, own = IEGPClassifier(**SMALL), IEGPClassifier(likelihood=kind(), **SMALL)
    runs = [model.prequential(X[:60], y[:60], classes=["no", "yes"]) for model in (built_in, own)]
    for field in ("proba", "log_score", "weights"):
        assert_allclose(getattr(runs[1], field), getattr(runs[0], field), rtol=1e-8, atol=1e-8)
    for i in range(60, 90):
        for model in (built_in, own):
            model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_allclose(own.predict_proba(X), built_in.predict_proba(X), atol=1e-8)
    assert_allclose(own.expert_weights_, built_in.expert_weights_, atol=1e-8)
    for found, wanted in zip(own.experts_, built_in.experts_, strict=True):
        assert found.prior_var == pytest.approx(wanted.prior_var, rel=1e-8)
    assert_array_equal(own.predict(X), built_in.predict(X))


def test_threads_call_plain_python():
    X, y = class_rows(300)
    many = dict(SMALL, kernels=[RBF(1.0), RBF(2.0), RBF(0.5)])
    runs = [IEGPClassifier(likelihood=PlainLogit(), n_jobs=n, **many).prequential(X, y) for n in (1, 3)]
    assert_array_equal(runs[0].log_score, runs[1].log_score)


@pytest.mark.parametrize("kind", [PlainLogit, FastLogit])
def test_a_model_is_stored_by_the_name_of_its_likelihood(kind, tmp_path):
    X, y = class_rows()
    model = IEGPClassifier(likelihood=kind(), **SMALL).fit(X[:60], y[:60])
    model.save(tmp_path / "model")
    loaded = iegp.load(tmp_path / "model")
    assert loaded.likelihood == kind.name
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    for one in (loaded, model):
        one.partial_fit(X[60:], y[60:])
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    model.save(tmp_path / "model")
    del LIKELIHOODS[kind.name]
    with pytest.raises(UnregisteredLikelihoodError, match=rf"{kind.name}.*register it first"):
        iegp.load(tmp_path / "model")
    likelihoods.register(kind())
    assert_array_equal(iegp.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))


def test_a_model_is_pickled_and_cloned():
    X, y = class_rows()
    model = IEGPClassifier(likelihood=PlainLogit(), **SMALL).fit(X, y)
    there = pickle.loads(pickle.dumps(model))
    assert type(there.likelihood) is PlainLogit
    assert_array_equal(there.predict_proba(X), model.predict_proba(X))
    assert_array_equal(clone(model).fit(X, y).predict_proba(X), model.predict_proba(X))


# --- counts that the package has no likelihood for ------------------------------------------------------------------


def log_integral(count, mean, var, offset):
    def density(z):
        return math.exp(Geometric.log_density(count, z + offset) - 0.5 * (z - mean) ** 2 / var)

    reach = 12.0 * math.sqrt(var)
    total = integrate.quad(density, mean - reach, mean + reach, epsabs=0.0, epsrel=1e-11, limit=400)[0]
    return math.log(total / math.sqrt(2.0 * math.pi * var))


def excess(z, mean, var, label, link):
    return z - mean - var * Geometric.derivatives(label, z, link)[1]


def slow_scores(phi, y, prior_var, offset):
    """Log scores of one static expert: dense Gaussian algebra, the mode by a root finder, integrals by scipy."""
    mean, covariance, scores = np.zeros(phi.shape[1]), prior_var * np.eye(phi.shape[1]), []
    for row, count in zip(phi, y, strict=True):
        m, v = row @ mean, row @ covariance @ row
        scores.append(log_integral(count, m, v, offset))
        label, link = np.array([count, 1.0]), np.array([offset])
        z = optimize.brentq(excess, m - 99.0, m + 99.0, args=(m, v, label, link), xtol=1e-13)
        _, slope, curvature = Geometric.derivatives(label, z, link)
        gain = covariance @ row
        mean = mean + gain * slope
        covariance = covariance - np.outer(gain, gain) * curvature / (1.0 + curvature * v)
    return np.array(scores)


def test_geometric_counts_are_those_of_a_slow_oracle():
    X, y = count_rows()
    one = {"drift_var": 0.0, "prior_var": 2.0, "standardize": False}
    model = IEGPCountRegressor(likelihood=Geometric(), **one, **SMALL).fit(X[:40], y[:40])
    offset = float(model.model_.experts.ensemble.link[0, 0])
    assert abs(offset - math.log(y[:40].mean())) < 1.0
    found = [model.prequential(X[40:70], y[40:70]).log_score]
    found += [model.prequential(X[i : i + 1], y[i : i + 1]).log_score for i in range(70, 90)]
    phi = fourier_rows(X, model.experts_[0].frequencies)
    wanted = slow_scores(phi, y, 2.0, offset)
    assert_allclose(np.concatenate(found), wanted[40:], rtol=1e-8, atol=1e-8)


def test_geometric_counts_are_predicted_with_their_moments():
    X, y = count_rows(200)
    model = IEGPCountRegressor(likelihood=Geometric(), **SMALL)
    run = model.prequential(X, y)
    assert np.isnan(run.lower).all()
    assert np.mean(run.log_score[100:]) > np.mean(run.log_score[:20])
    dist = model.predict_dist(X[:3], exposure=[1.0, 2.0, 3.0])
    counts = np.arange(0.0, 2000.0)
    for i in range(3):
        own = model.predict_dist(X[i : i + 1], exposure=[1.0 + i])
        probabilities = np.exp([own.logpdf(k)[0] for k in counts])
        assert probabilities.sum() == pytest.approx(1.0, abs=1e-3)
        assert probabilities @ counts == pytest.approx(dist.mean[i], rel=1e-2)
    mean, std = model.predict(X, return_std=True)
    assert np.all(std**2 > mean + mean**2 - 1e-9)
    with pytest.raises(InputError, match="no distribution function"):
        dist.interval()
    assert repr(dist) == "LatentMixture(geometric, 3 rows, 3 experts)"


def test_an_exposure_counts():
    X, y = count_rows()
    model = IEGPCountRegressor(likelihood="geometric", **SMALL)
    likelihoods.register(Geometric())
    model.fit(X, y, exposure=np.full(len(X), 2.0))
    assert_allclose(model.predict(X, exposure=4.0), 2.0 * model.predict(X, exposure=2.0), rtol=1e-9)


def test_labels_are_what_the_likelihood_allows():
    X, y = count_rows()
    model = IEGPCountRegressor(likelihood=Geometric(), **SMALL).fit(X, y)
    for wrong in (-1.0, 0.5):
        with pytest.raises(InputError, match=r"row 0.*'geometric'"):
            model.partial_fit(X[:1], [wrong])

    class Wide(likelihoods.Likelihood):
        name = "wide"

        @staticmethod
        def derivatives(label, z, link):
            return -0.5 * (label[0] - z - link[0]) ** 2, label[0] - z - link[0], 1.0

        def moments(self, z, link, exposure):
            del exposure
            return z + link[0], np.ones_like(z)

    IEGPCountRegressor(likelihood=Wide(), **SMALL).fit(X, y - 5.0)


# --- errors ---------------------------------------------------------------------------------------------------------


class Fussy(PlainLogit):
    """Fails for one label once it is told to."""

    name = "fussy"
    is_on = False

    @staticmethod
    def derivatives(label, z, link):
        if Fussy.is_on and label[0] == 1.0:
            raise RuntimeError("not today")
        return PlainLogit.derivatives(label, z, link)


class Convex(PlainLogit):
    """A density that is not log-concave."""

    name = "convex"

    @staticmethod
    def derivatives(label, z, link):
        log_density, slope, curvature = PlainLogit.derivatives(label, z, link)
        return log_density, slope, -curvature


class FastConvex(Convex):
    """The same, compiled."""

    name = "fast-convex"

    @staticmethod
    @numba.njit
    def derivatives(label, z, link):
        return 0.1 * z * z, 0.2 * z + label[0] + link[0], -0.2


@pytest.mark.parametrize("n", [1, 30])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_a_function_leaves_the_model_unchanged(n, n_jobs):
    X, y = class_rows()
    more = dict(SMALL, kernels=[RBF(1.0), RBF(2.0)], n_jobs=n_jobs)
    model = IEGPClassifier(likelihood=Fussy(), **more).fit(X[:50], y[:50])
    rows = X[y == "yes"][:n], np.full(n, "yes")
    before, seen = model.predict_proba(X), model.n_samples_seen_
    Fussy.is_on = True
    try:
        for learn in (model.partial_fit, model.prequential):
            with pytest.raises(InputError, match=r"'fussy' failed.*not today") as caught:
                learn(*rows)
            assert isinstance(caught.value.__cause__, RuntimeError)
        with pytest.raises(InputError, match="not today"):
            model.predict_proba(X)
    finally:
        Fussy.is_on = False
    assert model.n_samples_seen_ == seen
    assert_array_equal(model.predict_proba(X), before)
    model.partial_fit(*rows)


@pytest.mark.parametrize("kind", [Convex, FastConvex])
@pytest.mark.parametrize("prior_var", ["evidence", 4.0])
def test_a_density_that_is_not_log_concave_is_refused(kind, prior_var):
    X, y = class_rows()
    with pytest.raises(InputError, match="log-concave"):
        IEGPClassifier(likelihood=kind(), prior_var=prior_var, **SMALL).fit(X, y)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: IEGPCountRegressor(likelihood="no-such"), "registered first"),
        (lambda: IEGPCountRegressor(likelihood="bernoulli-logit"), "another estimator"),
        (lambda: IEGPCountRegressor(likelihood=PlainLogit()), "use IEGPClassifier"),
        (lambda: IEGPClassifier(likelihood="poisson"), "another estimator"),
        (lambda: IEGPClassifier(likelihood=Geometric()), "use IEGPCountRegressor"),
        (lambda: IEGPClassifier(likelihood=3), "3 is not known"),
    ],
)
def test_likelihoods_that_an_estimator_does_not_take(make, match):
    X, y = class_rows()
    with pytest.raises(InputError, match=match):
        make().fit(X, (y == "yes").astype(float))


def test_a_likelihood_of_two_classes_takes_no_third():
    X, _ = class_rows()
    with pytest.raises(InputError, match="3 classes"):
        IEGPClassifier(likelihood=PlainLogit(), **SMALL).fit(X, np.arange(90) % 3)


def test_fleets_refuse_a_users_likelihood_with_a_reason():
    X, y = class_rows()
    template = IEGPClassifier(likelihood=PlainLogit(), **SMALL).fit(X, y)
    with pytest.raises(InputError, match="only IEGPRegressor"):
        Fleet(template)
    assert "likelihood" not in IEGPRegressor().get_params()
