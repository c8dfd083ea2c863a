"""Data frames: pandas and polars alike, their columns remembered and checked, through scikit-learn's tools too."""

from __future__ import annotations

import numpy as np
import pytest
from contracts.models import (
    class_stream,
    count_stream,
    grade_stream,
    same_bits,
    small,
    small_classifier,
    small_counts,
    small_ordinal,
    state_bytes,
    stream,
)
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from iegp import RandomFourierFeatures
from iegp.errors import InputError
from iegp.kernels import RBF

NAMES = ["load", "wind", "sun"]
X, Y = stream(150)
MODELS = {
    "numbers": (small, Y),
    "classes": (small_classifier, class_stream(150, 3)[1]),
    "grades": (small_ordinal, grade_stream(150)[1]),
    "counts": (small_counts, count_stream(150)[1]),
}


def pandas_frame(columns):
    return pytest.importorskip("pandas").DataFrame(columns)


def polars_frame(columns):
    return pytest.importorskip("polars").DataFrame(columns)


FRAMES = [pandas_frame, polars_frame]
kinds = pytest.mark.parametrize("name", MODELS)
frames = pytest.mark.parametrize("frame", FRAMES)


def table(frame, names=NAMES, values=X):
    return frame({name: values[:, j] for j, name in enumerate(names)})


def select(rows, names):
    return rows[list(names)]


def scored(model, rows):
    return model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)


@kinds
@frames
def test_frames_give_what_arrays_give_and_names_are_remembered(name, frame):
    kind, labels = MODELS[name]
    model = kind().fit(table(frame), labels)
    assert model.feature_names_in_.tolist() == NAMES
    assert same_bits(scored(model, table(frame)), scored(kind().fit(X, labels), X))


@kinds
def test_one_kind_of_frame_may_follow_another(name):
    kind, labels = MODELS[name]
    model = kind().fit(table(pandas_frame), labels)
    assert same_bits(scored(model, table(polars_frame)), scored(model, table(pandas_frame)))
    model.partial_fit(table(polars_frame), labels)
    assert model.n_samples_seen_ == 300


WRONG = {
    "wrong order": (["wind", "load", "sun"], "must be in the same order"),
    "one missing": (["load", "sun"], r"yet now missing:\n- wind"),
    "one too many": ([*NAMES, "moon"], r"unseen at fit time:\n- moon"),
    "another in its place": (["load", "wind", "moon"], r"unseen at fit time:\n- moon(.|\n)*yet now missing:\n- sun"),
}


@kinds
@frames
@pytest.mark.parametrize("case", WRONG)
def test_other_columns_are_named_and_the_model_is_unchanged(name, frame, case):
    kind, labels = MODELS[name]
    model = kind().fit(table(frame), labels)
    names, message = WRONG[case]
    other = table(frame, names, np.hstack([X, X]))
    before = state_bytes(model)
    advice = r"X\[list\(model.feature_names_in_\)\], or fit anew; the model is unchanged"
    for call in (
        lambda: model.predict(other),
        lambda: model.partial_fit(other, labels),
        lambda: model.prequential(other, labels),
    ):
        with pytest.raises(InputError, match=f"{message}(.|\n)*{advice}"):
            call()
        assert state_bytes(model) == before
    if set(names) >= set(NAMES):  # what the message says to do helps
        model.predict(select(other, model.feature_names_in_))


@kinds
def test_a_missing_column_of_an_array_is_missed(name):
    kind, labels = MODELS[name]
    model = kind().fit(X, labels)
    before = state_bytes(model)
    with pytest.raises(InputError, match=r"X has 2 features, but .* 3 features(.|\n)*Pass every column.*unchanged"):
        model.partial_fit(X[:, :2], labels)
    assert state_bytes(model) == before


@kinds
@frames
def test_text_and_infinities_among_numbers_are_named_by_their_column(name, frame):
    kind, labels = MODELS[name]
    model = kind().fit(table(frame), labels)
    before = state_bytes(model)
    far = X.copy()
    far[7, 1] = np.inf
    words = {"load": X[:, 0], "wind": ["calm", *["storm"] * 149], "sun": X[:, 2]}
    for rows, message in (
        (table(frame, values=far), r"infinity at row 7, column 1 \('wind'\).*unchanged"),
        (frame(words), r"'calm' at row 0, column 1 \('wind'\).*begins with a number.*unchanged"),
    ):
        for call in (lambda rows=rows: model.predict(rows), lambda rows=rows: model.partial_fit(rows, labels)):
            with pytest.raises(InputError, match=message):
                call()
            assert state_bytes(model) == before


# -- scikit-learn's tools --------------------------------------------------------------------------------------------


def mixed(frame):
    """A column of text among the numbers, which decides the sign of the label."""
    side = np.resize(["left", "right"], 150)
    columns = {"load": X[:, 0], "side": side.tolist(), "sun": X[:, 2]}
    return frame(columns), np.where(side == "left", 3.0, -3.0) + Y


@frames
@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_column_transformer(frame, output):
    rows, labels = mixed(frame)
    encoded = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["side"]), remainder=StandardScaler(), verbose_feature_names_out=False
    ).set_output(transform=output)
    model = make_pipeline(encoded, small(kernels=[RBF("dimension")], n_frequencies=20)).fit(rows, labels)
    assert model.score(rows, labels) > 0.8
    names = ["side_left", "side_right", "load", "sun"]
    if output == "default":
        assert not hasattr(model[-1], "feature_names_in_")
    else:
        assert model[-1].feature_names_in_.tolist() == names
    # Columns are found by name: their order does not matter to the transformer, and so not to the model behind it.
    assert same_bits(model.predict(select(rows, ["sun", "side", "load"])), model.predict(rows))


@frames
def test_random_features_of_some_columns(frame):
    rows, labels = mixed(frame)
    encoded = ColumnTransformer(
        [
            ("side", OneHotEncoder(sparse_output=False), ["side"]),
            ("waves", RandomFourierFeatures(RBF(2.0), n_frequencies=10, random_state=0), ["load", "sun"]),
        ]
    ).set_output(transform="polars" if frame is polars_frame else "pandas")
    out = encoded.fit_transform(rows)
    assert type(out) is type(rows)
    assert list(out.columns)[:3] == ["side__side_left", "side__side_right", "waves__sin0"]
    assert encoded.named_transformers_["waves"].feature_names_in_.tolist() == ["load", "sun"]
    assert make_pipeline(encoded, Ridge(1e-2)).fit(rows, labels).score(rows, labels) > 0.8


@frames
def test_searches_and_validation_over_frames(frame):
    rows = table(frame)
    search = GridSearchCV(small(), {"n_frequencies": [1, 20]}, cv=TimeSeriesSplit(2), error_score="raise").fit(rows, Y)
    assert search.best_estimator_.feature_names_in_.tolist() == NAMES
    assert same_bits(search.predict(rows), search.best_estimator_.predict(X_named(search.best_estimator_)))
    assert len(cross_val_score(small(), rows, Y, cv=TimeSeriesSplit(3), error_score="raise")) == 3
    found = cross_validate(small(), rows, Y, cv=TimeSeriesSplit(3), return_estimator=True, error_score="raise")
    assert [model.n_samples_seen_ for model in found["estimator"]] == [39, 76, 113]
    assert cross_val_predict(small(), rows, Y, cv=KFold(3)).shape == (150,)


def X_named(model):
    return table(pandas_frame, model.feature_names_in_.tolist())


def test_cross_val_predict_needs_every_row_to_be_tested():
    """scikit-learn's own rule: the first rows of a TimeSeriesSplit are never predicted. Our answer is prequential."""
    with pytest.raises(ValueError, match="only works for partitions"):
        cross_val_predict(small(), X, Y, cv=TimeSeriesSplit(3))
    run = small().prequential(X, Y)
    assert len(run.mean) == 150


@frames
def test_transformed_target(frame):
    wrapped = TransformedTargetRegressor(small(), func=np.log, inverse_func=np.exp).fit(table(frame), np.exp(Y))
    assert wrapped.regressor_.feature_names_in_.tolist() == NAMES
    np.testing.assert_allclose(np.log(wrapped.predict(table(frame))), small().fit(X, Y).predict(X), rtol=1e-6)


# -- labels ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["classes", "grades"])
def test_an_unseen_class_is_named_and_the_model_is_unchanged(name):
    kind, labels = MODELS[name]
    model = kind().fit(X, labels)
    stranger = "violet" if isinstance(labels[0], str) else 17
    strange = np.array([*labels[:5], stranger, *labels[6:]])
    before = state_bytes(model)
    for call in (lambda: model.partial_fit(X, strange), lambda: model.prequential(X, strange)):
        with pytest.raises(InputError, match=rf"{stranger}.* row 5"):
            call()
        assert state_bytes(model) == before
