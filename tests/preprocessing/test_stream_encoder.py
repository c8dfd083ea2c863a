"""The encoder as a transformer: scikit-learn's checks, a constant width, new categories, no dependence on the cuts."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import iegp
from iegp.errors import InputError
from iegp.preprocessing import StreamEncoder

STRICT = {"xfail_strict": True} if "xfail_strict" in inspect.signature(parametrize_with_checks).parameters else {}


def frame(n: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    size = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n))
    colour = rng.choice(np.array(["red", "blue", None], dtype=object), n)
    colour[:2], colour[40:] = ["red", "blue"], rng.choice(["green", "red", "white"], n - 40)
    late = np.where(np.arange(n) < 30, np.nan, 1.0 + np.arange(n))
    return pd.DataFrame(
        {"size": size, "colour": colour, "day": pd.date_range("2024-03-01", periods=n, freq="5h"), "late": late}
    )


@parametrize_with_checks([StreamEncoder()], expected_failed_checks=lambda estimator: {}, **STRICT)  # noqa: ARG005
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_columns_and_means_are_those_of_the_rows_so_far():
    rows = frame()
    encoder = StreamEncoder(n_late=4).fit(rows[:20])
    names = encoder.get_feature_names_out().tolist()
    assert names[:3] == ["size", "colour=red", "colour=blue"]
    assert names[-4:] == ["late0", "late1", "late2", "late3"]
    assert encoder.n_features_in_ == 4
    out = encoder.transform(rows)
    assert out.shape == (60, 3 + 5 + 4)
    gaps = rows["size"].isna().to_numpy()
    np.testing.assert_allclose(out[gaps, 0], rows["size"][:20].mean())
    assert_array_equal(out[:, 1], rows["colour"] == "red")
    assert not out[:, -4:].any()


def test_later_categories_and_columns_take_the_reserved_columns_in_order():
    rows = frame()
    encoder = StreamEncoder(n_late=2).fit(rows[:20]).partial_fit(rows[20:])
    first = rows["colour"][40:].map(lambda colour: colour if colour != "red" else None).dropna().iloc[0]
    out = encoder.transform(rows)
    late = rows["late"].to_numpy()
    assert_array_equal(out[:, -2], np.where(np.isnan(late), np.nanmean(late), late))
    assert_array_equal(out[:, -1], rows["colour"] == first)
    assert encoder.encoder_.n_late == 2
    assert StreamEncoder(n_late=0).fit(rows[:20]).partial_fit(rows[20:]).transform(rows).shape == (60, 8)


@pytest.mark.parametrize("size", [1, 7, 40])
def test_later_calls_may_cut_the_rows_anywhere(size):
    rows = frame()
    whole, cut = StreamEncoder().fit(rows[:20]), StreamEncoder().partial_fit(rows[:20])
    whole.partial_fit(rows[20:])
    for start in range(20, 60, size):
        cut.partial_fit(rows[start : start + size])
    assert whole.transform(rows).tobytes() == cut.transform(rows).tobytes()


def test_memory_is_constant():
    encoder = StreamEncoder(n_late=5).fit([["a"], ["b"]])
    for i in range(200):
        encoder.partial_fit([[f"name {i}"]])
    assert len(encoder.encoder_.columns) == 7


def test_infinities_and_bad_cells_change_nothing():
    encoder = StreamEncoder().fit([[1.0, "a"], [2.0, "b"]])
    before = encoder.transform([[None, "a"]])
    for bad, message in (
        ([[np.inf, "a"]], "infinity at row 0"),
        ([[3.0, "c"], ["x", "a"]], "'x' at row 1"),
        ([[1.0]], "1 features"),
    ):
        for call in (encoder.partial_fit, encoder.transform):
            with pytest.raises(ValueError, match=message):
                call(bad)
    assert_array_equal(encoder.transform([[None, "a"]]), before)
    with pytest.raises(InputError, match="n_late=-1"):
        StreamEncoder(n_late=-1).fit([[1.0]])


def test_frames_come_out_too():
    out = StreamEncoder(n_late=1).set_output(transform="pandas").fit_transform(frame())
    assert list(out.columns)[:2] == ["size", "colour=red"]


# -- in a pipeline -----------------------------------------------------------------------------------------------------

SIZES = {"red": 1.0, "blue": -1.0, "green": 4.0, "white": -4.0}


def labels(rows: pd.DataFrame) -> np.ndarray:
    return rows["colour"].map(lambda colour: SIZES.get(colour, 0.0)).to_numpy()


def pipeline():
    return make_pipeline(StreamEncoder(), SGDRegressor(random_state=0, eta0=0.02, learning_rate="constant"))


def test_a_pipeline_learns_categories_that_come_after_the_warm_up():
    rows = frame(600)[["colour"]]
    run = iegp.prequential(pipeline(), rows, labels(rows), warmup=30)
    assert np.abs(run.y - run.mean)[-100:].mean() < 0.5


def test_no_prediction_of_a_pipeline_depends_on_later_rows():
    rows = frame(80)[["colour", "size"]]
    changed, y = rows.copy(), labels(rows)
    changed.loc[51:, "colour"], changed.loc[51:, "size"] = "violet", 9.0
    one = iegp.prequential(pipeline(), rows, y, warmup=30)
    two = iegp.prequential(pipeline(), changed, np.where(np.arange(80) < 50, y, 99.0), warmup=30)
    assert_array_equal(one.mean[:21], two.mean[:21])
