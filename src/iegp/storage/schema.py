"""What the arrays of a file must be, checked by one function before any compiled code sees them.

Compiled code does not check its arrays: it divides by them and uses them as indices. A file may come from anywhere,
and its checksum says only that it is whole. So every kind of file has a *schema*: for each array its shape and type,
the range of its numbers, and what they must be together. One function, :func:`check_arrays`, compares arrays with a
schema and names the array, the number and what is wrong with it. All checks are vectorised and take time in proportion
to the arrays.

Ranges are as wide as what the library itself can write, which is mostly far wider than what is sensible: a model that
has learned an extreme label must load again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from iegp.errors import InputError
from iegp.typing import Arrays

Shape = tuple[int | None, ...]

# Whole numbers above it are not exact as floats, and no count is larger.
LARGEST_COUNT = 2.0**53
LARGEST_FLOAT = float(np.finfo(np.float64).max)


class Rule(NamedTuple):
    """Something that the numbers of an array must be together."""

    wanted: str
    """Ends the sentence "... must ..."."""
    holds: Callable[[NDArray[Any]], Any]
    """Which of the numbers are as they must be; a single truth value for all of them will do."""


class Field(NamedTuple):
    """What one array must be. ``low`` and ``high`` are included, and may differ by entry (they are broadcast)."""

    shape: Shape
    """None: any length."""
    low: ArrayLike = -LARGEST_FLOAT
    high: ArrayLike = LARGEST_FLOAT
    dtype: DTypeLike = np.float64
    gaps: bool = False
    """Whether NaN is allowed too."""
    whole: bool = False
    """Whether numbers must be whole."""
    rules: tuple[Rule, ...] = ()


Schema = Mapping[str, Field]


def check_arrays(schema: Schema, arrays: Arrays) -> None:
    """Raise a ``ValueError`` that names the first array that is not what ``schema`` says; others are not looked at."""
    for name, field in schema.items():
        if name not in arrays:
            raise ValueError(f"there is no array {name}")
        _check_kind(name, field, arrays[name])
        if arrays[name].size:
            _check_numbers(name, field, arrays[name])


def _check_kind(name: str, field: Field, array: NDArray[Any]) -> None:
    dtype = np.dtype(field.dtype)
    fits = len(array.shape) == len(field.shape) and all(
        wanted in (None, length) for wanted, length in zip(field.shape, array.shape, strict=True)
    )
    if not fits or array.dtype != dtype:
        shown = tuple("any" if length is None else length for length in field.shape)
        raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}, not {shown} and {dtype}")


def _check_numbers(name: str, field: Field, array: NDArray[Any]) -> None:
    # As float64 where numbers are float32, to which the ends of a range would be rounded otherwise.
    low, high = (np.asarray(end, dtype=np.float64 if array.dtype.kind == "f" else None) for end in field[1:3])
    with np.errstate(invalid="ignore"):
        # Written so that a NaN fails.
        good = (array >= low) & (array <= high)
        if field.whole:
            good &= array == np.floor(array)
    if field.gaps:
        good |= np.isnan(array)
    _refuse(name, array, good, _range(field))
    for rule in field.rules:
        with np.errstate(all="ignore"):
            kept = np.asarray(rule.holds(array))
        _refuse(name, array, np.broadcast_to(kept, array.shape), rule.wanted)


def _range(field: Field) -> str:
    """A range in words; where it differs by entry, its ends."""
    low, high = (float(end) for end in (np.min(field.low), np.max(field.high)))
    kind = "a whole number" if field.whole or np.dtype(field.dtype).kind in "iu" else "a number"
    if low == high:
        return f"be {low:g}"
    ends = "" if (low, high) == (-LARGEST_FLOAT, LARGEST_FLOAT) else f" from {low:g} to {high:g}"
    return f"be {kind if ends else 'finite'}{ends}{' or NaN' if field.gaps else ''}"


def _refuse(name: str, array: NDArray[Any], good: NDArray[np.bool_], wanted: str) -> None:
    if not good.all():
        place = tuple(int(i) for i in np.argwhere(~good)[0])
        raise ValueError(f"{name} has {array[place]} at {list(place)}, but must {wanted}")


def under(prefix: str, schema: Schema) -> dict[str, Field]:
    """The schema of arrays whose names begin with ``prefix``."""
    return {f"{prefix}{name}": field for name, field in schema.items()}


# -- numbers of the header ---------------------------------------------------------------------------------------------


def count(name: str, value: Any, low: int = 0, high: float = LARGEST_COUNT) -> int:
    """A whole number of a header, if it is one within these bounds."""
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{name} is {value!r:.50}, not a whole number from {low} to {high:g}")
    return value


def flag(name: str, value: Any) -> bool:
    """A truth value of a header, if it is one."""
    if type(value) is not bool:
        raise ValueError(f"{name} is {value!r:.50}, not true or false")
    return value


def with_floats(config: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """A copy with whole numbers as floats: for integers compiled code would be compiled anew, which takes a minute."""
    return config | {name: float(config[name]) for name in names if type(config.get(name)) is int}


# -- rules -------------------------------------------------------------------------------------------------------------


def equals(expected: ArrayLike, tolerance: float = 0.0) -> Rule:
    """Numbers that follow from the settings; NaN equals NaN."""
    values = np.asarray(expected, dtype=np.float64)

    def holds(array: NDArray[Any]) -> Any:
        return (np.abs(array - values) <= tolerance) | (np.isnan(array) & np.isnan(values)) | (array == values)

    return Rule("be as the settings say", holds)


def _sums_to_one(array: NDArray[Any]) -> Any:
    top = array.max(axis=-1, keepdims=True)
    total = np.exp(array - top).sum(axis=-1, keepdims=True)
    return np.abs(top + np.log(total)) <= 1e-6


LOG_WEIGHTS = Rule("be logs of weights that sum to one", _sums_to_one)
ROWS_SUM_TO_ONE = Rule(
    "have rows that sum to one", lambda array: np.abs(array.sum(axis=-1, keepdims=True) - 1.0) <= 1e-6
)
IN_ORDER = Rule("not decrease", lambda array: np.diff(array, axis=-1, prepend=array[..., :1]) >= 0)
INCREASING = Rule("increase", lambda array: bool(np.all(np.diff(array) > 0)))
POWER_OF_TWO = Rule("be a power of two", lambda array: (array & (array - 1)) == 0)


# Sums of squares of labels beyond 1e154 are infinite, and scores of nothing are NaN: both are no damage.
ANY_NUMBER: dict[str, Any] = {"low": -np.inf, "high": np.inf, "gaps": True}
# Rows that were taken together, or of which one was kept: their number doubles.
POWER = Field((1,), 1, LARGEST_COUNT, np.int64, rules=(POWER_OF_TWO,))


def take(arrays: Arrays, name: str, field: Field) -> NDArray[Any]:
    """A copy of ``arrays[name]`` if it is what ``field`` says."""
    try:
        check_arrays({name: field}, arrays)
    except ValueError as error:
        raise InputError(f"the stored digest is damaged: {error}") from error
    return arrays[name].copy()


def prefixed(prefix: str, arrays: Arrays) -> Arrays:
    """Arrays under names that begin with ``prefix``."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def part_of(arrays: Arrays, prefix: str) -> Arrays:
    """The inverse of :func:`prefixed`."""
    start = f"{prefix}."
    return {name[len(start) :]: array for name, array in arrays.items() if name.startswith(start)}
