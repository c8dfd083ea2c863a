"""More of River around our models: late labels by the clock, every metric, selection, ensembles, pickled pipelines."""

from __future__ import annotations

import datetime as dt
import pickle

import numpy as np
import pytest
from adapters.models import MAKERS, as_dicts, classifier, counter, ordinal, regressor
from contracts.models import class_stream, stream
from river import (
    bandit,
    compose,
    drift,
    ensemble,
    evaluate,
    linear_model,
    metrics,
    model_selection,
    preprocessing,
    stats,
)

from iegp.kernels import RBF

X, Y = stream(200)
ROWS = as_dicts(X, ["a", "b", "c"])
CLASSES = class_stream(200, 3)[1].tolist()
GRADES = np.digitize(Y, [-0.5, 0.5]).tolist()
COUNTS = np.random.default_rng(0).poisson(np.exp(X[:, 0])).tolist()
SPREAD = float(np.mean(np.abs(Y - Y.mean())))


def over(rows, labels):
    return list(zip(rows, labels, strict=True))


# -- evaluation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [metrics.MAE(), metrics.RMSE(), metrics.R2(), metrics.MAE() + metrics.MSE()])
def test_metrics_of_numbers(metric):
    found = evaluate.progressive_val_score(over(ROWS, Y), preprocessing.StandardScaler() | regressor(), metric)
    values = found.get()
    assert np.isfinite(values).all()


def test_metrics_of_counts_and_grades():
    found = evaluate.progressive_val_score(over(ROWS, COUNTS), counter(), metrics.MAE())
    assert found.get() < np.mean(np.abs(COUNTS - np.mean(COUNTS)))
    accuracy = evaluate.progressive_val_score(over(ROWS, GRADES), ordinal(), metrics.Accuracy())
    assert accuracy.get() > max(np.bincount(GRADES)) / 200
    assert evaluate.progressive_val_score(over(ROWS, GRADES), ordinal(), metrics.CohenKappa()).get() > 0.0


@pytest.mark.parametrize("metric", [metrics.MacroF1(), metrics.CrossEntropy(), metrics.ConfusionMatrix()])
def test_metrics_of_many_classes(metric):
    model = preprocessing.StandardScaler() | classifier()
    evaluate.progressive_val_score(over(ROWS, CLASSES), model, metric)
    assert set(model["RiverClassifier"].known_classes) == {0, 1, 2}


@pytest.mark.parametrize("delay", ["later", dt.timedelta(hours=3), lambda _, y: dt.timedelta(hours=2 if y > 0 else 1)])
def test_labels_that_come_late_by_the_clock(delay):
    """A fixed time, a time that depends on the row, or the name of the feature that tells it."""
    begin = dt.datetime(2024, 1, 1)
    rows = [x | {"hour": begin + dt.timedelta(hours=t), "later": dt.timedelta(hours=2)} for t, x in enumerate(ROWS)]
    model = compose.Select("a", "b", "c") | preprocessing.StandardScaler() | regressor()
    found = evaluate.progressive_val_score(over(rows, Y), model, metrics.MAE(), moment="hour", delay=delay)
    assert found.get() < SPREAD
    assert model["RiverRegressor"].n_samples_seen == 200


def test_a_late_label_is_what_a_loop_would_do():
    """River asks about row t before it tells the label of row t - 5."""
    late = regressor()
    by_river = evaluate.progressive_val_score(
        [(x | {"t": t}, y) for t, (x, y) in enumerate(over(ROWS, Y))],
        compose.Discard("t") | late,
        metrics.MAE(),
        moment="t",
        delay=5,
    )
    model, by_hand = regressor(), metrics.MAE()
    asked = []
    for t in range(200):
        if t >= 5:
            by_hand.update(Y[t - 5], asked[t - 5])
            model.learn_one(ROWS[t - 5], Y[t - 5])
        asked.append(model.predict_one(ROWS[t]))
    for t in range(195, 200):
        by_hand.update(Y[t], asked[t])
    assert by_river.get() == pytest.approx(by_hand.get(), rel=1e-9)


# -- drift -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("detector", [drift.binary.DDM(), drift.binary.EDDM()])
def test_a_classifier_that_is_replaced_when_it_drifts(detector):
    model = drift.DriftRetrainingClassifier(model=classifier(), drift_detector=detector)
    rng = np.random.default_rng(0)
    stream_ = [({"a": a}, bool((a > 0) != (t > 200))) for t, a in enumerate(rng.normal(size=400))]
    assert evaluate.progressive_val_score(stream_, model, metrics.Accuracy()).get() > 0.6


# -- selection and ensembles -----------------------------------------------------------------------------------------


def candidates():
    return [regressor(prior_var=variance) for variance in (1.0, 1e-6)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: model_selection.GreedyRegressor(candidates(), metric=metrics.MAE()),
        lambda: model_selection.BanditRegressor(candidates(), metrics.MAE(), bandit.EpsilonGreedy(0.2, seed=0)),
        lambda: model_selection.SuccessiveHalvingRegressor(candidates(), metrics.MAE(), budget=300),
        lambda: ensemble.EWARegressor([*candidates(), linear_model.LinearRegression()], learning_rate=0.1),
        lambda: ensemble.BaggingRegressor(regressor(), n_models=3, seed=0),
        lambda: preprocessing.TargetStandardScaler(regressor()),
    ],
)
def test_regressors_around_regressors(make):
    model = make()
    assert evaluate.progressive_val_score(over(ROWS, Y), model, metrics.MAE()).get() < SPREAD
    twin = pickle.loads(pickle.dumps(model))
    assert twin.predict_one(ROWS[0]) == model.predict_one(ROWS[0])


@pytest.mark.parametrize(
    "make",
    [
        lambda few: model_selection.BanditClassifier(few, metrics.Accuracy(), bandit.EpsilonGreedy(0.2, seed=0)),
        lambda few: model_selection.SuccessiveHalvingClassifier(few, metrics.Accuracy(), budget=300),
        lambda few: ensemble.BaggingClassifier(few[0], n_models=3, seed=0),
        lambda few: ensemble.ADWINBaggingClassifier(few[0], n_models=2, seed=0),
        lambda few: ensemble.StackingClassifier(few, meta_classifier=linear_model.SoftmaxRegression()),
    ],
)
def test_classifiers_around_classifiers(make):
    few = [classifier(drift_var=0.0), classifier(kernels=[RBF(2.0)], sharpness=1.0)]
    model = make(few)
    accuracy = evaluate.progressive_val_score(over(ROWS, CLASSES), model, metrics.Accuracy()).get()
    assert accuracy > max(np.bincount(CLASSES)) / 200
    assert set(model.predict_proba_one(ROWS[0])) <= {0, 1, 2}


def test_votes():
    voting = ensemble.VotingClassifier([classifier(), linear_model.SoftmaxRegression()])
    accuracy = evaluate.progressive_val_score(over(ROWS, CLASSES), voting, metrics.Accuracy()).get()
    assert accuracy > max(np.bincount(CLASSES)) / 200


def test_several_targets():
    """A regressor per target, by hand: River's pipelines take dictionaries all the same."""
    models = {name: preprocessing.StandardScaler() | regressor() for name in ("up", "down")}
    score = stats.Mean()
    for x, y in over(ROWS, Y):
        for sign, model in zip((1.0, -1.0), models.values(), strict=True):
            score.update(abs(sign * y - model.predict_one(x)))
            model.learn_one(x, sign * y)
    assert score.get() < SPREAD


# -- copies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("maker", MAKERS)
def test_a_pickled_pipeline_goes_on(maker):
    model = preprocessing.StandardScaler() | maker()
    for x, y in over(ROWS[:80], CLASSES[:80]):
        model.learn_one(x, y)
    twin = pickle.loads(pickle.dumps(model))
    for x, y in over(ROWS[80:120], CLASSES[80:120]):
        model.learn_one(x, y)
        twin.learn_one(x, y)
    assert twin.predict_one(ROWS[5]) == model.predict_one(ROWS[5])


@pytest.mark.parametrize("maker", MAKERS)
def test_a_clone_may_take_along_what_was_learned(maker):
    model = maker()
    for x, y in over(ROWS[:80], CLASSES[:80]):
        model.learn_one(x, y)
    twin = model.clone(include_attributes=True)
    assert twin.n_samples_seen == 80
    assert twin.predict_one(ROWS[5]) == model.predict_one(ROWS[5])
    twin.learn_one(ROWS[0], CLASSES[0])
    assert (twin.n_samples_seen, model.n_samples_seen) == (81, 80)


@pytest.mark.parametrize("maker", MAKERS)
def test_a_cloned_pipeline_starts_anew_with_other_arguments(maker):
    model = preprocessing.StandardScaler() | maker()
    model.learn_one(ROWS[0], CLASSES[0])
    name = type(maker()).__name__
    fresh = model.clone({name: {"n_frequencies": 3}})
    assert fresh[name].n_frequencies == 3
    assert fresh[name].n_samples_seen == 0
    assert model[name].n_frequencies != 3


@pytest.mark.parametrize("maker", MAKERS)
def test_arguments_cannot_be_mutated(maker):
    """They would no longer be those of the beliefs: River's ``mutate`` says so, ``clone`` is the way."""
    model = maker()
    model.learn_one(ROWS[0], CLASSES[0])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"'n_frequencies' is not a mutable attribute"):
        model.mutate({"n_frequencies": 3})
    assert pickle.dumps(model) == before


def test_a_pipeline_that_learns_while_it_predicts():
    model = preprocessing.StandardScaler() | regressor(kernels=[RBF("dimension")])
    with compose.learn_during_predict():
        assert evaluate.progressive_val_score(over(ROWS, Y), model, metrics.MAE()).get() < SPREAD
