"""River models among River's own: pipelines, evaluation, metrics, drift detectors, selection, ensembles, copies."""

from __future__ import annotations

import copy
import pickle
from functools import cache

import numpy as np
import pytest
from adapters.models import MAKERS, as_dicts, classifier, counter, ordinal, regressor
from contracts.models import class_stream, stream
from numpy.testing import assert_allclose
from river import (
    bandit,
    compose,
    datasets,
    drift,
    dummy,
    ensemble,
    evaluate,
    linear_model,
    metrics,
    model_selection,
    multiclass,
    preprocessing,
)
from river import stats as river_stats

from iegp.kernels import RBF


def taught(maker, n=30):
    """A small model that has learned something."""
    return copy.deepcopy(_taught(maker, n))


@cache
def _taught(maker, n):
    model = maker()
    X, y = class_stream(n, 3)
    for x, label in zip(as_dicts(X, ["a", "b", "c"]), y.tolist(), strict=True):
        model.learn_one(x, label)
    return model


# -- pipelines and evaluation ----------------------------------------------------------------------------------------


def test_a_pipeline_under_progressive_validation():
    model = preprocessing.StandardScaler() | regressor(kernels=[RBF("dimension")])
    score = evaluate.progressive_val_score(datasets.TrumpApproval().take(500), model, metrics.MAE())
    naive = evaluate.progressive_val_score(
        datasets.TrumpApproval().take(500), dummy.StatisticRegressor(river_stats.Mean()), metrics.MAE()
    )
    assert score.get() < 0.7 * naive.get()


@pytest.mark.parametrize("delay", [1, 20])
def test_labels_that_come_late(delay):
    """Many questions are asked before the first answer."""
    stream = [({"x": float(i % 7), "moment": i}, float(i % 7)) for i in range(150)]
    score = evaluate.progressive_val_score(stream, regressor(), metrics.MAE(), moment="moment", delay=delay)
    assert 0 < score.get() < 3
    accuracy = evaluate.progressive_val_score(
        [(x, y > 3) for x, y in stream], classifier(), metrics.Accuracy(), moment="moment", delay=delay
    )
    assert accuracy.get() > 0.6


@pytest.mark.parametrize("metric", [metrics.Accuracy(), metrics.LogLoss(), metrics.ROCAUC(), metrics.F1()])
def test_metrics_of_two_classes(metric):
    model = preprocessing.StandardScaler() | classifier(kernels=[RBF("dimension")])
    score = evaluate.progressive_val_score(datasets.Phishing().take(300), model, metric)
    naive = evaluate.progressive_val_score(datasets.Phishing().take(300), dummy.PriorClassifier(), type(metric)())
    better = score.get() < naive.get() if isinstance(metric, metrics.LogLoss) else score.get() > naive.get()
    assert better


def test_many_classes():
    score = evaluate.progressive_val_score(
        datasets.ImageSegments().take(400), classifier(kernels=[RBF("dimension")], n_frequencies=20), metrics.Accuracy()
    )
    assert score.get() > 0.6


def test_text_is_encoded_by_a_pipeline():
    model = compose.SelectType(str) | preprocessing.OneHotEncoder()
    model += compose.SelectType(float)
    model |= regressor()
    for i in range(100):
        model.learn_one({"kind": "ab"[i % 2], "x": float(i % 5)}, 10.0 * (i % 2))
    assert model.predict_one({"kind": "a", "x": 1.0}) < 2 < 8 < model.predict_one({"kind": "b", "x": 1.0})


def test_arguments_pass_through_a_pipeline():
    model = preprocessing.StandardScaler() | counter()
    for i in range(60):
        model.learn_one({"x": float(i % 5)}, 2 * (i % 5), exposure=2.0)
    x = {"x": 4.0}
    assert model.predict_one(x, exposure=3.0) == pytest.approx(3 * model.predict_one(x))
    assert model.predict_one(x, with_dist=True, exposure=2.0).quantile(0.5) == pytest.approx(8, abs=2)


def test_frames_pass_through_a_pipeline():
    pd = pytest.importorskip("pandas")
    X, y = class_stream(60, 3)
    model = preprocessing.StandardScaler() | classifier()
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=range(5, 65))
    model.learn_many(frame, pd.Series(y))
    proba = model.predict_proba_many(frame)
    assert list(proba.columns) == [0, 1, 2]
    assert_allclose(proba.sum(axis=1), 1.0)
    assert list(model.predict_many(frame).index) == list(frame.index)
    assert (model.predict_many(frame) == proba.idxmax(axis=1)).all()


# -- drift, selection, ensembles -------------------------------------------------------------------------------------


def test_a_drift_detector_in_the_loop():
    """It watches the errors, and a fresh model takes over when it sounds."""
    rng = np.random.default_rng(0)
    model, detector, alarms = regressor(drift_var=0.0), drift.ADWIN(), []
    for t in range(600):
        x = {"x": rng.normal()}
        y = (1 if t < 300 else -4) * x["x"] + 0.1 * rng.normal()
        detector.update(abs(y - model.predict_one(x)))
        model.learn_one(x, y)
        if detector.drift_detected and t > 300:
            alarms.append(t)
            model = model.clone()
    assert alarms
    assert alarms[0] < 500


def test_a_drift_retraining_classifier_around_it():
    model = drift.DriftRetrainingClassifier(classifier(), drift.binary.DDM())
    assert evaluate.progressive_val_score(datasets.Phishing().take(200), model, metrics.Accuracy()).get() > 0.6


def test_model_selection():
    candidates = [regressor(prior_var=variance) for variance in (1e-6, 1.0)]
    chosen = model_selection.BanditRegressor(candidates, metric=metrics.MAE(), policy=bandit.EpsilonGreedy(0.2, seed=0))
    X, y = stream(200)
    for x, label in zip(as_dicts(X), y, strict=True):
        chosen.learn_one(x, label)
    assert isinstance(chosen.predict_one(x), float)
    greedy = model_selection.GreedyRegressor(candidates, metric=metrics.MAE())
    for x, label in zip(as_dicts(X), y, strict=True):
        greedy.learn_one(x, label)
    assert greedy.best_model.prior_var == 1.0


def test_ensembles():
    X, y = stream(80)
    bagged = ensemble.BaggingRegressor(regressor(), n_models=3, seed=0)
    for x, label in zip(as_dicts(X), y, strict=True):
        bagged.learn_one(x, label)
    votes = {model.predict_one(x) for model in bagged}
    assert len(votes) == 3
    assert bagged.predict_one(x) == pytest.approx(np.mean(list(votes)))
    voting = ensemble.VotingClassifier([classifier(), linear_model.LogisticRegression()])
    assert evaluate.progressive_val_score(datasets.Phishing().take(100), voting, metrics.Accuracy()).get() > 0.5


def test_one_versus_rest_around_it():
    model = multiclass.OneVsRestClassifier(classifier())
    assert evaluate.progressive_val_score(datasets.ImageSegments().take(100), model, metrics.Accuracy()).get() > 0.2


# -- copies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("n", [0, 3, 30, 100])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_goes_on_as_the_original(maker, n, copied):
    model = taught(maker, n)
    twin = copied(model)
    for x, label in zip(as_dicts(class_stream(20, 3, seed=1)[0], ["a", "b", "z"]), [0, 1, 2, 3] * 5, strict=True):
        model.learn_one(x, label)
    assert twin.n_samples_seen == n
    for x, label in zip(as_dicts(class_stream(20, 3, seed=1)[0], ["a", "b", "z"]), [0, 1, 2, 3] * 5, strict=True):
        twin.learn_one(x, label)
    assert twin.predict_one(x) == model.predict_one(x)
    assert twin.feature_names == model.feature_names


@pytest.mark.parametrize("maker", MAKERS)
def test_a_clone_starts_anew(maker):
    clone = taught(maker).clone()
    assert clone.n_samples_seen == 0
    assert clone._get_params() == maker()._get_params()
    assert maker().clone({"warmup": 7}).warmup == 7


def test_arguments_cannot_be_changed_from_outside():
    kernels, drifts = [RBF(1.0)], [0.0, 1e-3]
    model = regressor(kernels=kernels, drift_var=drifts, switch_prob=np.full((4, 4), 0.25))
    kernels.append(RBF(2.0))
    drifts.clear()
    assert model.kernels == (RBF(1.0),)
    assert model.drift_var == (0.0, 1e-3)
    assert isinstance(model.switch_prob, tuple)
    model.clone().learn_one({"x": 1.0}, 1.0)


def test_seeds():
    X, y = stream(40)
    first, same, other, unseeded = (regressor(seed=seed) for seed in (1, 1, 2, None))
    for x, label in zip(as_dicts(X), y, strict=True):
        for model in (first, same, other, unseeded):
            model.learn_one(x, label)
    assert first.predict_one(x) == same.predict_one(x)
    assert first.predict_one(x) != other.predict_one(x)
    assert first.predict_one(x) != unseeded.predict_one(x)


# -- features that come and go ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("n", [10, 100])
def test_features_appear_and_vanish(maker, n):
    model = taught(maker, n)
    before = model.predict_one({"a": 1.0, "b": 0.5, "c": -1.0})
    assert model.predict_one({"a": 1.0, "b": 0.5, "c": -1.0, "new": 7.0}) == before  # nothing is known about it yet
    model.learn_one({"a": 0.3, "new": 7.0}, 1)
    assert model.feature_names == ("a", "b", "c", "new")
    model.learn_one({}, 2)
    for x in ({}, {"new": 6.0}, {"other": 1.0}, {"a": 0.1, "c": 2.0}):
        model.predict_one(x)
    assert model.feature_names == ("a", "b", "c", "new")
    assert model.n_samples_seen == n + 2


@pytest.mark.parametrize("maker", MAKERS)
def test_a_stream_may_begin_without_features(maker):
    model = maker()
    model.learn_one({}, 1)
    model.predict_one({"a": 1.0})
    for i in range(100):
        model.learn_one({"a": float(i % 2)}, i % 2)
        model.predict_one({"a": 1.0})
    assert model.predict_one({"a": 1.0}) > 0.5 > model.predict_one({"a": 0.0})


def test_an_absent_feature_is_the_centre_of_its_column():
    X, y = stream(100)
    model = regressor()
    for x, label in zip(as_dicts(X, ["a", "b", "c"]), y, strict=True):
        model.learn_one(x, label)
    assert model.feature_names == ("a", "b", "c")
    centre = model._estimator.model_.scaling.x_mean[1]
    assert model.predict_one({"a": 1.0, "c": 2.0}) == model.predict_one({"a": 1.0, "b": centre, "c": 2.0})


def test_the_order_of_a_dictionary_does_not_matter():
    X, y = stream(100)
    model, turned = regressor(), regressor()
    for x, label in zip(as_dicts(X, ["a", "b", "c"]), y, strict=True):
        model.learn_one(x, label)
        turned.learn_one(dict(reversed(x.items())), label)
    assert state_of(model) == state_of(turned)


def state_of(model):
    return pickle.dumps(model._estimator.model_)


def test_numbers_of_any_type_are_features():
    model, plain = regressor(), regressor()
    for value in (True, np.float32(2.0), np.int8(3), 4, 10**20):
        model.learn_one({"x": value, 1: np.bool_(True)}, 1)
        plain.learn_one({"x": float(value), 1: 1.0}, 1.0)
    assert model.predict_one({"x": 3}) == plain.predict_one({"x": 3.0})


# -- before any label, and new labels --------------------------------------------------------------------------------


def test_the_prior_before_any_label():
    x = {"a": 1.0}
    assert regressor().predict_one(x) == 0.0
    dist = regressor(prior_var=2.0, noise_var=0.25, noise_forgetting=None, drift_var=0.0).predict_one(x, with_dist=True)
    assert (dist.mu, dist.sigma) == pytest.approx((0.0, 1.5))
    assert 0 < counter().predict_one(x) < 10
    assert counter().predict_one(x, exposure=4.0) == pytest.approx(4 * counter().predict_one(x))
    assert classifier().predict_one(x) is None
    assert classifier().predict_proba_one(x) == {}
    assert classifier(classes=["a", "b", "c"]).predict_proba_one(x) == pytest.approx(dict.fromkeys("abc", 1 / 3))
    assert ordinal(order=[1, 2]).predict_proba_one(x) == pytest.approx({1: 0.5, 2: 0.5})
    for maker in MAKERS:
        model = maker()
        before = pickle.dumps(model)
        model.predict_one(x)
        assert pickle.dumps(model) == before


def test_frames_before_any_label():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=[7, 8])
    assert regressor().predict_many(frame).tolist() == [0.0, 0.0]
    assert classifier().predict_many(frame).tolist() == [None, None]
    assert classifier().predict_proba_many(frame).shape == (2, 0)
    for maker in MAKERS:
        model = maker()
        model.learn_many(frame[:0], pd.Series([], dtype=float))
        assert model.n_samples_seen == 0
        model.learn_many(frame, pd.Series([1, 0]))
        assert len(model.predict_many(frame[:0])) == 0


@pytest.mark.parametrize("before", [10, 100])
def test_a_new_label_becomes_a_class(before):
    """In and after the warm-up; the odds between the others stay as they were."""
    model = classifier()
    X, y = class_stream(before, 3)
    for x, label in zip(as_dicts(X), y.tolist(), strict=True):
        model.learn_one(x, label)
    old = model.predict_proba_one(as_dicts(X)[0])
    assert list(old) == [0, 1, 2]
    for _ in range(200):
        model.learn_one({0: 5.0, 1: 5.0, 2: 5.0}, "new")
        for x, label in zip(as_dicts(X[:3]), y[:3].tolist(), strict=True):
            model.learn_one(x, label)
    assert model.known_classes == (0, 1, 2, "new")
    assert model.predict_one({0: 5.0, 1: 5.0, 2: 5.0}) == "new"


def test_one_label_is_certain_and_its_rows_are_learned():
    model = classifier()
    for i in range(20):
        model.learn_one({"x": float(i % 3)}, "only")
    assert model.predict_proba_one({"x": 1.0}) == {"only": 1.0}
    model.learn_one({"x": 1.0}, "other")
    assert model.predict_proba_one({"x": 1.0})["only"] > 0.7


@pytest.mark.parametrize("kind", [bool, np.bool_, str, int, np.int64])
def test_labels_of_any_type(kind):
    X, y = class_stream(80, 2)
    model = classifier()
    for x, label in zip(as_dicts(X), y, strict=True):
        model.learn_one(x, kind(label))
    assert set(model.predict_proba_one(x)) == {kind(0), kind(1)}
    assert model.predict_one(x) in (kind(0), kind(1))


def test_labels_within_a_frame_may_be_new():
    pd = pytest.importorskip("pandas")
    X, y = class_stream(90, 3)
    y = np.sort(y)
    for maker in (classifier, ordinal):
        one, many = maker(), maker()
        for x, label in zip(as_dicts(X), y.tolist(), strict=True):
            one.learn_one(x, label)
        for start in range(0, 90, 45):
            many.learn_many(pd.DataFrame(X[start : start + 45]), pd.Series(y[start : start + 45]))
        assert many.known_classes == one.known_classes == (0, 1, 2)
        for x in as_dicts(X[:10]):
            assert many.predict_proba_one(x) == pytest.approx(one.predict_proba_one(x), abs=1e-8)


def test_ordered_labels_that_were_not_declared_are_refused_where_an_order_was():
    model = ordinal(order=["low", "high"])
    model.learn_one({"x": 1.0}, "low")
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"'middle'.*order=\('low', 'high'\)"):
        model.learn_one({"x": 1.0}, "middle")
    assert pickle.dumps(model) == before
    mixed = ordinal()
    mixed.learn_one({"x": 1.0}, "low")
    with pytest.raises(ValueError, match=r"3, which cannot be compared with 'low'"):
        mixed.learn_one({"x": 1.0}, 3)


# -- errors ----------------------------------------------------------------------------------------------------------

BAD_FEATURES = [
    ("warm", r"feature 'b' is 'warm', which is not a number.*OneHotEncoder"),
    ("3.5", r"feature 'b' is '3.5', which is not a number"),
    (None, r"feature 'b' is None, which is not a number"),
    (1j, r"feature 'b' is 1j, which is not a number"),
    ([1.0], r"feature 'b' is \[1.0\], which is not a number"),
    (float("nan"), r"feature 'b' is NaN.*Leave.*out.*StatImputer"),
    (np.float32("nan"), r"feature 'b' is NaN"),
    (float("-inf"), r"feature 'b' is infinite.*Clip"),
    (10**400, r"feature 'b' is infinite"),
]


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("n", [0, 30, 100])
@pytest.mark.parametrize(("value", "message"), BAD_FEATURES)
def test_a_bad_feature_is_named_and_the_model_unchanged(maker, n, value, message):
    model = taught(maker, n)
    before = pickle.dumps(model)
    bad = {"a": 1.0, "b": value, "c": 2.0}
    # A label and a feature that are new must not stay either.
    for call in (
        lambda: model.learn_one(bad, 1),
        lambda: model.learn_one({"fresh": 1.0, **bad}, 7),
        lambda: model.predict_one(bad),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(("value", "message"), BAD_FEATURES)
def test_a_bad_cell_of_a_frame_is_named(maker, value, message):
    pd = pytest.importorskip("pandas")
    model = taught(maker)
    before = pickle.dumps(model)
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": pd.Series([1.0, value], dtype=object), "new": [1.0, 2.0]})
    for call in (lambda: model.learn_many(frame, pd.Series([0, 1])), lambda: model.predict_many(frame)):
        with pytest.raises(ValueError, match=message.replace("'b' is", "'b' of row 1 is")):
            call()
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("n", [0, 30, 100])
@pytest.mark.parametrize("label", [None, float("nan"), [1]])
def test_a_bad_label_leaves_the_model_unchanged(maker, n, label):
    model = taught(maker, n)
    before = pickle.dumps(model)
    with pytest.raises(
        ValueError, match=r"y is (None|nan|\[1\]).*the model is unchanged|y is .*The model is unchanged"
    ):
        model.learn_one({"a": 1.0, "new": 2.0}, label)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("n", [0, 30, 100])
def test_labels_that_are_no_numbers_or_counts(n):
    for maker, label, message in (
        (regressor, "a", "y is 'a' at row 0"),
        (regressor, float("inf"), "finite"),
        (counter, -1, "cannot be negative.*RiverRegressor"),
    ):
        model = taught(maker, n)
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=message):
            model.learn_one({"a": 1.0, "new": 2.0}, label)
        assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match=r"exposure has 0\.0"):
        counter().learn_one({"a": 1.0}, 1, exposure=0.0)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("n", [30, 100])
def test_a_value_beyond_all_bounds_leaves_the_model_unchanged(maker, n):
    """The core refuses it, when new features and labels have found their place already."""
    pd = pytest.importorskip("pandas")
    model = taught(maker, n)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="Remove or clip"):
        model.learn_one({"a": 1e305, "new": 2.0}, 9)
    rows = pd.DataFrame({"a": [0.0, 1.0, 2.0, 1e305], "fresh": [1.0] * 4})
    with pytest.raises(ValueError, match="Remove or clip"):
        model.learn_many(rows, pd.Series([0, 8, 1, 9]))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("x", [None, [1.0, 2.0, 3.0], "abc", 3.0])
def test_rows_that_are_no_dictionaries(maker, x):
    model = taught(maker)
    before = pickle.dumps(model)
    for call in (lambda: model.learn_one(x, 1), lambda: model.predict_one(x)):
        with pytest.raises(ValueError, match="a row is a dictionary"):
            call()
    with pytest.raises(ValueError, match=r"pass a pandas\.DataFrame"):
        model.predict_many(np.ones((2, 3)))
    assert pickle.dumps(model) == before


def test_frames_that_make_no_sense():
    pd = pytest.importorskip("pandas")
    model = regressor()
    with pytest.raises(ValueError, match="two columns called 'a'"):
        model.learn_many(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), pd.Series([1.0]))
    with pytest.raises(ValueError, match="y has 1 entries, but X has 2 rows"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series([1.0]))
    assert model.n_samples_seen == 0


@pytest.mark.parametrize(
    ("maker", "arguments", "message"),
    [
        (regressor, {"n_frequencies": 0}, "n_frequencies=0"),
        (regressor, {"kernels": [RBF((1.0, 2.0))]}, "length scale per column.*per-dimension"),
        (regressor, {"seed": -1}, "seed=-1"),
        (classifier, {"classes": "ab"}, "list of labels"),
        (classifier, {"classes": [1, 1]}, "names a label twice"),
        (classifier, {"integration": "guess"}, "integration='guess'"),
        (ordinal, {"order": ["a"]}, "at least two"),
        (ordinal, {"link": "cauchit"}, "link='cauchit'"),
    ],
)
def test_wrong_arguments_are_refused_where_they_are_written(maker, arguments, message):
    with pytest.raises(ValueError, match=message):
        maker(**arguments)
