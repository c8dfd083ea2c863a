"""The slow and exact way through CSV, for a chunk with odd records in it: each is found, with what is wrong."""

from __future__ import annotations

from iegp.readers.csv_fast import CsvShape, parse_checked, parse_fast
from iegp.readers.csv_fields import MISSING, is_finite_number, is_number, split_fields, unquoted_text
from iegp.readers.excerpt import excerpt
from iegp.readers.layout import Fault
from iegp.readers.records import Columns

_BLOCK = 128


def parse_slow(records: list[bytes], shape: CsvShape) -> tuple[Columns | None, dict[int, Fault]]:
    """The columns of the good records (None if there is none), and what is wrong with the others, by their index."""
    faults = _find_faults(records, shape)
    good = [i for i in range(len(records)) if i not in faults]
    columns = _parse(records, good, shape)
    if columns is None and good:
        # we and Arrow disagree about a record: Arrow decides
        faults |= _refused(records, good, shape)
        good = [i for i in good if i not in faults]
        columns = _parse(records, good, shape)
    return columns, faults


def _find_faults(records: list[bytes], shape: CsvShape) -> dict[int, Fault]:
    """Looks closely only at blocks that the fast way refuses: bad records are few, most of the time."""
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
    """Those that the fast way refuses, found by halving."""
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
        if shape.kinds[name] == "number" and text not in MISSING and not is_finite_number(text):
            return Fault(name, excerpt(text), _why_no_number(text))
    return None


def _why_no_number(text: str) -> str:
    if is_number(text):
        return "NaN, infinite or too large for a float64; leave the field empty if the value is missing"
    return "not a number, but the column is one of numbers (see its first records); empty fields are missing values"


def _count(fields: list[str]) -> str:
    return f"{len(fields)} field" + ("" if len(fields) == 1 else "s")
