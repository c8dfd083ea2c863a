"""Text, dates and gaps in every estimator: what is learned, what is stored, and what is refused."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
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

import iegp
from iegp.errors import InputError, ModelFileError

N = 150
X, Y = stream(N)
MODELS = {
    "numbers": (small, Y),
    "classes": (small_classifier, class_stream(N, 3)[1]),
    "grades": (small_ordinal, grade_stream(N)[1]),
    "counts": (small_counts, count_stream(N)[1]),
}
kinds = pytest.mark.parametrize("name", MODELS)


def table(n: int = N, seed: int = 0) -> pd.DataFrame:
    """Numbers with gaps, text with gaps, a date, and a category that comes after the warm-up of 64 rows."""
    rng = np.random.default_rng(seed)
    side = rng.choice(np.array(["left", "right", None], dtype=object), n)
    side[0], side[100:110] = "left", "top"
    load = np.where(rng.random(n) < 0.2, np.nan, X[:n, 0])
    day = pd.date_range("2024-03-01", periods=n, freq="7h").to_series(index=range(n)).where(rng.random(n) > 0.1)
    return pd.DataFrame({"load": load, "side": side, "day": day, "wind": X[:n, 1]})


def scored(model, rows):
    return model.predict_proba(rows) if hasattr(model, "predict_proba") else model.predict(rows)


@kinds
def test_frames_with_text_dates_and_gaps_are_learned(name):
    kind, labels = MODELS[name]
    model = kind()
    model.prequential(table(), labels)
    assert (model.n_features_in_, model.n_samples_seen_) == (4, N)
    assert model.feature_names_in_.tolist() == ["load", "side", "day", "wind"]
    assert list(model.relevance_)[:4] == ["load", "side", "day", "wind"]
    assert sum(model.relevance_.values()) == pytest.approx(1.0)
    assert np.isfinite(np.asarray(scored(model, table()), dtype=np.float64)).all()
    assert model.model_.n_columns == 1 + 1 + 5 + 3  # load, wind, the parts of a date, three sides


def test_text_is_used():
    rows = table()
    labels = np.where(rows["side"] == "left", 3.0, -3.0) + 0.1 * Y
    assert small(n_frequencies=20).fit(rows, labels).score(rows, labels) > 0.8


def test_a_category_first_seen_after_the_warm_up_is_used():
    rng = np.random.default_rng(1)
    side = np.array(["left", "right"] * 50 + ["up", "down"] * 60)
    labels = pd.Series(side).map({"left": 0.0, "right": 1.0, "up": 5.0, "down": -5.0}).to_numpy()
    rows = pd.DataFrame({"a": rng.normal(size=len(side)), "side": side})
    run = small(n_frequencies=20).prequential(rows, labels + 0.1 * rng.normal(size=len(side)))
    assert np.abs(run.mean - run.y)[-40:].mean() < 1.0


def test_a_column_that_is_empty_at_first_becomes_usable():
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"side": rng.choice(["a", "b"], 300), "sun": np.nan, "note": None})
    rows.loc[100:, "sun"] = rng.normal(size=200)
    rows["note"] = rows["note"].astype(object)
    rows.loc[120:, "note"] = "dry"
    model = small(n_frequencies=20)
    run = model.prequential(rows, rows["sun"].fillna(0.0).to_numpy())
    assert [column.name for column in model._encoder.columns][2:] == ["sun", "note=dry"]
    assert np.corrcoef(run.mean[200:], run.y[200:])[0, 1] > 0.8


@kinds
def test_a_frame_of_numbers_without_gaps_is_its_array(name):
    kind, labels = MODELS[name]
    rows = pd.DataFrame(X, columns=["a", "b", "c"])
    assert same_bits(scored(kind().fit(rows, labels), rows), scored(kind().fit(X, labels), X))
    objects = kind().fit(rows.astype(object), labels)
    assert same_bits(scored(objects, rows.astype(object)), scored(kind().fit(X, labels), X))


@kinds
@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame, np.ndarray.tolist])
def test_arrays_with_gaps(name, container):
    """A gap counts as the centre of its column: the mean of its values among the rows of the warm-up."""
    kind, labels = MODELS[name]
    gappy = X.copy()
    gappy[::7, 1] = np.nan
    gappy[3] = np.nan
    model = kind().partial_fit(container(gappy), labels)
    assert same_bits(scored(model, container(gappy)), scored(kind().partial_fit(gappy, labels), gappy))
    means = model.model_.scaling.x_mean
    np.testing.assert_allclose(means[1], np.nanmean(gappy[:64, 1]))
    filled = np.where(np.isnan(gappy), means, gappy)
    assert same_bits(scored(model, container(gappy)), scored(model, container(filled)))
    pieces = kind()
    for start in range(0, N, 7):
        pieces.partial_fit(container(gappy[start : start + 7]), labels[start : start + 7], **classes_of(name))
    np.testing.assert_allclose(scored(pieces, gappy), scored(model, gappy), rtol=1e-7, atol=1e-9)


@kinds
@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame, np.ndarray.tolist])
def test_na_among_numbers_is_a_gap(name, container):
    kind, labels = MODELS[name]
    gappy = X.copy()
    gappy[3:, 1] = np.where(np.arange(N - 3) % 7, gappy[3:, 1], np.nan)
    rows = container(np.where(np.isnan(gappy), pd.NA, gappy.astype(object)))
    model = kind().partial_fit(rows, labels)
    assert same_bits(scored(model, rows), scored(kind().partial_fit(gappy, labels), gappy))


def classes_of(name):
    return {"classes": np.unique(MODELS[name][1])} if name == "classes" else {}


@kinds
def test_infinities_are_refused_though_gaps_are_not(name):
    """The tag allow_nan switches scikit-learn's own check off."""
    kind, labels = MODELS[name]
    tags = kind().__sklearn_tags__().input_tags
    assert tags.allow_nan
    assert tags.string
    model = kind().fit(table(), labels)
    plain = kind().fit(X, labels)
    for value in (np.inf, -np.inf):
        wrong, array = table(), X.copy()
        wrong.loc[7, "wind"], array[7, 1], array[0, 0] = value, value, np.nan
        before, plain_before = state_bytes(model), state_bytes(plain)
        for method in ("fit", "partial_fit", "prequential", "warm_up"):
            with pytest.raises(InputError, match=r"infinity at row 7, column 3 \('wind'\).*unchanged"):
                getattr(model, method)(wrong, labels)
            with pytest.raises(InputError, match=r"infinity at row 7, column 1.*unchanged"):
                getattr(plain, method)(array, labels)
        with pytest.raises(InputError, match=r"infinity at row 7"):
            model.predict(wrong)
        assert (state_bytes(model), state_bytes(plain)) == (before, plain_before)


@kinds
def test_bad_rows_change_nothing(name):
    kind, labels = MODELS[name]
    model = kind().fit(table(), labels)
    before, attributes = state_bytes(model), dict(vars(model))
    text, far, narrow = table().astype({"load": object}), table(), table()[["load", "side", "wind"]]
    text.loc[9, "load"] = "heavy"
    text.loc[2, "side"] = "bottom"  # a new category before the row that is refused
    far.loc[120, "wind"], far.loc[2, "side"] = 1e300, "bottom"
    for bad, message in ((text, "'heavy' at row 9"), (far, "1e\\+300"), (narrow, "day"), (table()[:0], "0 sample")):
        for method in ("partial_fit", "prequential"):
            with pytest.raises(InputError, match=message):
                getattr(model, method)(bad, labels[: len(bad)])
            assert state_bytes(model) == before
            assert vars(model) == attributes
    with pytest.raises(InputError, match="row 0 of X has no value"):
        kind().fit(np.full((3, 2), None, dtype=object), labels[:3])


@kinds
def test_files_keep_the_encoder(name, tmp_path):
    kind, labels = MODELS[name]
    model = kind().partial_fit(table()[:90], labels[:90], **classes_of(name))
    model.save(tmp_path / "model.safetensors")
    again = iegp.load(tmp_path / "model.safetensors")
    assert (again.n_features_in_, again.feature_names_in_.tolist()) == (4, list(table().columns))
    for one in (model, again):
        one.partial_fit(table()[90:], labels[90:])  # a new category among them
    assert state_bytes(model) == state_bytes(again)
    assert same_bits(scored(model, table()), scored(again, table()))


def test_a_file_keeps_columns_without_names(tmp_path):
    rows = table().to_numpy(dtype=object)
    model = small().fit(rows, Y)
    model.save(tmp_path / "model.safetensors")
    again = iegp.load(tmp_path / "model.safetensors")
    assert again.n_features_in_ == 4
    assert same_bits(again.predict(rows), model.predict(rows))
    np.testing.assert_allclose(model.predict(rows), small().fit(table(), Y).predict(table()))


DAMAGE = {
    "another column": lambda header: header["encoder"]["columns"].append(["number", "load", ""]),
    "a column of nothing": lambda header: header["encoder"]["columns"].__setitem__(0, ["number", "moon", ""]),
    "an unknown kind": lambda header: header["encoder"]["columns"].__setitem__(0, ["colour", "load", ""]),
    "no origin": lambda header: header["encoder"].update(origins={}),
    "an origin that is no time": lambda header: header["encoder"].update(origins={"day": float("nan")}),
    "too many late ones": lambda header: header["encoder"].update(n_late=1000),
    "sources twice": lambda header: header.update(sources=["load", "load", "side", "day", "wind"]),
    "sources of numbers": lambda header: header.update(sources=[1, 2, 3, 4]),
    "no sources": lambda header: header.pop("sources"),
    "an entry too many": lambda header: header["encoder"].update(code="print(1)"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_encoder_is_refused(case, tmp_path):
    header, arrays = small().fit(table(), Y).to_parts()
    header = copy.deepcopy(header)
    DAMAGE[case](header)
    iegp.storage.model_file.write(tmp_path / "model.safetensors", header, arrays)
    with pytest.raises(ModelFileError):
        iegp.load(tmp_path / "model.safetensors")


def test_what_else_a_model_does_with_encoded_columns():
    rows, static = table(), {"drift_var": 0.0, "weights": "bayes", "shutdown": 0.0, "noise_forgetting": None}
    model = small(**static, learn_warmup=False).warm_up(rows, Y)
    one, two = copy.deepcopy(model), copy.deepcopy(model)
    one.partial_fit(rows[:50], Y[:50])
    two.partial_fit(rows[50:], Y[50:])
    whole = copy.deepcopy(model).partial_fit(rows, Y)
    np.testing.assert_allclose(one.merge(two).predict(rows), whole.predict(rows), rtol=1e-6, atol=1e-6)
    one.unlearn(rows[:50], Y[:50])
    np.testing.assert_allclose(one.predict(rows), two.predict(rows), rtol=1e-5, atol=1e-5)
    live = whole.go_live()
    assert (live.n_features_in_, live.predict(rows).shape) == (4, (N,))
    assert live.sample_functions(2, 0)(rows).shape == (2, N)
    snapshot = live.snapshot()
    before = snapshot.predict(rows)
    live.partial_fit(rows.assign(side="new"), Y)
    assert same_bits(snapshot.predict(rows), before)
    two.partial_fit(rows.assign(side="other"), Y)
    with pytest.raises(InputError, match="other categories"):
        whole.merge(two)


def test_times_beside_text():
    rows = table()
    hours = np.arange(N, dtype=np.float64)
    model = small(drift_per="time", time_column="hour").partial_fit(rows.assign(hour=hours), Y)
    other = small(drift_per="time").partial_fit(rows, Y, time=hours)
    assert (model.n_features_in_, other.n_features_in_) == (5, 4)
    assert same_bits(model.predict(rows.assign(hour=hours + N)), other.predict(rows, time=hours + N))
    stamps = pd.date_range("2024-03-01", periods=N, freq="h")
    by_stamp = small(drift_per="time", time_column="hour").partial_fit(rows.assign(hour=stamps), Y)
    np.testing.assert_allclose(by_stamp.predict(rows.assign(hour=stamps[-1])), model.predict(rows.assign(hour=N - 1.0)))
    with pytest.raises(InputError, match="time is nan at row 3"):
        model.partial_fit(rows.assign(hour=np.where(np.arange(N) == 3, np.nan, hours + N)), Y)


def test_models_from_elsewhere_take_gaps(tmp_path):
    """Models of fleets and of older files were begun without them."""
    gappy = X.copy()
    gappy[::5, 0] = np.nan
    model = small().fit(X, Y)
    model.model_.fills_gaps = False
    model.save(tmp_path / "older.safetensors")
    again = iegp.load(tmp_path / "older.safetensors")
    assert same_bits(again.partial_fit(gappy, Y).predict(gappy), small().fit(X, Y).partial_fit(gappy, Y).predict(gappy))
