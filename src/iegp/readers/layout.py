"""Where the records of a span lie, and the batch they make once they are parsed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from iegp.readers.cutting import Span, Uncut
from iegp.readers.excerpt import excerpt, shorten_raw
from iegp.readers.records import BadRecord, Columns, Position, Records
from iegp.typing import Bool, Int


class Fault(NamedTuple):
    """What is wrong with a record."""

    column: str | None
    text: str
    reason: str


@dataclass(frozen=True)
class Layout:
    """The records of a span that are not blank."""

    span: Span
    begins: Int
    ends: Int
    lines: Int
    next_lines: Int
    end_line: int
    """The line after the span."""

    @classmethod
    def of(cls, span: Span, is_blank: Bool) -> Layout:
        begins = np.concatenate([[0], span.ends[:-1]])
        line_after = _lines_at(span)
        lines = np.concatenate([[span.start.line], line_after[:-1]])
        keep = ~is_blank
        return cls(span, begins[keep], span.ends[keep], lines[keep], line_after[keep], int(line_after[-1]))

    def __len__(self) -> int:
        return len(self.begins)

    def record(self, i: int) -> bytes:
        return self.span.data[self.begins[i] : self.ends[i]]

    def records(self) -> list[bytes]:
        data = self.span.data
        return [data[a:b] for a, b in zip(self.begins.tolist(), self.ends.tolist(), strict=True)]

    def batch(self, columns: Columns, faults: Mapping[int, Fault], n_before: int) -> Records:
        """Good records as columns, the others (by index) as bad ones; ``n_before`` records came before this span."""
        first = self.span.start
        is_good = np.ones(len(self), dtype=np.bool_)
        is_good[list(faults)] = False
        bad = [self._bad(i, faults[i], k, n_before) for k, i in enumerate(sorted(faults))]
        offsets = first.offset + self.ends
        return Records(
            columns,
            self.lines[is_good],
            offsets[is_good],
            self.next_lines[is_good],
            bad,
            Position(*first, n_before),
            self._end(n_before),
        )

    def _bad(self, i: int, fault: Fault, n_bad_before: int, n_before: int) -> BadRecord:
        after = Position(self.span.start.offset + int(self.ends[i]), int(self.next_lines[i]), n_before + i + 1)
        return BadRecord(i - n_bad_before, int(self.lines[i]), *fault, shorten_raw(self.record(i)), after)

    def _end(self, n_before: int) -> Position:
        return Position(self.span.start.offset + len(self.span.data), self.end_line, n_before + len(self))


def _lines_at(span: Span) -> Int:
    """The line number just after each record."""
    n_lines, n_records = span.data.count(b"\n"), len(span.ends)
    if n_lines == n_records:
        return span.start.line + np.arange(1, n_records + 1)
    line_ends = np.flatnonzero(np.frombuffer(span.data, dtype=np.uint8) == ord("\n"))
    return span.start.line + np.searchsorted(line_ends, span.ends)


def uncut_batch(uncut: Uncut, columns: Columns, n_before: int) -> Records:
    """A batch of one bad record."""
    start, end = Position(*uncut.start, n_before), Position(*uncut.after, n_before + 1)
    bad = BadRecord(0, uncut.start.line, None, excerpt(uncut.raw), uncut.reason, uncut.raw, end)
    return Records.none(columns, start, end, [bad])
