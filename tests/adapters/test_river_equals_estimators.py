"""The same stream through River, scikit-learn and the core: the same predictions, in and after the warm-up."""

from __future__ import annotations

import numpy as np
import pytest
from adapters.models import as_dicts, classifier, counter, ordinal, regressor
from contracts.models import (
    GRADES,
    class_stream,
    count_stream,
    grade_stream,
    small,
    small_classifier,
    small_counts,
    small_ordinal,
    stream,
)
from numpy.testing import assert_allclose

from iegp.adapters import RiverClassifier, RiverCountRegressor, RiverOrdinalClassifier, RiverRegressor
from iegp.core import model as online
from iegp.kernels import RBF, Cauchy, Matern
from iegp.presets import light

N = 150
# Predictions are compared at these rows: before any, in and after the warm-up of 64.
ASKED = (1, 2, 3, 10, 31, 32, 33, 63, 64, 65, 100, N)
close = {"rtol": 1e-8, "atol": 1e-8}
FITTED = {"kernels": [RBF("per-dimension"), Matern("dimension"), Cauchy("evidence")]}


@pytest.mark.parametrize("arguments", [{}, FITTED, {"weights": "bayes"}, {"standardize": False}], ids=str)
def test_regression(arguments):
    X, y = stream(N)
    rows = as_dicts(X)
    river, estimator = regressor(**arguments), small(features="random", **arguments)
    core = online.begin(estimator.settings(1), 3, 1)
    for t in range(N):
        river.learn_one(rows[t], y[t])
        estimator.partial_fit(X[t : t + 1], y[t : t + 1])
        online.absorb(core, X[t : t + 1], y[t : t + 1, None])
        if t + 1 in ASKED:
            mean, std = estimator.predict(X[:20], return_std=True)
            dist = [river.predict_one(x, with_dist=True) for x in rows[:20]]
            assert_allclose([d.mu for d in dist], mean, **close)
            assert_allclose([d.sigma for d in dist], std, **close)
            assert_allclose([river.predict_one(x) for x in rows[:20]], mean, **close)
            assert_allclose(online.predict(core, X[:20]).mean[:, 0], mean, **close)
    reference = estimator.predict_dist(X[:1])
    assert dist[0].cdf(0.3) == pytest.approx(reference.cdf(0.3)[0], abs=1e-8)
    assert dist[0].quantile(0.9) == pytest.approx(reference.quantile(0.9)[0], abs=1e-8)
    assert dist[0].interval(0.8) == pytest.approx([end[0] for end in reference.interval(0.8)], abs=1e-8)
    assert dist[0].logpdf(0.3) == pytest.approx(reference.logpdf(0.3)[0], abs=1e-8)
    assert dist[0](0.3) == pytest.approx(np.exp(dist[0].logpdf(0.3)))


def test_the_light_model():
    X, y = stream(300)
    rows = as_dicts(X)
    river, estimator = RiverRegressor.light(seed=3), light(features="random", random_state=3)
    for t in range(300):
        river.learn_one(rows[t], y[t])
    estimator.fit(X, y)
    assert_allclose([river.predict_one(x) for x in rows[:20]], estimator.predict(X[:20], horizon=1), **close)
    assert len(estimator.experts_) == 54
    assert river.clone()._get_params() == RiverRegressor.light(seed=3)._get_params()
    assert RiverRegressor.light(warmup=10).warmup == light(warmup=10).warmup == 10


LIGHT = {
    "classification": (RiverClassifier, lambda: class_stream(120, 2)),
    "count": (RiverCountRegressor, lambda: count_stream(120)[:2]),
    "ordinal": (RiverOrdinalClassifier, lambda: grade_stream(120)),
}


@pytest.mark.parametrize("lags", [3, 0])
@pytest.mark.parametrize("task", LIGHT)
def test_light_models_of_other_labels(task, lags):
    model, rows_of = LIGHT[task]
    X, y = rows_of()
    first = {"classification": {"classes": [0, 1]}, "count": {}, "ordinal": {"order": GRADES}}[task]
    small_light = {"n_frequencies": 4, "warmup": 64, "lags": lags}
    river = model.light(seed=3, **small_light, **first)
    estimator = light(task, features="random", random_state=3, **small_light)
    rows = as_dicts(X)
    for t in range(len(rows)):
        river.learn_one(rows[t], y[t].item())
    estimator.partial_fit(X, y, **({} if task == "count" else {"classes": next(iter(first.values()))}))
    if task == "count":
        assert_allclose([river.predict_one(x) for x in rows[:20]], estimator.predict(X[:20]), **close)
    else:
        proba = [list(river.predict_proba_one(x).values()) for x in rows[:20]]
        assert_allclose(proba, estimator.predict_proba(X[:20]), **close)
    assert model.light(seed=3).warmup == 256


@pytest.mark.parametrize("n_classes", [2, 4])
def test_classes_that_were_declared(n_classes):
    X, y = class_stream(N, n_classes)
    rows, classes = as_dicts(X), list(range(n_classes))
    river = classifier(classes=classes, sharpness=(1.0, 2.0))
    estimator = small_classifier(features="random")
    core = online.begin(estimator.settings(n_classes), 3, n_classes)
    for t in range(N):
        river.learn_one(rows[t], y[t])
        estimator.partial_fit(X[t : t + 1], y[t : t + 1], classes=classes if t == 0 else None)
        online.absorb(core, X[t : t + 1], y[t : t + 1, None].astype(float))
        if t + 1 in ASKED:
            proba = estimator.predict_proba(X[:20])
            assert_allclose([list(river.predict_proba_one(x).values()) for x in rows[:20]], proba, **close)
            assert_allclose(online.predict_classes(core, X[:20]), proba, **close)
            assert [river.predict_one(x) for x in rows[:20]] == estimator.predict(X[:20]).tolist()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_classes_that_appeared_during_the_warm_up(n_classes):
    """From the last refit on beliefs do not remember that they were not known, nor do weights that start anew."""
    X, y = class_stream(N, n_classes)
    y[:n_classes] = np.arange(n_classes)[::-1]
    rows = as_dicts(X)
    river = classifier(sharpness=(1.0, 2.0), weights="bayes")
    estimator = small_classifier(features="random", weights="bayes").fit(X, y)
    for x, label in zip(rows, y.tolist(), strict=True):
        river.learn_one(x, label)
    assert river.known_classes == tuple(range(n_classes))[::-1]
    found = [river.predict_proba_one(x) for x in rows[:20]]
    assert_allclose([[p[k] for k in range(n_classes)] for p in found], estimator.predict_proba(X[:20]), **close)


def test_two_classes_are_the_same_from_the_second_row_on():
    """Before, the other one has no name; learning is the same."""
    X, y = class_stream(N, 2)
    y[:2] = [1, 0]
    river, estimator = classifier(sharpness=(1.0, 2.0)), small_classifier(features="random")
    for t, x in enumerate(as_dicts(X)):
        river.learn_one(x, y[t])
        estimator.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1] if t == 0 else None)
        if t > 0 and t + 1 in ASKED:
            assert river.predict_proba_one(x)[1] == pytest.approx(estimator.predict_proba(X[t : t + 1])[0, 1], abs=1e-8)


def test_counts():
    X, y, exposure = count_stream(N)
    rows = as_dicts(X)
    river, estimator = counter(), small_counts(features="random")
    core = online.begin(estimator.settings(1), 3, 1)
    for t in range(N):
        river.learn_one(rows[t], y[t], exposure=exposure[t])
        estimator.partial_fit(X[t : t + 1], y[t : t + 1], exposure[t : t + 1])
        online.absorb(core, X[t : t + 1], np.array([[y[t], exposure[t]]]))
        if t + 1 in ASKED:
            mean, std = estimator.predict(X[:20], exposure[:20], return_std=True)
            dist = [river.predict_one(x, with_dist=True, exposure=e) for x, e in zip(rows, exposure[:20], strict=False)]
            assert_allclose([d.mu for d in dist], mean, **close)
            assert_allclose([d.sigma for d in dist], std, **close)
            assert_allclose(online.predict_counts(core, X[:20], exposure[:20]).mean, mean, **close)
    reference = estimator.predict_dist(X[:1], exposure[:1])
    assert dist[0].pmf(3) == pytest.approx(reference.pmf(3)[0], abs=1e-8)
    assert dist[0].logpmf(3) == pytest.approx(reference.logpmf(3)[0], abs=1e-8)
    assert dist[0].interval(0.9) == tuple(end[0] for end in reference.interval(0.9))
    assert dist[0].cdf(2) == pytest.approx(reference.cdf(2)[0], abs=1e-8)


def test_ordered_classes_that_were_declared():
    X, y = grade_stream(N)
    rows = as_dicts(X)
    river, estimator = ordinal(order=list(GRADES), sharpness=(1.0, 2.0)), small_ordinal(features="random")
    for t in range(N):
        river.learn_one(rows[t], y[t])
        estimator.partial_fit(X[t : t + 1], y[t : t + 1])
        if t + 1 in ASKED:
            proba = estimator.predict_proba(X[:20])
            assert_allclose([list(river.predict_proba_one(x).values()) for x in rows[:20]], proba, **close)


@pytest.mark.parametrize("first", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0), (2, 0, 1)])
def test_ordered_classes_that_appeared_during_the_warm_up(first):
    """From the last refit on beliefs do not remember in which order they came, nor do weights that start anew."""
    X, y = grade_stream(N)
    numbers = np.array([GRADES.index(grade) for grade in y])
    numbers[:3] = first
    river = ordinal(sharpness=(1.0, 2.0), weights="bayes")
    estimator = small_ordinal(features="random", order=None, weights="bayes").fit(X, numbers)
    for x, label in zip(as_dicts(X), numbers.tolist(), strict=True):
        river.learn_one(x, label)
        assert list(river.known_classes) == sorted(river.known_classes)
    proba = [list(river.predict_proba_one(x).values()) for x in as_dicts(X)[:20]]
    assert_allclose(proba, estimator.predict_proba(X[:20]), **close)


def test_frames_and_rows_are_the_same():
    pd = pytest.importorskip("pandas")
    X, y = stream(N)
    frame = pd.DataFrame(X, index=range(1000, 1000 + N))
    one, many = regressor(), regressor()
    for x, label in zip(as_dicts(X), y, strict=True):
        one.learn_one(x, label)
    for start in range(0, N, 40):
        many.learn_many(frame[start : start + 40], pd.Series(y[start : start + 40]))
    predicted = many.predict_many(frame)
    assert list(predicted.index) == list(frame.index)
    assert_allclose(predicted, [one.predict_one(x) for x in as_dicts(X)], **close)
