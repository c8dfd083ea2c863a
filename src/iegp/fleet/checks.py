"""Checks of the arguments of fleets, before anything changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from iegp.errors import InputError
from iegp.typing import Float

Key = str | int


def check_keys(keys: Any, n_rows: int | None = None) -> list[Key]:
    """Keys as text and whole numbers, one per row; a single key stands for all rows."""
    if isinstance(keys, str | int | np.integer) and n_rows is not None:
        keys = [keys] * n_rows
    values = keys.tolist() if hasattr(keys, "tolist") else list(keys)
    for i, key in enumerate(values):
        if isinstance(key, np.integer):
            values[i] = int(key)
        elif not isinstance(key, str | int) or isinstance(key, bool):
            raise InputError(f"keys has {key!r:.60} at {i}; a key is text or a whole number, convert it with str()")
    if n_rows is not None and len(values) != n_rows:
        raise InputError(f"there are {len(values)} keys but {n_rows} rows of X; give one key per row")
    return values


def check_rows(X: Any, n_columns: int, names: tuple[str, ...] | None) -> Float:
    """Rows (n, d) of finite numbers, in the columns that the template knows."""
    own = getattr(X, "columns", None)
    if own is not None and names is not None and tuple(map(str, own)) != names:
        raise InputError(f"X has the columns {list(own)!r:.200}, but the template learned {list(names)!r:.200}")
    rows = _numbers("X", X)
    if rows.ndim != 2 or rows.shape[1] != n_columns:
        raise InputError(
            f"X has shape {rows.shape}, but the template has {n_columns} columns: pass (rows, {n_columns})"
        )
    return _finite("X", rows)


def check_labels(y: Any, n_rows: int, n_outputs: int, single_output: bool) -> Float:
    """Labels (n, D) of finite numbers."""
    labels = _numbers("y", y)
    wanted = (n_rows,) if single_output else (n_rows, n_outputs)
    if labels.shape != wanted:
        raise InputError(f"y has shape {labels.shape}, but {wanted} is expected: as the template learned it")
    return _finite("y", np.ascontiguousarray(labels.reshape(n_rows, n_outputs)))


def check_level(level: Any) -> None:
    """A level of intervals is between 0 and 1; None asks for no intervals."""
    if level is not None and not (isinstance(level, int | float | np.number) and 0.0 < level < 1.0):
        raise InputError(f"level={level!r} must be a number between 0 and 1, such as 0.95, or None")


def check_template_rows(n_rows: Any) -> None:
    """What a template has learned counts as more than no row; None counts it as it is."""
    if n_rows is not None and not (isinstance(n_rows, int | float | np.number) and 0.0 < n_rows < np.inf):
        raise InputError(f"template_rows={n_rows!r} must be a number above 0, such as 1, or None")


def _numbers(name: str, values: Any) -> Float:
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} has values that are not numbers ({error}); nothing was learned") from error


def _finite(name: str, values: Float) -> Float:
    if not np.isfinite(values).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
        raise InputError(
            f"{name} has {values[row, column]} at row {row}, column {column}; drop the row or fill the value in. "
            "Nothing was learned, by any key"
        )
    return values
