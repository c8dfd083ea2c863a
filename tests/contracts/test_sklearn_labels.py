"""scikit-learn's tools around classifiers and the regressor of counts."""

from __future__ import annotations

import pickle
from types import ModuleType

import numpy as np
import pytest
from contracts.models import (
    GRADES,
    class_stream,
    count_stream,
    grade_stream,
    same_bits,
    small_classifier,
    small_counts,
    small_ordinal,
    state_bytes,
)
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, d2_tweedie_score, make_scorer
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

X, NUMBERS = class_stream(200, d=1)
WORDS = np.array(["no", "yes"])[NUMBERS]
COLOURS = np.array(["red", "green", "blue"])[class_stream(200, 3, d=1)[1]]
GRADED = grade_stream(200, d=1)[1]
COUNTS = count_stream(200, d=1)[1]

MODELS = {
    "two classes": (small_classifier, WORDS),
    "three classes": (small_classifier, COLOURS),
    "grades": (small_ordinal, GRADED),
    "counts": (small_counts, COUNTS),
}
models = pytest.mark.parametrize("name", MODELS)


def predicted(model, rows):
    """Everything a model says about rows, as numbers."""
    return model.predict(rows) if is_regressor(model) else model.predict_proba(rows)


@models
def test_what_kind_of_estimator_it_is(name):
    kind, labels = MODELS[name]
    assert is_classifier(kind()) == (name != "counts")
    assert is_regressor(kind()) == (name == "counts")
    assert kind().fit(X, labels).n_features_in_ == 1


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
@pytest.mark.parametrize("kind", [small_classifier, small_ordinal])
def test_classifying_before_learning_is_not_fitted_error(kind, method):
    with pytest.raises(NotFittedError):
        getattr(kind(), method)(np.zeros((1, 3)))


@pytest.mark.parametrize("method", ["predict", "predict_dist"])
def test_counting_before_learning_is_not_fitted_error(method):
    with pytest.raises(NotFittedError):
        getattr(small_counts(), method)(np.zeros((1, 3)))


@models
def test_learned_attributes_do_not_exist_before_learning(name):
    kind, labels = MODELS[name]
    learned = ["expert_weights_", "experts_", "n_samples_seen_"] + ["classes_"] * (name != "counts")
    for attribute in learned:
        assert not hasattr(kind(), attribute)
        assert hasattr(kind().fit(X[:20], labels[:20]), attribute)


@models
def test_clone_has_equal_parameters_and_learned_nothing(name):
    kind, labels = MODELS[name]
    model = kind().fit(X, labels)
    twin = clone(model)
    assert not hasattr(twin, "n_samples_seen_")
    assert same_bits(predicted(twin.fit(X, labels), X), predicted(model, X))


@models
@pytest.mark.parametrize("n_seen", [40, 200])
def test_a_pickled_model_goes_on_to_the_bit(name, n_seen):
    kind, labels = MODELS[name]
    model = kind().fit(X[:n_seen], labels[:n_seen])
    twin = pickle.loads(pickle.dumps(model))
    assert state_bytes(twin) == state_bytes(model)
    assert state_bytes(twin.partial_fit(X, labels)) == state_bytes(model.partial_fit(X, labels))
    assert same_bits(predicted(twin, X), predicted(model, X))


@models
def test_pipeline(name):
    """Scaled to the unit interval, the columns say the same: scaling is built in."""
    kind, labels = MODELS[name]
    piped = make_pipeline(MinMaxScaler(), kind(prior_var=4.0)).fit(X, labels)
    alone = kind(prior_var=4.0).fit(X, labels)
    np.testing.assert_allclose(predicted(piped, X), predicted(alone, X), rtol=1e-6, atol=1e-8)
    assert piped.score(X, labels) == pytest.approx(alone.score(X, labels), abs=1e-6)


def test_scores_are_better_than_guessing():
    assert small_classifier().fit(X, WORDS).score(X, WORDS) > 0.75
    assert small_classifier().fit(X, COLOURS).score(X, COLOURS) > 0.6
    assert small_ordinal().fit(X, GRADED).score(X, GRADED) > 0.6
    rows, counts, exposure = count_stream(200, d=1)
    mean = small_counts().fit(rows, counts, exposure).predict(rows, exposure)
    assert d2_tweedie_score(counts, mean, power=1) > 0.3


def test_a_pipeline_passes_classes_and_exposures_on():
    rows, counts, exposure = count_stream(100, d=1)
    piped = make_pipeline(MinMaxScaler(), small_counts()).fit(rows, counts, iegpcountregressor__exposure=exposure)
    alone = small_counts().fit(rows, counts, exposure)
    np.testing.assert_allclose(piped.predict(rows), alone.predict(rows), rtol=1e-6)
    assert not np.allclose(alone.predict(rows), small_counts().fit(rows, counts).predict(rows), rtol=1e-2)


# scikit-learn's tools number the labels, or take columns of probabilities to be sorted: grades had better be numbers.
CLASSIFIERS = {
    "two classes": (small_classifier(), WORDS),
    "three classes": (small_classifier(), COLOURS),
    "grades": (small_ordinal(order=None), np.array([GRADES.index(grade) for grade in GRADED])),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_grid_search_prefers_the_model_that_can_see(name):
    model, labels = CLASSIFIERS[name]
    grid = {"prior_var": [1e-6, 10.0], "weights": ["stacking", "bayes"]}
    model = clone(model).set_params(drift_var=0.0, sharpness=1.0)
    search = GridSearchCV(model, grid, cv=TimeSeriesSplit(2), error_score="raise", scoring="neg_log_loss")
    search.fit(X, labels)
    assert search.best_params_["prior_var"] == 10.0
    assert search.best_estimator_.n_samples_seen_ == 200
    assert search.predict_proba(X).shape == (200, len(set(labels)))


def test_grid_search_of_counts():
    grid = {"prior_var": [1e-6, 1.0]}
    scorer = make_scorer(d2_tweedie_score, power=1)
    search = GridSearchCV(small_counts(drift_var=0.0), grid, cv=TimeSeriesSplit(2), error_score="raise", scoring=scorer)
    assert search.fit(*count_stream(200, d=1)[:2]).best_params_ == {"prior_var": 1.0}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_cross_validation_of_probabilities(name):
    model, labels = CLASSIFIERS[name]
    proba = cross_val_predict(model, X, labels, cv=4, method="predict_proba")
    assert proba.shape == (200, len(set(labels)))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    assert accuracy_score(labels, np.unique(labels)[proba.argmax(axis=1)]) > 0.6
    assert cross_val_score(model, X, labels, cv=4, error_score="raise").mean() > 0.6


def test_accuracy_of_grades_does_not_mind_their_order():
    assert cross_val_score(small_ordinal(), X, GRADED, cv=4, error_score="raise").mean() > 0.6


def test_set_params_changes_the_experts_of_the_next_fit():
    model = small_classifier().set_params(sharpness=1.0, drift_var=0.0)
    assert len(model.fit(X, WORDS).experts_) == 2
    assert len(small_classifier(sharpness=(1.0, 2.0, 4.0)).fit(X, WORDS).experts_) == 12


def test_one_hot_columns_in_a_pipeline():
    kinds = np.where(X[:, :1] > 0, "up", "down")
    piped = make_pipeline(OneHotEncoder(sparse_output=False), small_classifier()).fit(kinds, kinds[:, 0])
    assert piped.score(kinds, kinds[:, 0]) == 1.0


# -- data frames -----------------------------------------------------------------------------------------------------


@pytest.fixture
def frames() -> ModuleType:
    return pytest.importorskip("pandas", reason="pandas is not installed: data frames are not tested")


@models
def test_frames_give_what_arrays_give_and_names_are_remembered(frames, name):
    kind, labels = MODELS[name]
    table = frames.DataFrame(X, columns=["load"])
    model = kind().fit(table, frames.Series(labels))
    assert list(model.feature_names_in_) == ["load"]
    assert same_bits(predicted(model, table), predicted(kind().fit(X, labels), X))
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frames.DataFrame(X, columns=["wind"]), labels)


SERIES = {
    "object": lambda frames, words: frames.Series(words.astype(object)),
    "string": lambda frames, words: frames.Series(words, dtype="string"),
    "category": lambda frames, words: frames.Series(words, dtype="category"),
    "ordered category": lambda frames, words: frames.Series(
        frames.Categorical(words, categories=["yes", "no"], ordered=True)
    ),
    "odd index": lambda frames, words: frames.Series(words, index=np.arange(len(words))[::-1]),
}


@pytest.mark.parametrize("name", SERIES)
def test_series_of_words(frames, name):
    labels = SERIES[name](frames, WORDS)
    model = small_classifier().fit(X, labels)
    assert model.classes_.tolist() == ["no", "yes"]
    assert same_bits(model.predict_proba(X), small_classifier().fit(X, WORDS).predict_proba(X))
    assert set(model.predict(X)) == {"no", "yes"}
    assert model.score(X, labels) > 0.75


@pytest.mark.parametrize("dtype", ["bool", "boolean", "int64", "Int64", "int8", "float64", "category"])
def test_series_of_booleans_and_numbers(frames, dtype):
    labels = frames.Series(NUMBERS == 1 if "bool" in dtype else NUMBERS, dtype=dtype)
    model = small_classifier().fit(X, labels)
    assert model.classes_.tolist() == [0, 1]
    assert same_bits(model.predict_proba(X), small_classifier().fit(X, NUMBERS).predict_proba(X))
    assert model.partial_fit(X, labels).n_samples_seen_ == 400


@pytest.mark.parametrize("dtype", ["string", "category", "boolean", "Int64", "object"])
def test_series_with_missing_labels_name_the_row(frames, dtype):
    values = WORDS if dtype in ("string", "category", "object") else NUMBERS == 1 if dtype == "boolean" else NUMBERS
    labels = frames.Series(values, dtype=dtype)
    model = small_classifier().fit(X, labels)
    before = state_bytes(model)
    labels[7] = None
    with pytest.raises(ValueError, match="row 7"):
        model.partial_fit(X, labels)
    assert state_bytes(model) == before


def test_grades_as_an_ordered_category(frames):
    """The order of a category is not used: say it with ``order``."""
    labels = frames.Series(frames.Categorical(GRADED, categories=GRADES, ordered=True))
    model = small_ordinal().fit(X, labels)
    assert model.classes_.tolist() == list(GRADES)
    assert same_bits(model.predict_proba(X), small_ordinal().fit(X, GRADED).predict_proba(X))


def test_counts_and_exposures_as_series(frames):
    rows, counts, exposure = count_stream(100, d=1)
    table = frames.DataFrame({"load": rows[:, 0], "visits": counts.astype(int), "hours": exposure})
    model = small_counts().fit(table[["load"]], table["visits"], table["hours"])
    expected = small_counts().fit(rows, counts, exposure)
    assert same_bits(model.predict(table[["load"]], table["hours"]), expected.predict(rows, exposure))
