"""Checks of what a forecaster is given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from iegp.core.compute.tolerances import LARGEST_IN_SERIES, MAX_LAG
from iegp.core.settings import check_whole
from iegp.errors import InputError
from iegp.typing import Float


def n_columns(X: ArrayLike) -> int:
    """Number of columns of a table."""
    if np.ndim(X) != 2:
        raise InputError(
            f"X has shape {np.shape(X)}; pass a table (n, d), for one column X.reshape(-1, 1). "
            "The series comes first: fit(y, X)."
        )
    return int(np.shape(X)[1])


def numbers(name: str, values: ArrayLike) -> Float:
    """A copy of numbers that are finite and not too large; an error names the row."""
    try:
        if np.iscomplexobj(values):
            raise TypeError("they are complex")
        # What is masked is missing.
        array = np.array(np.ma.filled(np.ma.array(values, dtype=np.float64), np.nan))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not made of numbers ({error}); the forecaster is unchanged") from error
    bad = np.argwhere(~(np.abs(array) <= LARGEST_IN_SERIES))
    if len(bad):
        where, value = ", column ".join(map(str, bad[0])), array[tuple(bad[0])]
        advice = "use other units" if np.isfinite(value) else "fill gaps (for example by interpolation)"
        raise InputError(
            f"{name} is {value} at row {where}; {advice} before rows get here. The forecaster is unchanged."
        )
    return array


def check_order(times: Float, before: float) -> None:
    """Times must increase, from the one ``before`` on; an error names the row."""
    far = np.flatnonzero(~(np.abs(times) <= LARGEST_IN_SERIES))
    if len(far):
        raise InputError(
            f"time of row {far[0]} is {times[far[0]]}, which is no time; drop the row, or fill it in. "
            "The forecaster is unchanged."
        )
    bad = np.flatnonzero(~(np.diff(times, prepend=before) > 0.0))
    if len(bad):
        row = int(bad[0])
        last = float(times[row - 1]) if row else before
        raise InputError(
            f"time of row {row} is {float(times[row])!r}, not after {last!r} of the row before it; sort rows, drop "
            "copies. The forecaster is unchanged."
        )


def lengths(season: Any) -> tuple[int, ...]:
    """Lengths of the seasons, in rows, in order."""
    return offsets("season", (season,) if isinstance(season, int | np.integer) else season, 0, 2)


def offsets(name: str, value: Any, default: int, least: int) -> tuple[int, ...]:
    """Different whole numbers in order; a number stands for 1 up to it."""
    value = default if value is None else value
    if isinstance(value, str):
        raise InputError(f"{name}={value!r} is text; pass whole numbers, such as 24 or (24, 168)")
    if isinstance(value, int | np.integer):
        check_whole(name, value, 0)
        several = tuple(range(1, min(value, MAX_LAG + 1) + 1))
    else:
        several = tuple(value) if np.iterable(value) else (value,)
    for number in several:
        check_whole(name, number, least)
        if number > MAX_LAG:
            raise InputError(f"{name}={value!r}: {number} is more than {MAX_LAG} rows, which would be kept in memory")
    return tuple(sorted({int(number) for number in several}))
