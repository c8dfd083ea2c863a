"""River models that drift with the time between rows: a feature holds it."""

from __future__ import annotations

import numpy as np
import pytest
from adapters.models import as_dicts, classifier, regressor
from contracts.models import class_stream, small, small_classifier, stream
from numpy.testing import assert_allclose

from iegp.errors import InputError

N = 110
TIME = np.cumsum(np.random.default_rng(0).choice([0.0, 0.5, 1.0, 1.0, 30.0], size=N))
PER_TIME = {"drift_per": "time", "drift_var": (0.0, 0.02)}


def rows_of(X):
    return [row | {"when": time} for row, time in zip(as_dicts(X), TIME.tolist(), strict=True)]


def test_regression():
    X, y = stream(N)
    rows = rows_of(X)
    river = regressor(**PER_TIME, time_column="when")
    estimator = small(features="random", **PER_TIME)
    assert river.predict_one(rows[0]) == 0.0
    for t in range(N - 5):
        river.learn_one(rows[t], y[t])
    estimator.partial_fit(X[:-5], y[:-5], time=TIME[:-5])
    mean, std = estimator.predict(X[-5:], return_std=True, time=TIME[-5:])
    found = [river.predict_one(row, with_dist=True) for row in rows[-5:]]
    assert_allclose([d.mu for d in found], mean, rtol=1e-8, atol=1e-8)
    assert_allclose([d.sigma for d in found], std, rtol=1e-8)
    assert "when" not in river.feature_names


def test_classes_and_frames():
    pandas = pytest.importorskip("pandas")
    X, y = class_stream(N)
    frame = pandas.DataFrame(X).assign(when=pandas.to_datetime(TIME, unit="s"))
    river = classifier(**PER_TIME, time_column="when")
    river.learn_many(frame[:-5], pandas.Series(y[:-5]))
    by_row = classifier(**PER_TIME, time_column="when")
    for row, label in zip(rows_of(X)[:-5], y[:-5], strict=True):
        by_row.learn_one(row, label)
    found = river.predict_proba_many(frame[-5:])
    wanted = [[by_row.predict_proba_one(row)[c] for c in found.columns] for row in rows_of(X)[-5:]]
    assert_allclose(found.to_numpy(), wanted, atol=1e-8)
    estimator = small_classifier(features="random", **PER_TIME)
    estimator.partial_fit(X[:-5], y[:-5], time=TIME[:-5])
    assert set(found.columns) == set(estimator.classes_)


def test_what_is_wrong_is_named():
    X, y = stream(N)
    rows = rows_of(X)
    river = regressor(**PER_TIME, time_column="when")
    for t in range(20):
        river.learn_one(rows[t], y[t])
    with pytest.raises(InputError, match="'when'"):
        river.learn_one(as_dicts(X)[20], y[20])
    with pytest.raises(InputError, match="backwards at row 0"):
        river.learn_one(rows[0], y[0])
    assert river.n_samples_seen == 20
    for wrong in ({"drift_per": "time"}, {"time_column": "when"}):
        with pytest.raises(InputError, match="time_column"):
            regressor(**wrong)
