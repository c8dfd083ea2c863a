"""JSON lines: one object on each line. The kind of a column is that of its first value."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from iegp.errors import InputError
from iegp.readers.feeds import Feed
from iegp.readers.record_cutter import Place, Span, UncutRecord, line_record_ends
from iegp.readers.records import (
    START,
    Columns,
    Fault,
    Records,
    as_text,
    excerpt,
    is_one_of,
    missing_values,
    object_array,
)
from iegp.readers.source import Request, Schema
from iegp.readers.text_source import Layout, TextSource

MAX_COLUMNS = 4096
"""Keys are taken from the data, so their number must have a bound."""

_NUMBERS = frozenset((float, int))
_HUGE = 1e308
Pairs = list[tuple[str, Any]]


class _BadLine(Exception):
    def __init__(self, column: str | None, text: str, reason: str) -> None:
        super().__init__(reason)
        self.fault = Fault(column, text, reason)


def parse_line(line: bytes) -> dict[str, Any] | Fault:
    """The object on this line. Its values are not looked at yet."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        return Fault(None, excerpt(line[error.start :].rstrip()), "not UTF-8; write JSON in UTF-8")
    try:
        value = _DECODER.decode(text.strip(" \t\r\n"))
    except _BadLine as error:
        return error.fault
    except json.JSONDecodeError as error:
        is_table = error.pos == 0 and any(sign in text for sign in ",;\t") and not text.lstrip().startswith("{")
        advice = "; if this is CSV, say --format csv" if is_table else ""
        return Fault(None, excerpt(text.strip()), f"broken JSON: {error.msg} at character {error.pos + 1}{advice}")
    except RecursionError:
        return Fault(None, excerpt(text), "broken JSON: nested too deeply")
    except ValueError:  # Python refuses whole numbers with thousands of digits
        return Fault(None, excerpt(text), "a whole number with thousands of digits, too large for a float64")
    if isinstance(value, dict):
        return value
    return Fault(None, excerpt(text.strip()), 'not an object; write one like {"x": 1.5, "y": 2} on each line')


def _object(pairs: Pairs) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _BadLine(excerpt(twice), excerpt(twice), "this key is there more than once")
    return made


def _constant(word: str) -> NoReturn:
    raise _BadLine(None, word, f"{word} is no JSON; write null, or leave the key out, if the value is missing")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


class JsonColumns:
    """The columns met so far. A column's kind is that of its first value that is not null; true and false count as
    numbers 1 and 0, unless the column is to be kept as text."""

    def __init__(self, kinds: dict[str, str | None], keep_text: Collection[str], drop: Collection[str]) -> None:
        self.kinds = {name: "text" if name in keep_text else kind for name, kind in kinds.items()}
        self._keep_text, self._drop = frozenset(keep_text), frozenset(drop)
        self._numbers = {name for name, kind in self.kinds.items() if kind == "number"}

    def arrays(self, rows: Sequence[dict[str, Any]]) -> Columns:
        """Columns of rows that were accepted, all that are known; a key that a row lacks is missing there."""
        return {name: self._array(name, rows) for name in self.kinds if name not in self._drop}

    def _array(self, name: str, rows: Sequence[dict[str, Any]]) -> NDArray[Any]:
        values = [row.get(name) for row in rows]
        if self.kinds[name] != "text":
            return np.array(values, dtype=np.float64)  # None becomes NaN
        if name in self._keep_text:
            values = [as_text(value) for value in values]
        return object_array(values)

    def accept(self, row: dict[str, Any]) -> Fault | None:
        """Looks at every value of a row. A good row may bring new columns; a bad one changes nothing."""
        return None if self._is_plain(row) else self._look_at_all(row)

    def _is_plain(self, row: dict[str, Any]) -> bool:
        """The usual row, answered at once: columns that are known to be numbers, and ordinary numbers in them."""
        values = row.values()
        if not _NUMBERS.issuperset(map(type, values)) or not self._numbers.issuperset(row):
            return False
        return not row or (min(values) > -_HUGE and max(values) < _HUGE)

    def _look_at_all(self, row: dict[str, Any]) -> Fault | None:
        new: dict[str, str | None] = {}
        for name, value in row.items():
            kind = self.kinds.get(name)
            if name in self._drop and name in self.kinds:
                continue
            fault = self._look(name, value, kind, new)
            if fault is not None:
                return fault
        if len(self.kinds) + sum(name not in self.kinds for name in new) > MAX_COLUMNS:
            return Fault(None, excerpt(", ".join(new)), f"new keys, but there are {MAX_COLUMNS} columns already")
        self.kinds.update(new)
        self._numbers.update(name for name, kind in new.items() if kind == "number")
        return None

    def _look(self, name: str, value: Any, kind: str | None, new: dict[str, str | None]) -> Fault | None:
        if name not in self.kinds and (why := _why_no_name(name)) is not None:
            return Fault(excerpt(name), excerpt(name), why)
        if name in self._drop or value is None:
            if name not in self.kinds:
                new[name] = "text" if name in self._keep_text else None
            return None
        why = _why_unusable(value, is_text=name in self._keep_text)
        found = "text" if name in self._keep_text or isinstance(value, str) else "number"
        if why is None and kind is not None and kind != found:
            why = f"{found}, but the column is one of {kind if kind == 'text' else 'numbers'} (see its first value)"
        if why is not None:
            return Fault(excerpt(name), excerpt(_shown(value)), why)
        if kind is None:
            new[name] = found
        return None


def _why_no_name(name: str) -> str | None:
    if not name.strip():
        return "an empty key; give the value a name"
    return _why_no_text(name)


def _why_no_text(text: str) -> str | None:
    if "\0" in text:
        return "a NUL character; the data is damaged or no text"
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        return "half of a surrogate pair, which is no character; the data is damaged"
    return None


def _why_unusable(value: Any, *, is_text: bool) -> str | None:
    if isinstance(value, str):
        return _why_no_text(value)
    if isinstance(value, dict | list):
        return "a nested value; give its parts keys of their own, or ignore the column"
    if is_text and not isinstance(value, float):
        return None
    try:
        is_finite = math.isfinite(value)
    except OverflowError:
        is_finite = False
    return None if is_finite else "too large for a float64; write null if the value is missing"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and value.bit_length() > 4096:
        return f"a whole number of {value.bit_length()} bits"
    try:
        return json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        return f"a {type(value).__name__}"


BATCH = 1024
"""Records parsed at a time. Every batch has every column known, so the number of cells must have a bound."""
_BOM = b"\xef\xbb\xbf"


class JsonSource(TextSource):
    """Records of a file or pipe of JSON lines."""

    def __init__(self, label: str, open_feed: Callable[[int], Feed], request: Request) -> None:
        start = request.position or START
        super().__init__(label, open_feed(start.offset), line_record_ends, start)
        self._is_fresh = request.position is None
        kinds: dict[str, str | None] = {} if request.schema is None else dict(request.schema["columns"])
        self._columns = JsonColumns(kinds, request.keep_text, request.drop)
        self._missing = missing_values(request.style.na_values)
        self._peeked: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._columns.kinds) or self._peeked

    def schema(self) -> Schema:
        return {"format": "jsonl", "columns": dict(self._columns.kinds)}

    def prepare(self) -> bool:
        """Looks at the first record of a file for its names. A live source is not waited for."""
        if not self._is_fresh:
            return True
        self._is_fresh = False
        if not self.is_live:
            self._peek()
        return True

    def _peek(self) -> None:
        while (piece := self._take()) is not None:
            self._pieces.append(piece)
            if isinstance(piece, UncutRecord):
                return
            for line in piece.data.splitlines():
                line = _without_mark(line, piece.start)
                if line.strip():
                    record = parse_line(line)
                    self._peeked = () if isinstance(record, Fault) else tuple(record)
                    return
        raise InputError(f"{self._label}: there is no record in it. Nothing can be learned from it.")

    @property
    def _batch_size(self) -> int:
        return BATCH

    def _parse(self, span: Span) -> Records:
        lines = [_without_mark(line, span.start) if not i else line for i, line in enumerate(_lines(span))]
        layout = Layout.of(span, np.array([not line.strip() for line in lines], dtype=np.bool_))
        rows, faults = self._accepted([line for line in lines if line.strip()])
        return layout.batch(self._columns.arrays(rows), faults, self._n_records)

    def _accepted(self, lines: list[bytes]) -> tuple[list[dict[str, Any]], dict[int, Fault]]:
        rows: list[dict[str, Any]] = []
        faults: dict[int, Fault] = {}
        for i, line in enumerate(lines):
            row = parse_line(line)
            if self._missing and isinstance(row, dict):
                row = {name: None if is_one_of(value, self._missing) else value for name, value in row.items()}
            fault = row if isinstance(row, Fault) else self._columns.accept(row)
            if fault is not None:
                faults[i] = fault
            elif isinstance(row, dict):
                rows.append(row)
        return rows, faults

    def _no_rows(self) -> Columns:
        return self._columns.arrays([])


def _lines(span: Span) -> list[bytes]:
    begins = [0, *span.ends[:-1].tolist()]
    return [span.data[a:b] for a, b in zip(begins, span.ends.tolist(), strict=True)]


def _without_mark(line: bytes, start: Place) -> bytes:
    """Some programs begin a file with a byte order mark."""
    return line.removeprefix(_BOM) if start.offset == 0 else line
