"""Checks of single labels and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from iegp.errors import InputError
from iegp.typing import Float

# Kinds of NumPy types with numbers as values, and with labels as values.
NUMBER_KINDS, LABEL_KINDS = "fiub", "biuU"
# So few that an array of flags takes less time than switching off NumPy's warnings.
_FEW_VALUES = 4096


def as_labels(labels: Iterable[Any]) -> list[Any]:
    """Labels as a list; one that is missing, or cannot be a key of a dictionary, is an error that names its row."""
    if isinstance(labels, np.ndarray):
        if labels.dtype.kind in LABEL_KINDS:
            return labels.tolist()  # type: ignore[no-any-return]
        labels = labels.tolist()
    found = list(labels)
    for row, label in enumerate(found):
        if is_missing(label) or (isinstance(label, float) and math.isinf(label)):
            raise missing_label(label, f"row {row}")
        if not has_hash(label):
            raise InputError(
                f"y is {label!r:.80} at row {row}, which cannot be a label; use text, numbers or booleans. The model "
                "is unchanged."
            )
    return found


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, or pandas' NA."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas' NA has no truth value
        return True
    except ValueError:  # an array is no label, but it is there
        return False


def as_float(value: Any) -> float | None:
    """A number as a float, infinity if it is too large for one; None if it is text or anything else."""
    try:
        return None if isinstance(value, str | bytes) else float(value)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        return None


def first_not_finite(values: Float) -> tuple[int, int] | None:
    """Row and column of the first entry (n, D) that is NaN or infinite."""
    if values.size == 1 and math.isfinite(values.item()):
        return None  # a single label, without the cost of an array
    if values.size < _FEW_VALUES and np.isfinite(values).all():
        return None
    # The sum of finite numbers is nearly always finite: one pass, no array of flags.
    with np.errstate(all="ignore"):
        if math.isfinite(values.sum()) or np.isfinite(values).all():
            return None
    row, column = np.argwhere(~np.isfinite(values))[0]
    return int(row), int(column)


def require_finite(columns: Float) -> None:
    found = first_not_finite(columns)
    if found is not None:
        where = f"row {found[0]}" + (f", column {found[1]}" if columns.shape[1] > 1 else "")
        raise missing_label(float(columns[found]), where)


def missing_label(label: Any, where: str) -> InputError:
    kind = "infinity" if isinstance(label, float) and math.isinf(label) else "NaN"
    return InputError(
        f"Input y contains {kind} at {where}: y is {label!r}, but only a row with a known and finite label can be "
        "learned. Drop the row; the model is unchanged."
    )


def as_numbers(y: Iterable[Any]) -> Float:
    """Floats of the same shape; an entry that is not a number is an error that names its row."""
    if not isinstance(y, np.ndarray) or y.dtype.kind not in NUMBER_KINDS:
        y = np.array([_number(value, row) for row, value in enumerate(y)], dtype=np.float64)
    return np.asarray(y, dtype=np.float64)


def _number(value: Any, row: int) -> float:
    number = as_float(value)
    if number is None:
        raise InputError(
            f"y is {value!r:.80} at row {row}, which is not a number. Drop rows without one; the model is unchanged."
        )
    return number


def has_hash(label: Any) -> bool:
    try:
        hash(label)
    except TypeError:
        return False
    return True
