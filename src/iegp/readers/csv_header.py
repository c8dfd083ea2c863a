"""Header and first records of a CSV file: delimiter, names of the columns, and which of them are numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from iegp.errors import InputError
from iegp.readers.csv_parser import CsvShape, parse_fast, split_fields
from iegp.readers.number_style import PLAIN, NumberStyle
from iegp.readers.records import excerpt

_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
# A column is one of numbers if at least so many of its values are; the others are then bad records, not categories.
MOSTLY = 0.9
HEAD_RECORDS = 1_000
HEAD_BYTES = 1 << 20


def find_delimiter(header: str, format_name: str) -> str:
    """Tab for TSV; for CSV the comma, unless the header has none and has semicolons or tabs instead."""
    if format_name == "tsv":
        return "\t"
    return next((c for c in ",;\t" if c in header), ",")


def decode_header(line: bytes, label: str) -> str:
    """The text of the first line, without byte order mark and line end."""
    try:
        text = line.decode().removeprefix(_BOM)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise InputError(
            f"{label}: the header {excerpt(line)!r} is not UTF-8 text. If the file is UTF-16, convert it, for example"
            " with iconv -f UTF-16 -t UTF-8; if it is compressed or Parquet, give it its suffix."
        )
    text = text.removesuffix("\n").removesuffix("\r")
    if "\r" in text:
        raise InputError(
            f"{label}: the header {excerpt(text)!r} has a carriage return in it. Lines must end with LF or CR LF:"
            " convert the file, for example with tr '\\r' '\\n'."
        )
    return text


def header_names(header: str, delimiter: str, label: str) -> tuple[str, ...]:
    """The column names, each of which must be there and be there once."""
    names = tuple(split_fields(header, delimiter))
    if any(name.startswith('"') for name in names):
        raise InputError(f"{label}: a quote in the header {excerpt(header)!r} is not closed on its line. Close it.")
    empty = [i for i, name in enumerate(names, start=1) if not name.strip()]
    if empty:
        raise InputError(f"{label}: the header has no name for column {_listed(empty)}. Give every column a name.")
    doubled = [name for name, n in Counter(names).items() if n > 1]
    if doubled:
        raise InputError(f"{label}: the header has {_listed(map(excerpt, doubled))} more than once. Rename the copies.")
    return names


def _listed(things: object) -> str:
    shown = [repr(thing) if isinstance(thing, str) else str(thing) for thing in things]  # type: ignore[attr-defined]
    return ", ".join(shown[:5]) + (f" and {len(shown) - 5} more" if len(shown) > 5 else "")


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
    records: list[bytes],
    names: Sequence[str],
    delimiter: str,
    keep_text: Collection[str],
    style: NumberStyle = PLAIN,
) -> dict[str, str]:
    """``"number"`` where nearly all values that are there are numbers, else ``"text"``. Bad records have no say."""
    numbers = [name for name in names if name not in keep_text]
    shape = CsvShape(delimiter, dict.fromkeys(names, "number"), numbers, style)
    texts = set() if _are_all_numbers(records, shape) else _columns_with_text(records, shape)
    return {name: "text" if name in texts or name in keep_text else "number" for name in names}


def _are_all_numbers(records: list[bytes], shape: CsvShape) -> bool:
    """The usual case, answered at once."""
    return not shape.kept or parse_fast(b"".join(records), len(records), shape) is not None


def _columns_with_text(records: list[bytes], shape: CsvShape) -> set[str]:
    names = list(shape.kinds)
    n_present, n_numbers = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for record in records:
        fields = split_fields(record.decode("utf-8", "replace").rstrip("\r\n"), shape.delimiter)
        if len(fields) == len(names):
            for name, text in zip(names, fields, strict=True):
                if text not in shape.style.missing:
                    n_present[name] += 1
                    n_numbers[name] += shape.style.is_number(text)
    return {name for name in names if n_numbers[name] < MOSTLY * n_present[name]}
