"""Checking what a caller gives, so that the core never has to: clean float64 arrays in, or an error that says where."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from iegp.errors import InputError
from iegp.typing import Float


@contextmanager
def unchanged_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Leave every attribute of the estimator as it was if the block fails."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def check_x(estimator: BaseEstimator, X: Any) -> Float:
    """Rows to predict: (n, d) float64, finite, with the columns the estimator knows."""
    with _named_cells(X):
        rows = validate_data(estimator, X, reset=False, dtype=np.float64, order="C", ensure_all_finite=False)
    _check_finite(rows, "X", _names(estimator))
    return np.asarray(rows)


def check_xy(estimator: BaseEstimator, X: Any, y: Any, reset: bool) -> tuple[Float, Float, bool]:
    """Rows to learn: X (n, d), y (n, D), and whether y was one-dimensional."""
    if y is None:
        raise InputError(
            f"y is None, but {type(estimator).__name__} requires y to be passed: one number (or row of numbers) per row"
        )
    with _named_cells(X):
        rows, labels = validate_data(
            estimator, X, y, reset=reset, dtype=np.float64, order="C", ensure_all_finite=False, multi_output=True,
            y_numeric=True,
        )  # fmt: skip
    labels = np.asarray(labels, dtype=np.float64)
    _check_finite(rows, "X", _names(estimator))
    _check_finite(labels if labels.ndim == 2 else labels[:, None], "y", None)
    return rows, np.ascontiguousarray(labels.reshape(len(labels), -1)), labels.ndim == 1


def _names(estimator: BaseEstimator) -> Any:
    return getattr(estimator, "feature_names_in_", None)


def _check_finite(values: Float, name: str, columns: Any) -> None:
    # The sum of finite numbers is nearly always finite: one pass, no array of flags.
    if np.isfinite(values.sum()) or np.isfinite(values).all():
        return
    row, column = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
    kind = "NaN" if np.isnan(values[row, column]) else "infinity"
    where = f"row {row}" + (f", column {column}" if values.shape[1] > 1 else "")
    if columns is not None:
        where += f" ({columns[column]!r})"
    raise InputError(
        f"Input {name} contains {kind} at {where}. Drop the row, or fill the value in before it gets here "
        "(for example with sklearn.impute.SimpleImputer); the model is unchanged."
    )


@contextmanager
def _named_cells(X: Any) -> Iterator[None]:
    """Say which cell is text when numbers were expected; every other error passes as it is."""
    try:
        yield
    except ValueError as error:
        cell = _first_text(X) if "could not convert" in str(error) else None
        if cell is None:
            raise
        row, column, value = cell
        raise InputError(
            f"X has {value!r} at row {row}, column {column}, which is not a number. Encode text columns first (for "
            "example with sklearn.preprocessing.OneHotEncoder); the model is unchanged."
        ) from error


def _first_text(X: Any) -> tuple[int, int, object] | None:
    for i, row in enumerate(np.asarray(X, dtype=object)):
        for j, value in enumerate(np.atleast_1d(row)):
            try:
                float(value)
            except (TypeError, ValueError):
                return i, j, value
    return None
