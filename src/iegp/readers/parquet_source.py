"""Parquet: row group by row group, in batches of bounded size."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

from iegp.errors import InputError
from iegp.readers.records import (
    MAX_RAW,
    START,
    BadRecord,
    Fault,
    Position,
    Records,
    as_text,
    excerpt,
    is_one_of,
    missing_values,
    object_array,
)
from iegp.readers.source import Request, Schema, Source

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
        return object_array(_iso(column).to_pylist()), {}
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
    if pa.types.is_float16(column.type):
        # Which PyArrow 15 does not cast.
        values = column.to_numpy(zero_copy_only=False).astype(np.float64)
    else:
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    refused = ~np.isfinite(values) & column.is_valid().to_numpy(zero_copy_only=False)
    return values, {int(i): Fault(None, str(values[i]), _NOT_FINITE) for i in np.flatnonzero(refused)}


def _number_texts(column: pa.Array) -> tuple[NDArray[Any], dict[int, Fault]]:
    """Numbers of a column that is kept as text."""
    if pa.types.is_decimal(column.type):
        return object_array(column.cast(pa.string()).to_pylist()), {}
    faults = _numbers(column)[1] if pa.types.is_floating(column.type) else {}
    return object_array([as_text(value) for value in column.to_pylist()]), faults


def _texts(column: pa.Array) -> tuple[NDArray[Any], dict[int, Fault]]:
    raw = column.cast(pa.large_binary()).to_pylist()
    try:
        return object_array([None if value is None else value.decode() for value in raw]), {}
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
    return object_array(texts), faults


def _iso(column: pa.Array) -> pa.Array:
    """ISO 8601: 2024-05-01T12:00:00; with time zone in UTC, ending in Z."""
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = column.cast(pa.timestamp(column.type.unit, tz="UTC"))
    return pc.replace_substring(column.cast(pa.string()), " ", "T")


BATCH_CELLS = 1 << 18
"""Rows times columns that are held at a time."""
_DAMAGED = (pa.ArrowException, OSError, ValueError, OverflowError, KeyError, IndexError, MemoryError)


class ParquetSource(Source):
    """Rows of a Parquet file. Positions count rows."""

    def __init__(self, path: Path, request: Request) -> None:
        self._path, self._keep_text = path, frozenset(request.keep_text)
        self._missing = missing_values(request.style.na_values)
        self._size = path.stat().st_size
        self._file = self._open()
        self._n_total = self._file.metadata.num_rows
        self._names = self._find_names()
        self._kept = [name for name in self._names if name not in request.drop]
        self._kinds = self._find_kinds(request.schema)
        self._at = request.position or START
        self._batches = self._iterate()

    def _open(self) -> pa.parquet.ParquetFile:
        try:
            return pa.parquet.ParquetFile(self._path)
        except _DAMAGED as error:
            raise InputError(
                f"{str(self._path)!r} cannot be read as Parquet ({excerpt(str(error))}): it is damaged, cut short or"
                " another format. Try to write it again."
            ) from error

    def _find_names(self) -> tuple[str, ...]:
        names = tuple(self._file.schema_arrow.names)
        doubled = [name for name, n in Counter(names).items() if n > 1 or not name.strip()]
        if doubled:
            raise InputError(f"{str(self._path)!r} has the column {excerpt(doubled[0])!r} twice or unnamed. Rename it.")
        if not self._n_total:
            raise InputError(f"{str(self._path)!r} has no rows. Nothing can be learned from it.")
        return names

    def _find_kinds(self, schema: Schema | None) -> dict[str, str]:
        if not self._kept:
            raise InputError(f"{str(self._path)!r}: all {len(self._names)} columns are dropped. Keep at least one.")
        arrow = self._file.schema_arrow
        kinds = {name: column_kind(name, arrow.field(name).type, name in self._keep_text) for name in self._kept}
        if schema is not None and {name: schema["columns"].get(name) for name in kinds} != kinds:
            raise InputError(
                f"{str(self._path)!r} has other columns or types than when it was read before."
                " Restore the file, or start anew."
            )
        return kinds

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def size(self) -> int | None:
        return self._size

    @property
    def bytes_read(self) -> int:
        """By the share of rows: columns lie apart, so there is no one place in the file."""
        return int(self._size * self._at.record / (self._n_total or 1))

    def schema(self) -> Schema:
        return {"format": "parquet", "columns": dict(self._kinds)}

    def close(self) -> None:
        self._file.close()

    def _next_batch(self) -> Records | None:
        try:
            batch = next(self._batches, None)
            if batch is None:
                return None
            values = {name: self._values(batch.column(name), self._kinds[name]) for name in self._kept}
        except _DAMAGED as error:
            raise InputError(
                f"{str(self._path)!r} is damaged after row {self._at.record} ({excerpt(str(error))})."
                " Everything before it was read. Restore the file and resume."
            ) from error
        return self._records(batch, values)

    def _values(self, column: pa.Array, kind: str) -> tuple[NDArray[Any], dict[int, Fault]]:
        values, faults = column_values(column, kind)
        if not self._missing:
            return values, faults
        is_gap = np.fromiter((is_one_of(value, self._missing) for value in values.tolist()), bool, len(values))
        values = values.copy()
        values[is_gap] = np.nan if values.dtype == np.float64 else None
        return values, faults

    def _iterate(self) -> Iterator[pa.RecordBatch]:
        """Batches from the present position on.

        Earlier row groups are not read, and each is read by itself, so that damage in one does not cost rows before it.
        """
        group, skip = self._find_group(self._at.record)
        for i in range(group, self._file.metadata.num_row_groups):
            for batch in self._iterate_group(i):
                if skip < batch.num_rows:
                    yield batch.slice(skip)
                skip = max(0, skip - batch.num_rows)

    def _iterate_group(self, group: int) -> Iterator[pa.RecordBatch]:
        size = max(1, BATCH_CELLS // len(self._kept))
        batches: Iterator[pa.RecordBatch] = self._file.iter_batches(
            size, row_groups=[group], columns=self._kept, use_threads=False
        )
        return batches

    def _find_group(self, row: int) -> tuple[int, int]:
        """The row group of this row, and how many rows of it come before."""
        meta = self._file.metadata
        for group in range(meta.num_row_groups):
            n_rows = meta.row_group(group).num_rows
            if row < n_rows:
                return group, row
            row -= n_rows
        if row:
            raise InputError(
                f"{str(self._path)!r} is {row} rows shorter than when it was read before: it was changed since."
                " Restore the file, or start anew without the old position."
            )
        return meta.num_row_groups, 0

    def _records(self, batch: pa.RecordBatch, values: dict[str, tuple[NDArray[Any], dict[int, Fault]]]) -> Records:
        faults: dict[int, Fault] = {}
        for name in reversed(self._kept):  # so that the first column with a fault is the one reported
            faults |= {i: fault._replace(column=name) for i, fault in values[name][1].items()}
        is_good = np.ones(batch.num_rows, dtype=np.bool_)
        is_good[list(faults)] = False
        columns = {name: array[is_good] if faults else array for name, (array, _) in values.items()}
        start = self._at
        rows = start.record + np.flatnonzero(is_good)
        bad = [self._bad(batch, i, faults[i], k, start.record) for k, i in enumerate(sorted(faults))]
        self._at = _row_position(start.record + batch.num_rows)
        return Records(columns, rows + 1, rows + 1, rows + 2, bad, start, self._at)

    def _bad(self, batch: pa.RecordBatch, i: int, fault: Fault, n_bad_before: int, n_before: int) -> BadRecord:
        raw = _as_json(batch, i)[:MAX_RAW]
        return BadRecord(i - n_bad_before, n_before + i + 1, *fault, raw, _row_position(n_before + i + 1))


def _row_position(n_rows: int) -> Position:
    return Position(n_rows, n_rows + 1, n_rows)


def _as_json(batch: pa.RecordBatch, i: int) -> bytes:
    try:
        row = batch.slice(i, 1).to_pylist()[0]
    except ValueError:  # broken UTF-8
        return b""
    return json.dumps(row, default=str).encode()
