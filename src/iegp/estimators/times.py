"""Times of rows: from numbers or datetimes to float64, and out of a column of X."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from iegp.errors import InputError
from iegp.preprocessing.time_features import seconds_since_1970
from iegp.typing import Float


def as_times(time: Any) -> Float:
    """Times as float64, one per row; datetimes become seconds since 1970, spans of time seconds, what is masked NaN."""
    if isinstance(time, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(time), np.nan, as_times(time.data))
    times = np.asarray(time)
    if times.dtype.kind == "M":
        return _in_seconds(times - np.datetime64(0, "s"))
    if times.dtype.kind == "m":
        return _in_seconds(times)
    try:
        if times.dtype.kind == "c":
            raise TypeError("they are complex")
        if times.dtype.kind == "O":
            return np.array([_as_number(value) for value in times.ravel()]).reshape(times.shape)
        return times.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"time is not made of numbers or datetimes ({error}); for text use pandas.to_datetime first"
        ) from error


def _in_seconds(spans: Any) -> Float:
    # Whatever the unit was: one call may give seconds and the next one nanoseconds.
    return np.asarray(spans / np.timedelta64(1, "s"), dtype=np.float64)


def _as_number(value: Any) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    return seconds_since_1970(value) if isinstance(value, datetime) else float(value)


def place_of(column: str | int | None, names: Any, n_columns: int) -> int | None:
    """Place of the column of times among the columns of X, which may have ``names``."""
    if column is None:
        return None
    if isinstance(column, str):
        found = [] if names is None else np.flatnonzero(np.asarray(names) == column).tolist()
    else:
        is_whole = isinstance(column, int | np.integer) and not isinstance(column, bool)
        found = [int(column)] if is_whole and 0 <= column < n_columns else []
    if not found:
        known = f"its {n_columns} columns have no names" if names is None else f"its columns are {list(names)!r:.200}"
        raise InputError(f"time_column={column!r} is not a column of X: {known}; give a name, or a place from 0 on")
    if n_columns == 1:
        raise InputError(f"time_column={column!r} is the only column of X, and it is no input; pass time=... instead")
    return int(found[0])


def with_numbers(X: Any, column: str | int | None) -> Any:
    """A data frame with numbers in place of the datetimes in its column of times; anything else as it is."""
    if column is None or not hasattr(X, "iloc"):
        return X
    names = list(X.columns)
    name = names[column] if isinstance(column, int | np.integer) and column < len(names) else column
    if names.count(name) > 1:
        n_found = names.count(name)
        raise InputError(f"time_column={column!r}: X has {n_found} columns {name!r}; give each a name of its own")
    if name not in names or X[name].dtype.kind in "fiub":
        return X
    return X.assign(**{str(name): as_times(X[name])})
