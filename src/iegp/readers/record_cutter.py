"""Cut a sequence of bytes into complete records with a bounded buffer, whatever the bytes are.

``pyarrow.csv.open_csv`` cuts files too, but it gives no position of a record in the file, from which a run resumes,
stops at the first bad record, and reads no pipe record by record. Cutting, positions and checks take 1.4 times as long
as Arrow alone (``python benchmarks/own_code.py csv``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from iegp.readers import feeds
from iegp.readers.records import shorten_raw
from iegp.typing import Int

_NEWLINE, _QUOTE = 10, 34


def csv_record_ends(delimiter: str) -> Callable[[bytes], Int]:
    """The cutting rule for this delimiter: bytes to the places just after each complete record."""
    starts_field = (ord(delimiter), _NEWLINE)

    def ends(data: bytes) -> Int:
        codes = np.frombuffer(data, dtype=np.uint8)
        line_ends = np.flatnonzero(codes == _NEWLINE)
        if b'"' in data:
            line_ends = line_ends[~_quoted(line_ends, codes, starts_field)]
        return line_ends + 1

    return ends


def line_record_ends(data: bytes) -> Int:
    """The cutting rule of JSON lines: every line end is one."""
    return np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _NEWLINE) + 1


def _quoted(places: Int, codes: np.ndarray, starts_field: tuple[int, int]) -> np.ndarray:
    """Which of these places lie inside a quoted field."""
    quotes = np.flatnonzero(codes == _QUOTE)
    if not _all_pair_up(quotes, codes, starts_field):
        quotes = _pairs_one_by_one(quotes, codes, starts_field)
    is_inside: np.ndarray = np.searchsorted(quotes, places) % 2 == 1
    return is_inside


def _all_pair_up(quotes: Int, codes: np.ndarray, starts_field: tuple[int, int]) -> bool:
    """Does every second quote open a field, or follow the one before as in a doubled quote? Then counting is exact."""
    openings = quotes[::2]
    before = codes[openings - 1]  # of a quote at place 0 this looks at the last byte; corrected below
    is_fine = (before == _QUOTE) | (before == starts_field[0]) | (before == starts_field[1])
    is_fine |= openings == 0
    # a quote just before it is the closing one, by parity, and the two are a doubled quote inside a field
    return bool(is_fine.all())


def _pairs_one_by_one(quotes: Int, codes: np.ndarray, starts_field: tuple[int, int]) -> Int:
    """Only the quotes that open or close a field. A quote inside an unquoted field (5" pipe) is a character."""
    pairs: list[int] = []
    places = quotes.tolist()
    i, n = 0, len(places)
    while i < n:
        place = places[i]
        i += 1
        if place and int(codes[place - 1]) not in starts_field:
            continue
        pairs.append(place)
        while i + 1 < n and places[i + 1] == places[i] + 1:
            i += 2
        if i < n:
            pairs.append(places[i])
            i += 1
    return np.asarray(pairs, dtype=np.int64)


MAX_RECORD = 16 << 20
"""Longer records are reported and skipped, never held in memory."""
UNCLOSED = "a quoted field that is opened in this line is not closed; double the quote, or close it"
TOO_LONG = "longer than {} MiB; a line end or a closing quote is missing, or this is another format"

RecordEnds = Callable[[bytes], Int]
"""Given bytes that begin with a record: the places just after the line end of each complete record."""


class Place(NamedTuple):
    """A place in the bytes."""

    offset: int
    line: int


class Span(NamedTuple):
    """Complete records, one after the other."""

    data: bytes
    ends: Int
    start: Place

    def parts(self, n_records: int) -> Iterator[Span]:
        """Split the span into spans of at most so many records."""
        begin, line = 0, self.start.line
        for i in range(0, len(self.ends), n_records):
            ends = self.ends[i : i + n_records]
            end = int(ends[-1])
            yield Span(self.data[begin:end], ends - begin, Place(self.start.offset + begin, line))
            line += self.data.count(b"\n", begin, end)
            begin = end


class UncutRecord(NamedTuple):
    """A record without an end within the limit: too long, or a quote is opened and never closed."""

    reason: str
    raw: bytes
    start: Place
    after: Place


class Skipped(NamedTuple):
    """An overlong line; its end has not been found yet."""

    head: bytes
    start: Place


class Cutter:
    """Takes bytes from a feed and gives them in complete records.

    A record without an end within ``MAX_RECORD`` bytes, or before the end of the file, is given up: only its
    first line counts as the bad record, so that one stray quote does not cost the rest of the file. Where records
    begin and end therefore depends on the bytes alone, not on how they arrive.
    """

    def __init__(self, feed: feeds.Feed, record_ends: RecordEnds, start: Place) -> None:
        self.feed = feed
        self.place = start
        self.has_ended = False
        self.record_ends = record_ends
        self._pending = bytearray()
        self._broken: feeds.FeedBroken | None = None
        self._skipping: Skipped | None = None

    @property
    def n_taken(self) -> int:
        """Bytes of records that the feed has given, from the beginning of the source."""
        return self.place.offset + len(self._pending)

    def take(self, at_most: int | None = None) -> Span | UncutRecord | None:
        """The available complete records (``at_most`` so many), at least one. None when woken up or ``has_ended``."""
        may_be_complete = b"\n" in self._pending
        while True:
            if may_be_complete or self.has_ended or len(self._pending) > MAX_RECORD:
                piece = self._cut_skipped() if self._skipping else self._cut(at_most)
                if piece is not None:
                    return piece
            if self._broken is not None:
                raise self._broken
            if self.has_ended:
                return None
            n_before = len(self._pending)
            if not self._fetch():
                return None
            # no record ends without a line end, so bytes without one need no second look
            may_be_complete = self._pending.find(b"\n", n_before) >= 0

    def _fetch(self) -> bool:
        """Adds to the pending bytes; from a live feed all that waits, up to a chunk. False if woken up instead."""
        n_before = len(self._pending)
        while (piece := self._read_feed()) is not None:
            self.has_ended = not piece
            self._pending += piece
            is_enough = len(self._pending) - n_before >= feeds.CHUNK
            if not piece or is_enough or not self.feed.is_live or not self.feed.is_waiting():
                return True
        return len(self._pending) > n_before

    def _read_feed(self) -> bytes | None:
        try:
            return self.feed.read()
        except feeds.FeedBroken as error:
            self._broken = error
            return b""

    def _cut(self, at_most: int | None) -> Span | UncutRecord | None:
        data = bytes(self._pending)
        ends = self._ends(data)[:at_most]
        too_long = np.flatnonzero(np.diff(ends, prepend=0) > MAX_RECORD)
        if too_long.size:
            ends = ends[: too_long[0]]
        if ends.size:
            # a chunk at a time, even when more piled up behind a record without end
            ends = ends[: max(1, int(np.searchsorted(ends, feeds.CHUNK, side="right")))]
            return Span(data[: ends[-1]], ends, self._advance(int(ends[-1])))
        is_last = self.has_ended and self._broken is None
        if data and (too_long.size or len(data) > MAX_RECORD or is_last):
            return self._give_up(data)
        return None

    def _ends(self, data: bytes) -> Int:
        """Ends of the complete records. A last line may lack its line end, unless the file is broken off there."""
        if not self.has_ended or self._broken is not None or not data or data.endswith(b"\n"):
            return self.record_ends(data)
        return np.minimum(self.record_ends(data + b"\n"), len(data))

    def _give_up(self, data: bytes) -> UncutRecord | None:
        """The record has no end within the limit: its first line is bad, or is so long that its end must be found."""
        first_line = data.find(b"\n", 0, MAX_RECORD) + 1 or len(data)
        if first_line <= MAX_RECORD:
            return UncutRecord(UNCLOSED, shorten_raw(data[:first_line]), self._advance(first_line), self.place)
        self._skipping = Skipped(shorten_raw(data[:MAX_RECORD]), self.place)
        return self._cut_skipped()

    def _cut_skipped(self) -> UncutRecord | None:
        """Forgets the bytes up to the end of an overlong line."""
        assert self._skipping is not None
        line_end = self._pending.find(b"\n") + 1
        self._advance(line_end or len(self._pending))
        if not line_end and not self.has_ended:
            return None
        skipped, self._skipping = self._skipping, None
        after = Place(self.place.offset, skipped.start.line + 1)
        self.place = after
        return UncutRecord(TOO_LONG.format(MAX_RECORD >> 20), skipped.head, skipped.start, after)

    def _advance(self, n_bytes: int) -> Place:
        """Drops bytes that were given; returns the place where they began."""
        start = self.place
        n_lines = self._pending.count(b"\n", 0, n_bytes)
        self.place = Place(start.offset + n_bytes, start.line + n_lines)
        del self._pending[:n_bytes]
        return start
