"""CSV and TSV: whole chunks at once, record by record where a chunk has a bad record."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from iegp.errors import InputError
from iegp.readers.csv_header import (
    HEAD_BYTES,
    HEAD_RECORDS,
    decode_header,
    find_delimiter,
    find_kinds,
    head_of,
    header_names,
)
from iegp.readers.csv_parser import CsvShape, parse_fast, parse_slow
from iegp.readers.feeds import Feed
from iegp.readers.record_cutter import Cutter, Place, Span, UncutRecord, csv_record_ends, line_record_ends
from iegp.readers.records import START, Columns, Records
from iegp.readers.source import Request, Schema
from iegp.readers.text_source import Layout, TextSource
from iegp.typing import Bool

BATCH = 1 << 14


class CsvSource(TextSource):
    """Records of a CSV file, or of a pipe, which begins with the header too (also when it is resumed)."""

    def __init__(self, label: str, open_feed: Callable[[int], Feed], format_name: str, request: Request) -> None:
        super().__init__(label, open_feed(0), line_record_ends, START)
        self._format_name, self._open_feed = format_name, open_feed
        self._goal, self._given, self._keep_text, self._drop, self._style = request
        self._header: tuple[str, ...] = ()
        self._delimiter = ","
        self._shape: CsvShape | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return self._header

    def schema(self) -> Schema:
        kinds = {} if self._shape is None else dict(self._shape.kinds)
        return {"format": self._format_name, "delimiter": self._delimiter, "columns": kinds}

    def prepare(self) -> bool:
        if self._shape is not None:
            return True
        if not self._header and not self._read_header():
            return False
        kinds = self._given_kinds() if self._given is not None else self._find_kinds()
        if kinds is None:
            return False
        kept = [name for name in self._header if name not in self._drop]
        if not kept:
            raise InputError(f"{self._label}: all {len(self._header)} columns are to be dropped. Keep at least one.")
        self._shape = CsvShape(self._delimiter, kinds, kept, self._style)
        self._go_to_position()
        return True

    def _read_header(self) -> bool:
        line = b""
        while not line.strip():
            piece = self._take(1)
            if isinstance(piece, UncutRecord):
                raise InputError(f"{self._label}: the header is {piece.reason}.")
            if piece is None and self._cutter.has_ended:
                raise InputError(f"{self._label}: the file is empty. Its first line must name the columns.")
            if piece is None:
                return False
            line = piece.data
        text = decode_header(line, self._label)
        self._delimiter = find_delimiter(text, self._format_name)
        if self._given is not None:
            self._delimiter = self._given["delimiter"]
        self._header = header_names(text, self._delimiter, self._label)
        self._cutter.record_ends = csv_record_ends(self._delimiter)
        if self._goal is not None and self._cutter.feed.size is None:
            # what went through a pipe is gone: only the counting continues
            self._cutter.place, self._n_records = Place(self._goal.offset, self._goal.line), self._goal.record
        return True

    def _given_kinds(self) -> dict[str, str]:
        assert self._given is not None
        columns: dict[str, str] = self._given["columns"]
        if tuple(columns) != self._header:
            raise InputError(
                f"{self._label}: the header names other columns than when it was read before"
                f" ({_difference(tuple(columns), self._header)}). Restore the file, or start anew."
            )
        return {name: "text" if name in self._keep_text else kind for name, kind in columns.items()}

    def _find_kinds(self) -> dict[str, str] | None:
        records: list[bytes] = []
        n_bytes = 0
        while len(records) < HEAD_RECORDS and n_bytes <= HEAD_BYTES and not (self.is_live and records):
            piece = self._take()
            if piece is None and not self._cutter.has_ended:
                return None
            if piece is None:
                break
            self._pieces.append(piece)
            if isinstance(piece, Span):
                n_bytes += len(piece.data)
                records += Layout.of(piece, _is_blank(piece)).records()
        if not records and not any(isinstance(piece, UncutRecord) for piece in self._pieces) and self._goal is None:
            raise InputError(
                f"{self._label}: there is a header, but no record after it. Nothing can be learned from it."
            )
        return find_kinds(head_of(records), self._header, self._delimiter, self._keep_text, self._style)

    def _go_to_position(self) -> None:
        """Records begin after the header, or at the position to resume from."""
        goal = self._goal
        if goal is None or goal == START or self._cutter.feed.size is None:
            return
        self._pieces.clear()
        self._cutter.feed.close()
        feed = self._open_feed(goal.offset)
        self._cutter = Cutter(feed, self._cutter.record_ends, Place(goal.offset, goal.line))
        self._n_records = goal.record

    @property
    def _batch_size(self) -> int:
        return BATCH

    def _parse(self, span: Span) -> Records:
        assert self._shape is not None
        layout = Layout.of(span, _is_blank(span))
        columns = parse_fast(span.data, len(layout), self._shape) if len(layout) else None
        if columns is not None:
            return layout.batch(columns, {}, self._n_records)
        columns, faults = parse_slow(layout.records(), self._shape)
        return layout.batch(columns or self._no_rows(), faults, self._n_records)

    def _no_rows(self) -> Columns:
        if self._shape is None:
            return {}
        kinds = self._shape.kinds
        return {name: np.empty(0, dtype=np.float64 if kinds[name] == "number" else object) for name in self._shape.kept}


def _is_blank(span: Span) -> Bool:
    """Lines with nothing but their line end."""
    begins = np.concatenate([[0], span.ends[:-1]])
    lengths = span.ends - begins
    codes = np.frombuffer(span.data, dtype=np.uint8)
    first, last = codes[begins], codes[span.ends - 1]
    is_return = first == ord("\r")
    blank: Bool = (first == ord("\n")) | is_return & ((lengths == 1) | (lengths == 2) & (last == ord("\n")))
    return blank


def _difference(old: tuple[str, ...], new: tuple[str, ...]) -> str:
    gone, come = [name for name in old if name not in new], [name for name in new if name not in old]
    if not gone and not come:
        return "the same ones in another order"
    return f"gone: {', '.join(gone[:5]) or 'none'}; new: {', '.join(come[:5]) or 'none'}"
