"""Parts of a checkpoint: arrays by prefix, and values taken back only if they are what they must be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from iegp.errors import InputError
from iegp.preprocessing.encoder import LARGEST
from iegp.typing import Arrays


def take(arrays: Arrays, name: str, dtype: DTypeLike, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """A copy of ``arrays[name]`` if it has this type and shape (``None``: any length)."""
    if name not in arrays:
        raise InputError(f"the stored digest has no array {name!r}; the checkpoint is damaged")
    array = np.asarray(arrays[name])
    alike = len(array.shape) == len(shape) and all(w in (None, n) for n, w in zip(array.shape, shape, strict=True))
    if array.dtype != np.dtype(dtype) or not alike:
        raise InputError(
            f"array {name!r} of the stored digest is {array.dtype} of shape {array.shape}, not {np.dtype(dtype)} of "
            f"shape {shape}; the checkpoint is damaged"
        )
    return array.copy()


def fill(own: Arrays, arrays: Arrays, prefix: str) -> None:
    """Overwrite each of ``own`` with its stored twin."""
    for name, array in own.items():
        array[...] = take(arrays, f"{prefix}.{name}", array.dtype, array.shape)


def prefixed(prefix: str, arrays: Arrays) -> Arrays:
    """Arrays under names that begin with ``prefix``."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def part_of(arrays: Arrays, prefix: str) -> Arrays:
    """The inverse of :func:`prefixed`."""
    start = f"{prefix}."
    return {name[len(start) :]: array for name, array in arrays.items() if name.startswith(start)}


def count(value: Any) -> int:
    """``value`` if it is a count."""
    if type(value) is not int or not 0 <= value <= LARGEST:
        raise ValueError(f"{value!r:.50} is not a count")
    return value


def flag(value: Any) -> bool:
    """``value`` if it is true or false."""
    if type(value) is not bool:
        raise ValueError(f"{value!r:.50} is not a flag")
    return value
