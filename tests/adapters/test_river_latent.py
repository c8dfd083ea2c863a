"""The map as a River transformer: the estimator's map, features that come and go, a pipeline."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from river import compose, preprocessing

from iegp import IEGPLVM
from iegp.adapters import RiverIEGPLVM
from iegp.errors import InputError
from iegp.kernels import RBF

SMALL = {"kernels": (RBF(1.0), RBF(3.0)), "n_frequencies": 10, "warmup": 40, "init": "pca"}
NAMES = ["a", "b", "c", "d"]


@pytest.fixture
def rows():
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 90)
    return np.stack([np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)], axis=1)


def records(rows):
    return [dict(zip(NAMES, row, strict=True)) for row in rows.tolist()]


def test_the_map_is_the_estimators(rows):
    model = RiverIEGPLVM(**SMALL, seed=3)
    for record in records(rows):
        model.learn_one(record)
    other = IEGPLVM(**SMALL, random_state=3).fit(rows)
    asked = rows[:5] + 0.01
    ours = [list(model.transform_one(record).values()) for record in records(asked)]
    np.testing.assert_allclose(ours, other.transform(asked), atol=1e-8)
    assert model.score_one(records(asked)[0]) == pytest.approx(other.score_samples(asked)[0], abs=1e-6)


def test_many_rows_are_as_one_by_one(rows):
    one, many = RiverIEGPLVM(**SMALL, seed=3), RiverIEGPLVM(**SMALL, seed=3)
    for record in records(rows):
        one.learn_one(record)
    frame = pd.DataFrame(rows, columns=NAMES)
    many.learn_many(frame)
    shown = many.transform_many(frame[:4])
    assert list(shown.columns) == ["z0", "z1"]
    np.testing.assert_allclose([list(one.transform_one(r).values()) for r in records(rows[:4])], shown, atol=1e-8)


def test_before_the_warm_up_is_over_every_row_lies_at_the_origin(rows):
    model = RiverIEGPLVM(**SMALL, seed=0)
    assert model.transform_one({"a": 1.0}) == {"z0": 0.0, "z1": 0.0}
    for record in records(rows[:39]):
        model.learn_one(record)
    assert not model.has_map
    assert model.transform_one(records(rows)[0]) == {"z0": 0.0, "z1": 0.0}
    assert model.score_one(records(rows)[0]) == 0.0
    model.learn_one(records(rows)[39])
    assert model.has_map
    assert model.transform_one(records(rows)[0]) != {"z0": 0.0, "z1": 0.0}


def test_a_feature_that_appears_during_the_warm_up_joins_and_a_later_one_is_left_out(rows):
    model = RiverIEGPLVM(**SMALL, seed=0)
    for number, record in enumerate(records(rows[:60])):
        if number < 10:
            del record["d"]
        model.learn_one(record)
    assert model._columns.names == ("a", "b", "c", "d")
    asked = records(rows)[70]
    before = model.transform_one(asked)
    model.learn_one({**records(rows)[71], "e": 5.0})
    assert model._columns.names == ("a", "b", "c", "d")
    assert model.transform_one({**asked, "e": 9.0}).keys() == before.keys()
    assert model.transform_one({}) == {"z0": 0.0, "z1": 0.0}
    assert model.n_samples_seen == 61


def test_in_a_pipeline(rows):
    model = compose.Pipeline(preprocessing.StandardScaler(), RiverIEGPLVM(**SMALL, seed=0))
    for record in records(rows):
        model.learn_one(record)
    assert set(model.transform_one(records(rows)[0])) == {"z0", "z1"}


def test_bad_rows_and_arguments_are_named():
    model = RiverIEGPLVM(**SMALL, seed=0)
    with pytest.raises(InputError, match="'a' is 'x'"):
        model.learn_one({"a": "x"})
    assert model.n_samples_seen == 0
    with pytest.raises(InputError, match="seed=-1"):
        RiverIEGPLVM(seed=-1)
    with pytest.raises(InputError, match="warmup"):
        RiverIEGPLVM(warmup=0)
