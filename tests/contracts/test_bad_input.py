"""What cannot be used is refused with a message that says what and where, and the model is as it was before."""

from __future__ import annotations

import re

import numpy as np
import pytest
from contracts.models import small, state_bytes, stream
from numpy.testing import assert_array_equal

from iegp.core.compute.tolerances import FEW_ROWS
from iegp.errors import IegpError, InputError
from iegp.kernels import RBF


def broken(array: np.ndarray, where: object, value: float) -> np.ndarray:
    array = array.copy()
    array[where] = value
    return array


def as_text(array: np.ndarray, where: object, text: str) -> np.ndarray:
    array = array.astype(object)
    array[where] = text
    return array


X, Y = stream(20)

# name: (X, y, what the message must say)
BAD_ROWS = {
    "infinity in X": (broken(X, (0, 1), np.inf), Y, "X contains infinity at row 0, column 1"),
    "minus infinity in X": (broken(X, (19, 0), -np.inf), Y, "X contains infinity at row 19, column 0"),
    "NaN in y": (X, broken(Y, 11, np.nan), "y contains NaN at row 11"),
    "a masked label in y": (X, np.ma.array(Y, mask=np.arange(20) == 7), "y contains NaN at row 7"),
    "infinity in y": (X, broken(Y, 3, -np.inf), "y contains infinity at row 3"),
    "opposite infinities in X": (broken(broken(X, (4, 0), np.inf), (5, 0), -np.inf), Y, "infinity at row 4, column 0"),
    "text in X": (as_text(X, (4, 1), "red"), Y, "'red' at row 4, column 1"),
    "infinity beside NaN in X": (broken(broken(X, (2, 0), np.nan), (5, 1), np.inf), Y, "infinity at row 5, column 1"),
    "text in y": (X, as_text(Y, 6, "blue"), "y has 'blue' at row 6"),
    "too narrow": (X[:, :2], Y, "X has 2 features, but IEGPRegressor is expecting 3"),
    "too wide": (np.hstack([X, X]), Y, "X has 6 features, but IEGPRegressor is expecting 3"),
    "no rows": (X[:0], Y[:0], "0 sample"),
    "no columns": (X[:, :0], Y, "0 feature"),
    "one-dimensional X": (X[:, 0], Y, "Expected 2D array, got 1D array"),
    "three-dimensional X": (X[:, :, None], Y, "dim 3"),
    "a number for X": (3.0, Y, "Expected 2D array, got scalar"),
    "fewer labels": (X, Y[:-1], r"20.*19"),
    "more labels": (X[:-2], Y, r"18.*20"),
    "y of another shape": (X, np.stack([Y, Y], axis=1), r"y has shape \(20, 2\).*one-dimensional"),
    "y as a column": (X, Y[:, None], r"y has shape \(20, 1\).*one-dimensional"),
    "y of three dimensions": (X, Y[:, None, None], "dim 3"),
    "y=None": (X, None, "y is None|target y is None"),
    "complex X": (X.astype(complex), Y, "[Cc]omplex"),
    "complex y": (X, Y.astype(complex), "[Cc]omplex"),
    "overflow in float64": (as_text(X, (2, 2), 10**400), Y, "row 2, column 2"),
    "ragged": ([[1.0, 2.0, 3.0], [1.0, 2.0]], [1.0, 2.0], "inhomogeneous|row 1"),
}

# What a model that has seen nothing cannot know to be wrong.
NEEDS_A_PAST = {"too narrow", "too wide", "y of another shape", "y as a column"}
ABOUT_Y = {name for name in BAD_ROWS if re.search(r"\by\b|label", name)}


@pytest.mark.parametrize("method", ["fit", "partial_fit", "prequential", "warm_up"])
@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows_are_named_and_leave_the_model_alone(name, method):
    if method in ("fit", "warm_up") and name in NEEDS_A_PAST:
        pytest.skip("a fresh start may have any width and shape")
    rows, labels, message = BAD_ROWS[name]
    model = small().fit(*stream(80))
    before, attributes = state_bytes(model), dict(vars(model))
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(model, method)(rows, labels)
    assert state_bytes(model) == before
    assert vars(model) == attributes


@pytest.mark.parametrize("method", ["fit", "partial_fit", "prequential", "warm_up"])
@pytest.mark.parametrize("name", sorted(set(BAD_ROWS) - NEEDS_A_PAST))
def test_bad_first_rows_leave_a_fresh_model_fresh(name, method):
    rows, labels, message = BAD_ROWS[name]
    model = small()
    before = state_bytes(model)
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(model, method)(rows, labels)
    assert state_bytes(model) == before
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("method", ["predict", "predict_dist"])
@pytest.mark.parametrize("name", sorted(set(BAD_ROWS) - ABOUT_Y))
def test_bad_rows_to_predict(name, method):
    rows, _, message = BAD_ROWS[name]
    model = small().fit(*stream(80))
    before = state_bytes(model)
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(model, method)(rows)
    assert state_bytes(model) == before


@pytest.mark.parametrize("n_seen", [1, 40, 64])
def test_a_bad_row_in_the_middle_of_a_chunk_undoes_the_whole_chunk(n_seen):
    rows, labels = stream(100)
    model = small().fit(rows[:n_seen], labels[:n_seen])
    before = state_bytes(model)
    with pytest.raises(InputError, match="row 12, column 1"):
        model.partial_fit(broken(rows, (12, 1), np.inf), labels)
    assert state_bytes(model) == before
    assert model.n_samples_seen_ == n_seen
    model.partial_fit(rows[n_seen:], labels[n_seen:])
    whole = small().fit(rows, labels).predict(rows, horizon=1)
    np.testing.assert_allclose(model.predict(rows), whole, rtol=1e-8, atol=1e-10)


def test_masked_values_of_x_are_missing_and_a_masked_weight_is_refused():
    gappy, masked = np.array(X), np.ma.array(X, mask=False)
    gappy[3, 1], masked[3, 1] = np.nan, np.ma.masked
    as_nan, as_masked = small().fit(gappy, Y), small().fit(masked, Y)
    assert state_bytes(as_masked) == state_bytes(as_nan)
    assert_array_equal(as_masked.predict(masked), as_nan.predict(gappy))
    with pytest.raises(InputError, match="sample_weight is masked at row 2"):
        as_nan.partial_fit(X[:3], Y[:3], sample_weight=np.ma.array(np.ones(3), mask=[0, 0, 1]))
    words = np.ma.array([["a"], ["b"], ["a"], ["b"]], mask=[[0], [0], [0], [1]])
    as_none = np.array([["a"], ["b"], ["a"], [None]], dtype=object)
    assert_array_equal(small().fit(words, Y[:4]).predict(words), small().fit(as_none, Y[:4]).predict(as_none))


def test_bad_cells_of_two_outputs_are_named():
    rows, labels = stream(40)
    labels = np.stack([labels, labels], axis=1)
    model = small().fit(rows, labels)
    with pytest.raises(InputError, match="y contains NaN at row 9, column 1"):
        model.partial_fit(rows, broken(labels, (9, 1), np.nan))
    with pytest.raises(InputError, match=r"y has shape \(40,\).*2 columns"):
        model.partial_fit(rows, labels[:, 0])
    with pytest.raises(InputError, match=r"y has shape \(40, 3\).*2 columns"):
        model.partial_fit(rows, np.hstack([labels, labels[:, :1]]))


@pytest.mark.parametrize("n_rows", [1, 3, 50])
def test_an_interrupt_in_the_middle_of_learning_changes_nothing(n_rows, monkeypatch):
    """Whatever happens after the experts have been updated, the update does not stay half done."""
    rows, labels = stream(150)
    model = small().fit(rows[:100], labels[:100])
    before = state_bytes(model)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    # A few rows are one compiled call; with more, the weights come after the experts.
    name = "weigh" if n_rows > FEW_ROWS else "learn_rows_without_glitches"
    monkeypatch.setattr(f"iegp.core.ensemble.{name}", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(rows[100 : 100 + n_rows], labels[100 : 100 + n_rows])
    assert state_bytes(model) == before


# -- constructor arguments -------------------------------------------------------------------------------------------

BAD_PARAMETERS = {
    "kernels": [[], (), "rbf", 3, [1.0], ["rbf"], [RBF(1.0), None], [RBF], RBF],
    "n_frequencies": [0, -3, 2.5, 8.0, True, "8", None],
    "features": ["sobol", "", None, 3, ["random"]],
    "drift_var": [-1, -1e-9, (), [], np.nan, np.inf, "slow", (0.0, -1.0), (0.0, None), True, [[0.0]]],
    "drift_units": ["", "rows", 0, True],
    "weights": ["foo", None, 1, "Bayes", ["bayes"]],
    "switch_prob": [2, -0.1, np.nan, "often", None, [0.1, 0.9], np.eye(3), np.full((8, 8), 0.2), -np.eye(8), [[0.5]]],
    "stacking_rate": [0, -0.1, 1.5, np.nan, "fast", None, True],
    "shutdown": [1, -1e-3, np.nan, "never", None, True],
    "prior_var": [-1, 0, np.nan, np.inf, "foo", None, True, (1.0, 2.0)],
    "noise_var": [-1, 0, np.nan, np.inf, "foo", None, True, [1.0]],
    "noise_forgetting": [
        1.5,
        0,
        -0.5,
        (),
        [],
        np.nan,
        "slowly",
        (None, 2.0),
        True,
        ("0.9",),
        [(0.9, 0.0)],
        [(1.5, 4.0)],
        [(0.9,)],
    ],
    "warmup": [-1, 2.5, "long", None, True],
    "learn_warmup": ["no", None],
    "standardize": ["no", None],
    "random_state": ["a", -1, 2.5, [1, 2, 3]],
    "n_jobs": [0, "two", 1.5],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param(name, value, id=f"{name}={re.sub(chr(10), '', repr(value))}")
        for name, values in BAD_PARAMETERS.items()
        for value in values
    ],
)
def test_bad_parameters_are_named_when_fitting(name, value):
    """The constructor only stores; the first use says which argument cannot be used, and leaves nothing behind."""
    rule = {"weights": "switching"} if name == "switch_prob" else {}
    model = small(**(rule | {name: value}))
    attributes = dict(vars(model))
    with pytest.raises((ValueError, TypeError), match=name):
        model.fit(*stream(10))
    assert vars(model).keys() == attributes.keys()
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("method", ["fit", "warm_up"])
def test_a_bad_parameter_set_later_leaves_the_fitted_model_as_it_was(method):
    rows, labels = stream(80)
    model = small().fit(rows, labels)
    prediction = model.predict(rows)
    model.set_params(n_frequencies=0)
    with pytest.raises(InputError, match="n_frequencies=0"):
        getattr(model, method)(rows, labels)
    assert np.array_equal(model.predict(rows), prediction)
    assert model.n_samples_seen_ == 80


def test_a_length_scale_per_column_must_fit_the_columns():
    with pytest.raises(InputError, match="2 length scales but the data have 3 columns"):
        small(kernels=[RBF((1.0, 2.0))]).fit(*stream(10))


@pytest.mark.parametrize("value", [-1.0, 0.0, np.nan, np.inf, "long", (), (1.0, -1.0), None])
def test_bad_length_scales(value):
    with pytest.raises((ValueError, TypeError), match="length_scale"):
        RBF(value)


def test_our_errors_are_value_errors_of_one_family():
    assert issubclass(InputError, ValueError)
    assert issubclass(InputError, IegpError)
    with pytest.raises(IegpError):
        small(weights="foo").fit(*stream(10))


@pytest.mark.parametrize(
    "numpy_scalar",
    [
        {"n_frequencies": np.int64(4)},
        {"warmup": np.int32(10)},
        {"prior_var": 1},
        {"noise_var": np.float32(0.25)},
        {"drift_var": np.float32(0.5)},
        {"drift_var": np.array([0.0, 1e-2])},
        {"noise_forgetting": np.float64(0.9)},
        {"noise_forgetting": [None, 1]},
        {"switch_prob": np.float64(0.2), "weights": "switching"},
        {"shutdown": 0, "weights": "bayes"},
        {"stacking_rate": 1},
        {"kernels": RBF(2.0)},
        {"kernels": (RBF(2.0),)},
    ],
    ids=str,
)
def test_numbers_of_any_type_are_accepted_and_stored(numpy_scalar):
    model = small(**numpy_scalar).fit(*stream(80))
    assert np.isfinite(model.predict(stream(5)[0])).all()
    assert state_bytes(model)
