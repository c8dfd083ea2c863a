"""Checks of rows and labels, so that the core needs none: clean float64 arrays, or an error that names the place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from iegp.errors import InputError
from iegp.labels import first_not_finite
from iegp.preprocessing.tables import named_columns, with_nan
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


def check_x(estimator: BaseEstimator, X: Any, reset: bool = False, gaps: bool = False) -> Float:
    """Rows (n, d) of float64, finite, with the columns the estimator knows (or, with ``reset``, learns).

    With ``gaps`` a NaN marks a missing value.
    """
    if not reset and _has_known_columns(estimator, X):
        rows = X
    else:
        with named_columns():
            rows = _as_floats(estimator, X, reset)
    if first_not_finite(rows) is not None:
        _check_finite(np.where(np.isnan(rows), 0.0, rows) if gaps else rows, _names(estimator))
    return np.asarray(rows)


def _has_known_columns(estimator: BaseEstimator, X: Any) -> bool:
    """Whether scikit-learn's validation, slower than learning a row, would return these rows as they are.

    An estimator that knows names of columns leaves it to scikit-learn to miss them.
    """
    return (
        is_float_array(X)
        and X.ndim == 2
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and X.flags.c_contiguous
        and _names(estimator) is None
    )


def unmasked(values: Any) -> Any:
    """A masked array with NaN, or None beside text, where it is masked; anything else as it is."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    is_missing = np.ma.getmaskarray(values)
    if not is_missing.any():
        return values.data
    is_number = values.dtype.kind in "fiub"
    plain = values.data.astype(np.float64 if is_number else object)
    plain[is_missing] = np.nan if is_number else None
    return plain


def is_float_array(values: Any) -> bool:
    """Whether these are entries of a plain array of float64 numbers, finite or not."""
    return type(values) is np.ndarray and values.dtype == np.float64 and values.size > 0


def check_x_with_gaps(estimator: BaseEstimator, X: Any, reset: bool = False) -> Float:
    """Like :func:`check_x`, but NaN marks a missing entry; every row needs at least one that is there."""
    rows = _as_floats(estimator, X, reset)
    if first_not_finite(rows) is None:
        return np.asarray(rows)
    is_missing = np.isnan(rows)
    _check_finite(np.where(is_missing, 0.0, rows), _names(estimator))
    empty = np.flatnonzero(is_missing.all(axis=1))
    if len(empty):
        raise InputError(
            f"Input X has nothing but NaN at row {empty[0]}, so it belongs nowhere. Drop such rows; "
            "the model is unchanged."
        )
    return np.asarray(rows)


def _as_floats(estimator: BaseEstimator, X: Any, reset: bool) -> Float:
    """Rows (n, d) of float64, NaN where a value is missing."""
    X = unmasked(X)
    with named_cells(X, "X"):
        try:
            rows = validate_data(estimator, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite=False)
        except TypeError as error:
            if not _is_about_na(error):
                raise
            rows = validate_data(
                estimator, with_nan(X), reset=reset, dtype=np.float64, order="C", ensure_all_finite=False
            )
    return np.asarray(rows)


def _is_about_na(error: Exception) -> bool:
    """Whether pandas' NA could not be converted to a number."""
    return isinstance(error, TypeError) and "NAType" in str(error)


def check_level(level: object) -> None:
    """The level of an interval."""
    if not isinstance(level, int | float | np.number) or not 0.0 < level < 1.0:
        raise InputError(f"level={level!r} must be a number between 0 and 1, such as 0.95")


def require_y(estimator: BaseEstimator, y: Any, wanted: str) -> None:
    """Refuse a missing y."""
    if y is None:
        raise InputError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None; pass {wanted} per row of X"
        )


def _names(estimator: BaseEstimator) -> Any:
    return getattr(estimator, "feature_names_in_", None)


def _check_finite(values: Float, columns: Any) -> None:
    found = first_not_finite(values)
    if found is None:
        return
    row, column = found
    kind = "NaN" if np.isnan(values[found]) else "infinity"
    where = f"row {row}" + (f", column {column}" if values.shape[1] > 1 else "")
    if columns is not None:
        where += f" ({columns[column]!r})"
    fill = " (for example with sklearn.impute.SimpleImputer)" if kind == "NaN" else ""
    raise InputError(
        f"Input X contains {kind} at {where}. Drop the row, or fill the value in before it gets here{fill}; "
        "the model is unchanged."
    )


@contextmanager
def named_cells(values: Any, name: str) -> Iterator[None]:
    """Say which cell is not a number when numbers were expected; every other error passes as it is."""
    try:
        yield
    except (ValueError, OverflowError, TypeError) as error:
        # Of objects other than NA scikit-learn wants NumPy's own error to pass.
        wrong_cell = _is_about_na(error) or isinstance(error, OverflowError) or "could not convert" in str(error)
        cell = _first_bad_cell(values) if wrong_cell else None
        if cell is None:
            raise
        row, column, value = cell
        where = f"row {row}"
        if name == "X":
            names = getattr(values, "columns", None)
            where += f", column {column}" + ("" if names is None else f" ({names[column]!r})")
        advice = "A column that begins with a number has numbers throughout; write all of it as text for categories"
        if name == "y":
            advice = "Labels must be numbers; for names of classes use IEGPClassifier or IEGPOrdinalClassifier"
        raise InputError(
            f"{name} has {value!r:.80} at {where}, which is not a number we can use (could not convert it to float). "
            f"{advice}; the model is unchanged."
        ) from error


def _first_bad_cell(values: Any) -> tuple[int, int, object] | None:
    for i, row in enumerate(np.asarray(values, dtype=object)):
        for j, value in enumerate(np.atleast_1d(row)):
            try:
                float(value)
            except (TypeError, ValueError, OverflowError):
                return i, j, value.item() if isinstance(value, np.generic) else value
    return None
