"""One CSV record taken apart, the slow and exact way, by the rules of the fast one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

MISSING = ("", "NA", "N/A", "null", "NULL", "None")

_FINITE = re.compile(r"[ \t]*[+-]?(?:[0-9]++\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t]*")
_NOT_FINITE = re.compile(r"[ \t]*[+-]?(?:inf|infinity|nan(?:\([0-9a-z_]*\))?)[ \t]*", re.IGNORECASE)


@cache
def _field(delimiter: str) -> re.Pattern[str]:
    """A quoted field (doubled quotes inside, anything after it belongs to it), or an unquoted one."""
    plain = f"[^{re.escape(delimiter)}]*+"
    return re.compile(f'"((?:[^"]|"")*+)"({plain})|({plain})')


def split_fields(record: str, delimiter: str) -> list[str]:
    """The fields of one record, which has no line end and whose quotes are closed."""
    if '"' not in record:
        return record.split(delimiter)
    return [
        plain if quoted is None else quoted.replace('""', '"') + after_quote
        for quoted, after_quote, plain in _parts(record, delimiter)
    ]


def unquoted_text(record: str, delimiter: str) -> str:
    """All that stands outside quoted fields, without delimiters."""
    return "".join(after_quote or plain or "" for _, after_quote, plain in _parts(record, delimiter))


def _parts(record: str, delimiter: str) -> Iterator[tuple[str | None, str, str]]:
    """Of each field: the text in quotes (None: it has none), the text after the quotes, the text of an unquoted one."""
    pattern, at = _field(delimiter), 0
    while at <= len(record):
        match = pattern.match(record, at)
        assert match is not None  # the pattern accepts the empty text
        quoted, after_quote, plain = match.groups()
        yield quoted, after_quote, plain
        at = match.end() + 1


def is_finite_number(text: str) -> bool:
    """A number that fits a float64."""
    return _FINITE.fullmatch(text) is not None and abs(float(text)) != float("inf")


def is_number(text: str) -> bool:
    """A number, or one of the words for what is none (nan, inf)."""
    return _FINITE.fullmatch(text) is not None or _NOT_FINITE.fullmatch(text) is not None
