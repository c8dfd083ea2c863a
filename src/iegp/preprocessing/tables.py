"""Tables of scikit-learn's users as batches of records: arrays, and frames of pandas, polars and pyarrow.

A column whose type is that of numbers is one of numbers. Any other column is what its first value is: a number, a date,
or else text. ``None``, NaN, NaT and NA are gaps. A value that does not fit its column is an error that names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, validate_data

from iegp.errors import InputError
from iegp.labels import NUMBER_KINDS
from iegp.preprocessing.encoder import CATEGORY, DATE, NUMBER
from iegp.readers import Batch, is_missing, object_array
from iegp.typing import Float


def is_frame(X: Any) -> bool:
    """Whether X is a table whose columns have types of their own: of pandas, polars or pyarrow."""
    return hasattr(X, "columns") and hasattr(X, "shape")


def needs_encoder(X: Any) -> bool:
    """Whether the first row has anything but numbers: text, a date, or a gap where the column may be of any kind.

    That depends on the first row and the types of the columns alone, so that rows may be cut into calls anywhere. False
    also for what is no table at all.
    """
    if is_frame(X):
        first = X.iloc[:1] if hasattr(X, "iloc") else X[:1]
        return len(first) > 0 and any(_is_open(_array(column)) for column in _frame_columns(first))
    values = as_objects(X)
    return values is not None and any(_is_open(column) for column in values.T)


def as_objects(X: Any) -> NDArray[Any] | None:
    """An array, or a list of rows, that holds other things than numbers; None if it does not, or is no table."""
    try:
        values = np.asarray(X) if isinstance(X, list | tuple | np.ndarray) else None
    except ValueError:  # rows of different lengths
        return None
    if values is None or values.ndim != 2 or not values.size or values.dtype.kind not in "OUSMm":
        return None
    # In a list NumPy would have made text of the numbers beside text.
    return values if isinstance(X, np.ndarray) else np.array(X, dtype=object)


def with_nan(X: Any) -> Any:
    """A frame of pandas, or an array of objects, with NaN in place of pandas' NA, which NumPy cannot convert."""
    if hasattr(X, "isna"):
        return X.mask(X.isna(), np.nan)
    values = np.array(X, dtype=object)
    values[np.vectorize(_is_na, otypes=[bool])(values)] = np.nan
    return values


def check_records(estimator: Any, X: Any, kinds: Mapping[str, str], reset: bool = False) -> Batch:
    """Rows with text, dates and gaps, as records; ``kinds`` are those of the columns that had a value before."""
    if not is_frame(X):
        objects = as_objects(X)
        X = check_array(X if objects is None else objects, dtype=None, ensure_all_finite=False)
    elif len(X) == 0:
        raise InputError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
    with named_columns():
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    return records_of(X, column_names(estimator), kinds)


def column_names(estimator: Any) -> list[str]:
    """Names of the columns of X; x0, x1, ... where they have none."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{i}" for i in range(estimator.n_features_in_)] if names is None else [str(name) for name in names]


@contextmanager
def named_columns() -> Iterator[None]:
    """Add a remedy to scikit-learn's message about columns that are not those of ``fit``."""
    try:
        yield
    except ValueError as error:
        if "feature names should match" in str(error):
            advice = "Select them in the order of feature_names_in_, as in X[list(model.feature_names_in_)]"
        elif "features, but" in str(error):
            advice = "Pass every column that was there when the model was fitted, in that order"
        else:
            raise
        raise InputError(f"{str(error).rstrip()}\n{advice}, or fit anew; the model is unchanged.") from error


def records_of(X: Any, names: Sequence[str], kinds: Mapping[str, str]) -> Batch:
    """The rows of a table as records. ``kinds`` are those of the columns that had a value before."""
    if len(set(names)) != len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise InputError(f"X has two columns called {twice!r}; rename one, or drop it. The model is unchanged.")
    columns = _frame_columns(X) if is_frame(X) else np.asarray(X).T
    found = {
        name: _of_kind(_array(column), kinds.get(name), f"column {place} ({name!r})")
        for place, (name, column) in enumerate(zip(names, columns, strict=True))
    }
    return Batch(found, np.arange(len(X)))


def _frame_columns(X: Any) -> Iterable[Any]:
    if hasattr(X, "iloc"):
        return [X.iloc[:, place] for place in range(X.shape[1])]
    columns: Iterable[Any] = X.get_columns() if hasattr(X, "get_columns") else X.columns
    return columns


def _array(column: Any) -> NDArray[Any]:
    """A column as float64, or as objects that :func:`_value` understands."""
    dtype = getattr(column, "dtype", None)
    if hasattr(dtype, "categories") and hasattr(column, "astype"):
        # Categories of pandas are text even where their names are numbers.
        return object_array([None if cell is None else _as_text(cell) for cell in map(_value, column.astype(object))])
    if getattr(dtype, "kind", "") in NUMBER_KINDS and hasattr(column, "iloc"):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    values = column if isinstance(column, np.ndarray) else np.asarray(column.to_numpy())
    if values.dtype.kind in NUMBER_KINDS:
        return values.astype(np.float64)
    if values.dtype.kind == "m":
        return np.asarray(values / np.timedelta64(1, "s"), dtype=np.float64)
    return values.astype("datetime64[us]").astype(object) if values.dtype.kind == "M" else values.astype(object)


def _is_open(values: NDArray[Any]) -> bool:
    """Whether a column may be other than numbers, by its type and first value."""
    return values.dtype != np.float64 and not isinstance(_value(values[0]), float)


def _of_kind(values: NDArray[Any], kind: str | None, where: str) -> NDArray[Any]:
    """A column as the encoder takes it: float64, texts or dates; by default it is what its first value is."""
    if values.dtype == np.float64 and kind in (NUMBER, None):
        _refuse_infinity(values, where)
        return values
    cells = object_array([_cell(value, row, where) for row, value in enumerate(values)])
    there = cells[~is_missing(cells)]
    kind = kind or (_kind_of(there[0]) if len(there) else NUMBER)
    if kind == CATEGORY:
        return object_array([None if cell is None else _as_text(cell) for cell in cells])
    for row, cell in enumerate(cells):
        if cell is not None and _kind_of(cell) != kind:
            raise InputError(
                f"X has {_value(values[row])!r:.80} at row {row}, {where}, which is not a {kind} as the values before "
                "it are. Write them all alike, or all as text; the model is unchanged."
            )
    if kind == DATE:
        return cells
    numbers: Float = np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    _refuse_infinity(numbers, where)
    return numbers


def _kind_of(cell: float | datetime | str) -> str:
    if isinstance(cell, float):
        return NUMBER
    return DATE if isinstance(cell, datetime) else CATEGORY


def _as_text(cell: float | datetime | str) -> str:
    """Whole numbers as such: a gap among them makes floats of them."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _cell(value: Any, row: int, where: str) -> float | datetime | str | None:
    try:
        return _value(value)
    except OverflowError as error:
        raise InputError(
            f"X has {value!r:.80} at row {row}, {where}, which is too large for a number; the model is unchanged."
        ) from error


def _value(value: Any) -> float | datetime | str | None:
    """One value as a number, a date, text, or None for a gap."""
    if value is None or isinstance(value, str):
        return value
    if _is_na(value):
        return None
    if isinstance(value, Real | np.bool_) or type(value).__name__ == "Decimal":
        number = float(value)
        return None if number != number else number
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return value if isinstance(value, datetime) or value is None else str(value)


def _is_na(value: Any) -> bool:
    return type(value).__name__ in ("NAType", "NaTType")


def _refuse_infinity(values: Float, where: str) -> None:
    rows = np.flatnonzero(np.isinf(values))
    if len(rows):
        raise InputError(
            f"Input X contains infinity at row {rows[0]}, {where}. Drop the row, or clip the value; the model is "
            "unchanged."
        )
