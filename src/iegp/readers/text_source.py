"""What CSV and JSON lines share: records cut from bytes, parsed span by span, given in portions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from iegp.errors import InputError
from iegp.readers.feeds import Feed, FeedBroken
from iegp.readers.record_cutter import Cutter, Place, RecordEnds, Span, UncutRecord
from iegp.readers.records import BadRecord, Columns, Fault, Position, Records, excerpt, shorten_raw
from iegp.readers.source import Source
from iegp.typing import Bool, Int


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
            Position(first.offset + len(self.span.data), self.end_line, n_before + len(self)),
        )

    def _bad(self, i: int, fault: Fault, n_bad_before: int, n_before: int) -> BadRecord:
        after = Position(self.span.start.offset + int(self.ends[i]), int(self.next_lines[i]), n_before + i + 1)
        return BadRecord(i - n_bad_before, int(self.lines[i]), *fault, shorten_raw(self.record(i)), after)


def _lines_at(span: Span) -> Int:
    """The line number just after each record."""
    n_lines, n_records = span.data.count(b"\n"), len(span.ends)
    if n_lines == n_records:
        return span.start.line + np.arange(1, n_records + 1)
    line_ends = np.flatnonzero(np.frombuffer(span.data, dtype=np.uint8) == ord("\n"))
    return span.start.line + np.searchsorted(line_ends, span.ends)


def bad_batch(uncut: UncutRecord, columns: Columns, n_before: int) -> Records:
    """A batch of one bad record."""
    start, end = Position(*uncut.start, n_before), Position(*uncut.after, n_before + 1)
    bad = BadRecord(0, uncut.start.line, None, excerpt(uncut.raw), uncut.reason, uncut.raw, end)
    return Records.none(columns, start, end, [bad])


class TextSource(Source):
    """A source of records that are lines, or nearly so; subclasses parse them."""

    def __init__(self, label: str, feed: Feed, record_ends: RecordEnds, start: Position) -> None:
        self._label = label
        self._n_records = start.record
        self._cutter = Cutter(feed, record_ends, Place(start.offset, start.line))
        self._pieces: list[Span | UncutRecord] = []  # cut already, to be parsed before anything else
        self._parsed: Iterator[Records] = iter(())

    @abstractmethod
    def prepare(self) -> bool:
        """Learn what must be known before the first record can be parsed. False if woken up before that."""

    @abstractmethod
    def _parse(self, span: Span) -> Records:
        """The records of a span; ``self._n_records`` came before it."""

    @property
    @abstractmethod
    def _batch_size(self) -> int:
        """Records to parse at a time: a bound on memory, whatever the chunk holds."""

    @abstractmethod
    def _no_rows(self) -> Columns:
        """Columns without rows."""

    @property
    def is_live(self) -> bool:
        return self._cutter.feed.is_live

    @property
    def size(self) -> int | None:
        return self._cutter.feed.size

    @property
    def bytes_read(self) -> int:
        """Up to the last record that was given; chunks are taken from the disk long before."""
        taken = self._cutter.feed.bytes_read
        if self.size is None or self._portions is None:
            return taken
        # A compressed file takes less on disk than its records: by their share.
        return round(taken * self._portions.end.offset / max(self._cutter.n_taken, 1))

    def close(self) -> None:
        self._cutter.feed.close()

    def _next_batch(self) -> Records | None:
        if not self.prepare():
            return self._nothing()
        while True:
            batch = next(self._parsed, None)
            if batch is not None:
                self._n_records = batch.end.record
                if batch.n_records or not self.is_live:
                    return batch
                continue
            piece = self._pieces.pop(0) if self._pieces else self._take()
            if piece is None:
                return None if self._cutter.has_ended else self._nothing()
            if isinstance(piece, UncutRecord):
                self._parsed = iter([bad_batch(piece, self._no_rows(), self._n_records)])
            else:
                # lazily, since each part must know how many records came before it
                self._parsed = (self._parse(part) for part in piece.parts(self._batch_size))

    def _take(self, at_most: int | None = None) -> Span | UncutRecord | None:
        try:
            return self._cutter.take(at_most)
        except FeedBroken as error:
            raise self._broken(error) from error

    def _broken(self, error: FeedBroken) -> InputError:
        offset, line = self._cutter.place
        return InputError(
            f"{self._label}: {error}. Everything before byte {offset} (line {line}) was read."
            " Restore the file and resume."
        )

    def _nothing(self) -> Records:
        place = Position(*self._cutter.place, self._n_records)
        return Records.none(self._no_rows(), place, place)
