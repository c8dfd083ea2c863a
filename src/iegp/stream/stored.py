"""Parts of a checkpoint: arrays by prefix, and values taken back only if they are what they must be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.errors import InputError
from iegp.storage.schema import LARGEST_COUNT, POWER_OF_TWO, Field, Schema, check_arrays
from iegp.typing import Arrays

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


def fill(own: Arrays, arrays: Arrays, prefix: str, fields: Schema) -> None:
    """Overwrite each of ``own`` with its stored twin, which must be what ``fields`` says."""
    for name, array in own.items():
        array[...] = take(arrays, f"{prefix}.{name}", fields[name])


def prefixed(prefix: str, arrays: Arrays) -> Arrays:
    """Arrays under names that begin with ``prefix``."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def part_of(arrays: Arrays, prefix: str) -> Arrays:
    """The inverse of :func:`prefixed`."""
    start = f"{prefix}."
    return {name[len(start) :]: array for name, array in arrays.items() if name.startswith(start)}
