"""Checking what River gives as targets: numbers, or labels of any kind that can be told apart."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from iegp.errors import InputError
from iegp.typing import Float


def number(y: Any, row: int = 0) -> float:
    """A target as a finite number."""
    try:
        value = math.nan if isinstance(y, str | bytes) else float(y)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f"y is {y!r:.80} at row {row}, but a target must be a finite number. Drop rows without one; the model is "
            "unchanged."
        )
    return value


def count(y: Any, row: int = 0) -> float:
    """A target as a number that is not negative."""
    value = number(y, row)
    if value < 0.0:
        raise InputError(
            f"y is {value:g} at row {row}, but a count cannot be negative. For numbers of either sign use "
            "RiverRegressor; the model is unchanged."
        )
    return value


def numbers(y: Iterable[Any], n: int) -> Float:
    """Targets (n, 1) of n rows."""
    return np.array([number(value, row) for row, value in enumerate(_as_many(y, n))]).reshape(-1, 1)


def counts(y: Iterable[Any], n: int) -> Float:
    """The same for counts."""
    return np.array([count(value, row) for row, value in enumerate(_as_many(y, n))]).reshape(-1, 1)


def labels(y: Iterable[Any], n: int) -> list[Hashable]:
    """Labels of n rows: anything that can be a key of a dictionary, and is there."""
    found = _as_many(y, n)
    for row, label in enumerate(found):
        if label is None or label != label:
            raise InputError(
                f"y is {label!r} at row {row}: a row without a label cannot be learned. Drop it; the model is "
                "unchanged."
            )
        try:
            hash(label)
        except TypeError as error:
            raise InputError(
                f"y is {label!r:.80} at row {row}, which cannot be a label; use text, numbers or booleans. The model "
                "is unchanged."
            ) from error
    return found


def _as_many(y: Iterable[Any], n: int) -> list[Any]:
    found = list(y)
    if len(found) != n:
        raise InputError(f"y has {len(found)} entries, but X has {n} rows; pass one per row. The model is unchanged.")
    return found
