"""Is a column of numbers or of text? Decided once, from the first records."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from iegp.readers.csv_fast import CsvShape, parse_fast
from iegp.readers.csv_fields import MISSING, is_number, split_fields

# A column is one of numbers if at least so many of its values are; the others are then bad records, not categories.
MOSTLY = 0.9
HEAD_RECORDS = 1_000
HEAD_BYTES = 1 << 20


def head_of(records: list[bytes]) -> list[bytes]:
    """The records that decide: the first thousand or the first MiB, whichever is less, but at least one."""
    total, n = 0, 0
    for record in records[:HEAD_RECORDS]:
        total += len(record)
        if n and total > HEAD_BYTES:
            break
        n += 1
    return records[:n]


def find_kinds(
    records: list[bytes], names: Sequence[str], delimiter: str, keep_text: Collection[str]
) -> dict[str, str]:
    """``"number"`` where nearly all values that are there are numbers, else ``"text"``. Bad records have no say."""
    numbers = [name for name in names if name not in keep_text]
    if _are_all_numbers(records, names, numbers, delimiter):
        texts: set[str] = set()
    else:
        texts = _columns_with_text(records, names, delimiter)
    return {name: "text" if name in texts or name in keep_text else "number" for name in names}


def _are_all_numbers(records: list[bytes], names: Sequence[str], numbers: list[str], delimiter: str) -> bool:
    """The usual case, answered at once."""
    shape = CsvShape(delimiter, dict.fromkeys(names, "number"), numbers)
    return not numbers or parse_fast(b"".join(records), len(records), shape) is not None


def _columns_with_text(records: list[bytes], names: Sequence[str], delimiter: str) -> set[str]:
    n_present, n_numbers = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for record in records:
        fields = split_fields(record.decode("utf-8", "replace").rstrip("\r\n"), delimiter)
        if len(fields) == len(names):
            for name, text in zip(names, fields, strict=True):
                if text not in MISSING:
                    n_present[name] += 1
                    n_numbers[name] += is_number(text)
    return {name for name in names if n_numbers[name] < MOSTLY * n_present[name]}
