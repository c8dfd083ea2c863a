"""Validation of arguments: clean float64 arrays, or an error that says what to change."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iegp.errors import InputError
from iegp.typing import Float


def checked_x(X: ArrayLike, n_columns: int | None) -> Float:
    """Rows (n, d), finite, with the columns known so far."""
    rows = np.ascontiguousarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise InputError(f"X has shape {rows.shape}; pass one row of numbers per sample, as (n, columns)")
    if n_columns is not None and rows.shape[1] != n_columns:
        raise InputError(f"X has {rows.shape[1]} columns, but the model has learned {n_columns}; pass the same columns")
    _check_finite(rows, "X")
    return rows


def checked_numbers(y: ArrayLike, n_rows: int) -> Float:
    """One finite number per row."""
    labels = np.ascontiguousarray(y, dtype=np.float64)
    if labels.shape != (n_rows,):
        raise InputError(f"y has shape {labels.shape}, but X has {n_rows} rows; pass one number per row, as (n,)")
    _check_finite(labels[:, None], "y")
    return labels


def checked_classes(y: ArrayLike, n_rows: int) -> NDArray[Any]:
    """One label per row."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise InputError(f"y has shape {labels.shape}, but X has {n_rows} rows; pass one label per row, as (n,)")
    return labels


def two_classes(labels: NDArray[Any], classes: ArrayLike | None) -> NDArray[Any]:
    """The two labels, in order: those given, or the set of those in ``labels``."""
    found = np.unique(labels if classes is None else np.asarray(classes))
    if len(found) != 2:
        raise InputError(
            f"classes {found.tolist()!r:.80} are {len(found)}, but this method tells two apart; "
            "pass rows of two classes, or both in classes="
        )
    return found


def signs(labels: NDArray[Any], classes: NDArray[Any]) -> Float:
    """-1 for the first class, +1 for the second."""
    known = np.isin(labels, classes)
    if not known.all():
        row = int(np.flatnonzero(~known)[0])
        raise InputError(f"y has {labels[row]!r} at row {row}, which is none of the classes {classes.tolist()!r:.80}")
    return np.where(labels == classes[1], 1.0, -1.0)


def positive(value: float, name: str) -> float:
    """A positive finite number."""
    if not isinstance(value, int | float | np.number) or not 0.0 < value < np.inf:
        raise InputError(f"{name}={value!r} must be a positive finite number")
    return float(value)


def whole(value: int, name: str, least: int = 1) -> int:
    """A whole number, at least ``least``."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InputError(f"{name}={value!r} must be a whole number, at least {least}")
    return int(value)


def seed_of(random_state: int | None) -> int:
    """The seed as a number; ``None`` draws one."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    return whole(random_state, "random_state", 0)


def _check_finite(values: Float, name: str) -> None:
    if not np.isfinite(values).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
        raise InputError(
            f"{name} has {values[row, column]} at row {row}, column {column}; drop the row or fill the value in before"
        )
