"""CSV and TSV: whole chunks at once, record by record where a chunk has a bad record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np

from iegp.errors import InputError
from iegp.readers.csv_parser import CsvShape, parse_fast, parse_slow, split_fields
from iegp.readers.feeds import Feed
from iegp.readers.number_style import PLAIN, NumberStyle
from iegp.readers.record_cutter import Cutter, Place, Span, UncutRecord, csv_record_ends, line_record_ends
from iegp.readers.records import START, Columns, Records, excerpt
from iegp.readers.source import Request, Schema
from iegp.readers.text_source import Layout, TextSource
from iegp.typing import Bool

BATCH = 1 << 14
_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
# A column is one of numbers if at least so many of its values are; the others are then bad records, not categories.
MOSTLY = 0.9
HEAD_RECORDS = 1_000
HEAD_BYTES = 1 << 20


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


# -- header and first records ----------------------------------------------------------------------------------------


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
        index = " pandas writes its index like that: to_csv(..., index=False)." if empty == [1] else ""
        raise InputError(
            f"{label}: the header has no name for column {_listed(empty)}. Give every column a name.{index}"
        )
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
