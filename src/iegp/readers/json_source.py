"""JSON lines: one object on each line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iegp.errors import InputError
from iegp.readers.cutting import Place, Span, Uncut
from iegp.readers.feeds import Feed
from iegp.readers.json_values import JsonColumns, parse_line
from iegp.readers.layout import Fault, Layout
from iegp.readers.record_ends import line_record_ends
from iegp.readers.records import START, Columns, Records
from iegp.readers.source import Request, Schema
from iegp.readers.text_source import TextSource
from iegp.typing import Bool

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
            if isinstance(piece, Uncut):
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
        layout = Layout.of(span, _is_blank(lines))
        rows, faults = self._accepted([line for line in lines if line.strip()])
        return layout.batch(self._columns.arrays(rows), faults, self._n_records)

    def _accepted(self, lines: list[bytes]) -> tuple[list[dict[str, Any]], dict[int, Fault]]:
        rows: list[dict[str, Any]] = []
        faults: dict[int, Fault] = {}
        for i, line in enumerate(lines):
            row = parse_line(line)
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


def _is_blank(lines: list[bytes]) -> Bool:
    return np.array([not line.strip() for line in lines], dtype=np.bool_)


def _without_mark(line: bytes, start: Place) -> bytes:
    """Some programs begin a file with a byte order mark."""
    return line.removeprefix(_BOM) if start.offset == 0 else line
