"""Plain float64 arrays pass scikit-learn's validation: results, errors and warnings are those of other containers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from core.builders import labels_of_every_kind, stream
from numpy.testing import assert_array_equal

from iegp import IEGPRegressor

X, Y = stream(60)
SMALL = {"n_frequencies": 3, "warmup": 20, "random_state": 0}
KINDS = labels_of_every_kind(X, Y[:, 0])
WRONG = {
    "columns": np.ones((1, 3)),
    "one-dimensional": np.ones(2),
    "infinity beside NaN": np.array([[np.inf, np.nan]]),
    "infinity": np.array([[-np.inf, 1.0]]),
    "no rows": np.ones((0, 2)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_and_lists_give_the_same(kind):
    estimator, y = KINDS[kind]
    quick, slow = (estimator(**SMALL).fit(X[:40], y[:40]) for _ in range(2))
    quick.partial_fit(X[40:], y[40:])
    slow.partial_fit(X[40:].tolist(), y[40:].tolist())
    assert_array_equal(quick.model_.state.vector, slow.model_.state.vector)
    assert_array_equal(quick.predict(X), slow.predict(X.tolist()))
    assert_array_equal(quick.predict(X), quick.predict(np.asfortranarray(X)))


@pytest.mark.parametrize("wrong", WRONG)
def test_errors_are_the_same(wrong):
    model = IEGPRegressor(**SMALL).fit(X, Y[:, 0])
    said = []
    for rows in (WRONG[wrong], WRONG[wrong].astype(np.longdouble)):
        with pytest.raises(ValueError, match=r"X|array") as caught:
            model.predict(rows)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_labels_are_checked():
    model = IEGPRegressor(**SMALL).fit(X, Y[:, 0])
    before = model.model_.state.vector.copy()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.partial_fit(X[:2], Y[:3, 0])
    with pytest.raises(ValueError, match="y contains NaN at row 1"):
        model.partial_fit(X[:2], np.array([0.0, np.nan]))
    with pytest.raises(ValueError, match="y has shape"):
        model.partial_fit(X[:2], np.zeros((2, 3)))
    assert_array_equal(model.model_.state.vector, before)


def test_missing_names_are_still_missed():
    model = IEGPRegressor(**SMALL).fit(pd.DataFrame(X, columns=["a", "b"]), Y[:, 0])
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(X)
