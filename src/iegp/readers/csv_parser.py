"""CSV records to columns: a whole chunk at once by Arrow, or record by record where one of them is bad.

:func:`parse_fast` gives all columns of a chunk, or nothing if any record is unusual. :func:`parse_slow` finds the bad
records of such a chunk and what is wrong with each. Arrow parses in both; ``record_cutter.py`` says why the code
around it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from iegp.readers.number_style import PLAIN, NumberStyle
from iegp.readers.records import Columns, Fault, excerpt


@cache
def _field(delimiter: str) -> re.Pattern[str]:
    """A quoted field (doubled quotes inside, anything after it belongs to it), or an unquoted one."""
    plain = f"[^{re.escape(delimiter)}]*+"
    return re.compile(f'"((?:[^"]|"")*+)"({plain})|({plain})')


def split_fields(record: str, delimiter: str) -> list[str]:
    """The fields of one record, which has no line end and no open quote."""
    if '"' not in record:
        return record.split(delimiter)
    return [
        plain if quoted is None else quoted.replace('""', '"') + after_quote
        for quoted, after_quote, plain in _parts(record, delimiter)
    ]


def unquoted_text(record: str, delimiter: str) -> str:
    """All text outside quoted fields, without delimiters."""
    return "".join(after_quote or plain or "" for _, after_quote, plain in _parts(record, delimiter))


def _parts(record: str, delimiter: str) -> Iterator[tuple[str | None, str, str]]:
    """For each field: text in quotes (None: it has none), text after the quotes, text of an unquoted one."""
    pattern, at = _field(delimiter), 0
    while at <= len(record):
        match = pattern.match(record, at)
        assert match is not None  # the pattern accepts the empty text
        quoted, after_quote, plain = match.groups()
        yield quoted, after_quote, plain
        at = match.end() + 1


_BOM = b"\xef\xbb\xbf"


class CsvShape(NamedTuple):
    """All that must be known about a CSV file before its records can be read."""

    delimiter: str
    kinds: dict[str, str]
    """``"number"`` or ``"text"`` for every column of the header, in its order."""
    kept: Sequence[str]
    """The columns to give, at least one; the others are only counted."""
    style: NumberStyle = PLAIN


def parse_fast(data: bytes, n_records: int, shape: CsvShape) -> Columns | None:
    """The columns of ``n_records`` records, or None if any of them is not a good record."""
    if b"\0" in data or not _is_text(data) or _has_lone_return(data):
        return None
    return parse_checked(data, n_records, shape)


def parse_checked(data: bytes, n_records: int, shape: CsvShape) -> Columns | None:
    """As :func:`parse_fast`, for text without NUL whose carriage returns are all in quotes or at line ends."""
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
    style = shape.style
    number = pa.float64() if style.is_plain else pa.string()
    converting = pa.csv.ConvertOptions(
        column_types={name: number if kind == "number" else pa.string() for name, kind in shape.kinds.items()},
        include_columns=list(shape.kept),
        null_values=list(style.missing),
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
    )
    table = pa.csv.read_csv(pa.BufferReader(data), reading, parsing, converting)
    for place, name in enumerate([] if style.is_plain else shape.kept):
        if shape.kinds[name] == "number":
            table = table.set_column(place, name, _as_numbers(table[name], style))
    return table


def _as_numbers(column: pa.ChunkedArray, style: NumberStyle) -> pa.ChunkedArray:
    """Text to numbers; an ArrowInvalid if one is not written in this style."""
    if not pc.all(pc.match_substring_regex(column, f"^{style.pattern}$"), min_count=0).as_py():
        raise pa.ArrowInvalid("not a number")
    if style.thousands:
        column = pc.replace_substring(column, style.thousands, "")
    return pc.utf8_trim_whitespace(pc.replace_substring(column, style.decimal, ".")).cast(pa.float64())


def _has_only_finite(column: pa.ChunkedArray, values: NDArray[Any]) -> bool:
    """Numbers that are written and not finite are bad; NaN that stands for a missing one is not."""
    if values.dtype == object:
        return True
    return int(np.count_nonzero(~np.isfinite(values))) == int(column.null_count)


_BLOCK = 128


def parse_slow(records: list[bytes], shape: CsvShape) -> tuple[Columns | None, dict[int, Fault]]:
    """The columns of the good records (None if there is none), and what is wrong with the others, by their index."""
    faults = _find_faults(records, shape)
    good = [i for i in range(len(records)) if i not in faults]
    columns = _parse(records, good, shape)
    if columns is None and good:
        # the checks here and Arrow disagree about a record: Arrow decides
        faults |= _refused(records, good, shape)
        good = [i for i in good if i not in faults]
        columns = _parse(records, good, shape)
    return columns, faults


def _find_faults(records: list[bytes], shape: CsvShape) -> dict[int, Fault]:
    """Parse record by record only in blocks that the fast parser refuses: most have no bad record."""
    faults: dict[int, Fault] = {}
    for first in range(0, len(records), _BLOCK):
        block = records[first : first + _BLOCK]
        if parse_fast(b"".join(map(_with_line_end, block)), len(block), shape) is None:
            found = ((first + i, find_fault(record, shape)) for i, record in enumerate(block))
            faults |= {i: fault for i, fault in found if fault is not None}
    return faults


def _parse(records: list[bytes], chosen: list[int], shape: CsvShape) -> Columns | None:
    if not chosen:
        return None
    return parse_checked(b"".join([_with_line_end(records[i]) for i in chosen]), len(chosen), shape)


def _with_line_end(record: bytes) -> bytes:
    return record if record.endswith(b"\n") else record + b"\n"


def _refused(records: list[bytes], chosen: list[int], shape: CsvShape) -> dict[int, Fault]:
    """The chosen records that the fast parser refuses, found by halving."""
    if _parse(records, chosen, shape) is not None:
        return {}
    if len(chosen) == 1:
        return {chosen[0]: Fault(None, excerpt(records[chosen[0]]), "cannot be read as a record of this file")}
    half = len(chosen) // 2
    return _refused(records, chosen[:half], shape) | _refused(records, chosen[half:], shape)


def find_fault(record: bytes, shape: CsvShape) -> Fault | None:
    """What is wrong with one record, which may end with its line end; None if it is good."""
    record = record.removesuffix(b"\n").removesuffix(b"\r")
    try:
        text = record.decode()
    except UnicodeDecodeError as error:
        return Fault(None, excerpt(record[error.start :]), "not UTF-8; convert the file, for example with iconv")
    if "\0" in text:
        return Fault(None, excerpt(text[text.index("\0") :]), "a NUL byte; the file is damaged or no text")
    fields = split_fields(text, shape.delimiter)
    if "\r" in text and "\r" in unquoted_text(text, shape.delimiter):
        return Fault(None, excerpt(text), "a carriage return inside the record; put its field in quotes")
    if len(fields) != len(shape.kinds):
        return Fault(None, excerpt(text), f"{_count(fields)}, but the header has {len(shape.kinds)}")
    return _find_bad_number(dict(zip(shape.kinds, fields, strict=True)), shape)


def _find_bad_number(fields: dict[str, str], shape: CsvShape) -> Fault | None:
    for name in shape.kept:
        text = fields[name]
        is_text = shape.kinds[name] != "number" or text in shape.style.missing
        if not is_text and shape.style.plain(text) is None:
            return Fault(name, excerpt(text), _why_no_number(text, shape.style))
    return None


def _why_no_number(text: str, style: NumberStyle) -> str:
    if style.is_number(text):
        return "NaN, infinite or too large for a float64; leave the field empty if the value is missing"
    return (
        "not a number, but the column is one of numbers (see its first records); empty fields are missing values, "
        "and so are words that --na-values names"
    )


def _count(fields: list[str]) -> str:
    return f"{len(fields)} field" + ("" if len(fields) == 1 else "s")
