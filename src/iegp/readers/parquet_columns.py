"""Arrow columns as NumPy arrays: which types become numbers, which become text, and which values are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from iegp.errors import InputError
from iegp.readers.excerpt import excerpt
from iegp.readers.json_values import as_text
from iegp.readers.layout import Fault

_NOT_FINITE = "NaN or infinite; leave the cell empty (null) if the value is missing"
_NOT_UTF8 = "not UTF-8 text"


def column_kind(name: str, kind: pa.DataType, keep_text: bool) -> str:
    """``"number"`` or ``"text"``."""
    if pa.types.is_dictionary(kind):
        return column_kind(name, kind.value_type, keep_text)
    if _is_text(kind) or _is_time(kind):
        return "text"
    if _is_number(kind):
        return "text" if keep_text else "number"
    raise InputError(
        f"column {excerpt(name)!r} is of type {excerpt(str(kind))}, which is neither number, text nor time."
        " Take it apart, or leave it out with --ignore."
    )


def column_values(column: pa.Array, kind: str) -> tuple[NDArray[Any], dict[int, Fault]]:
    """The values, and what is wrong with those that cannot be used (by their index)."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if kind == "number":
        return _numbers(column)
    if _is_time(column.type):
        return _objects(_iso(column).to_pylist()), {}
    if _is_number(column.type):
        return _number_texts(column)
    return _texts(column)


def _is_number(kind: pa.DataType) -> bool:
    t = pa.types
    return bool(
        t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind) or t.is_decimal(kind) or t.is_null(kind)
    )


def _is_text(kind: pa.DataType) -> bool:
    """Older writers store text as bytes; it is text if it is UTF-8."""
    t = pa.types
    return bool(t.is_string(kind) or t.is_large_string(kind) or t.is_binary(kind) or t.is_large_binary(kind))


def _is_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind))


def _numbers(column: pa.Array) -> tuple[NDArray[Any], dict[int, Fault]]:
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    refused = ~np.isfinite(values) & column.is_valid().to_numpy(zero_copy_only=False)
    return values, {int(i): Fault(None, str(values[i]), _NOT_FINITE) for i in np.flatnonzero(refused)}


def _number_texts(column: pa.Array) -> tuple[NDArray[Any], dict[int, Fault]]:
    """Numbers of a column that is kept as text."""
    if pa.types.is_decimal(column.type):
        return _objects(column.cast(pa.string()).to_pylist()), {}
    faults = _numbers(column)[1] if pa.types.is_floating(column.type) else {}
    return _objects([as_text(value) for value in column.to_pylist()]), faults


def _texts(column: pa.Array) -> tuple[NDArray[Any], dict[int, Fault]]:
    raw = column.cast(pa.large_binary()).to_pylist()
    try:
        return _objects([None if value is None else value.decode() for value in raw]), {}
    except UnicodeDecodeError:
        return _decode_one_by_one(raw)


def _decode_one_by_one(raw: list[bytes | None]) -> tuple[NDArray[Any], dict[int, Fault]]:
    texts: list[str | None] = []
    faults: dict[int, Fault] = {}
    for i, value in enumerate(raw):
        try:
            texts.append(None if value is None else value.decode())
        except UnicodeDecodeError:
            texts.append(None)
            faults[i] = Fault(None, excerpt(value or b""), _NOT_UTF8)
    return _objects(texts), faults


def _iso(column: pa.Array) -> pa.Array:
    """ISO 8601: 2024-05-01T12:00:00; with time zone in UTC, ending in Z."""
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = column.cast(pa.timestamp(column.type.unit, tz="UTC"))
    return pc.replace_substring(column.cast(pa.string()), " ", "T")


def _objects(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
