"""The first line of a CSV file: its delimiter and the names of its columns."""

from __future__ import annotations

from collections import Counter

from iegp.errors import InputError
from iegp.readers.csv_fields import split_fields
from iegp.readers.excerpt import excerpt

_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"


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
