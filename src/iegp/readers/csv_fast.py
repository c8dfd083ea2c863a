"""The fast way through CSV: a whole chunk of records by Arrow, or nothing if any of them is odd.

Arrow parses; what is around it is there for what ``cutting.py`` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from iegp.readers.csv_fields import MISSING
from iegp.readers.records import Columns

_BOM = b"\xef\xbb\xbf"


class CsvShape(NamedTuple):
    """All that must be known about a CSV file before its records can be read."""

    delimiter: str
    kinds: dict[str, str]
    """``"number"`` or ``"text"`` for every column of the header, in its order."""
    kept: Sequence[str]
    """The columns to give, at least one; the others are only counted."""


def parse_fast(data: bytes, n_records: int, shape: CsvShape) -> Columns | None:
    """The columns of ``n_records`` records, or None if any of them is not a good record."""
    if b"\0" in data or not _is_text(data) or _has_lone_return(data):
        return None
    return parse_checked(data, n_records, shape)


def parse_checked(data: bytes, n_records: int, shape: CsvShape) -> Columns | None:
    """The same for text without NUL, in which carriage returns stand only in quotes and at line ends."""
    if data.startswith(_BOM):
        # Arrow drops a mark at the beginning of what it reads; here it is in the middle of a file and part of a field
        data = b"\n" + data
    try:
        table = _read(data, shape)
    except pa.ArrowInvalid:
        return None
    if table.num_rows != n_records:
        return None
    columns = {name: table[name].to_numpy() for name in shape.kept}
    return columns if all(_has_only_finite(table[name], columns[name]) for name in shape.kept) else None


def _has_lone_return(data: bytes) -> bool:
    return b"\r" in data and data.count(b"\r") != data.count(b"\r\n")


def _is_text(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _read(data: bytes, shape: CsvShape) -> pa.Table:
    has_quotes = b'"' in data
    # one block: Arrow refuses a record that spans two ends of blocks
    reading = pa.csv.ReadOptions(use_threads=False, column_names=list(shape.kinds), block_size=len(data) + 1)
    parsing = pa.csv.ParseOptions(delimiter=shape.delimiter, newlines_in_values=has_quotes)
    converting = pa.csv.ConvertOptions(
        column_types={name: pa.float64() if kind == "number" else pa.string() for name, kind in shape.kinds.items()},
        include_columns=list(shape.kept),
        null_values=list(MISSING),
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
    )
    return pa.csv.read_csv(pa.BufferReader(data), reading, parsing, converting)


def _has_only_finite(column: pa.ChunkedArray, values: NDArray[Any]) -> bool:
    """Numbers that are written and not finite are bad; NaN that stands for a missing one is not."""
    if values.dtype == object:
        return True
    return int(np.count_nonzero(~np.isfinite(values))) == int(column.null_count)
