"""Records of a source: columns of consecutive good records, the bad ones in a list, and the position after each.

Records stay in these columns until the encoder makes rows of numbers of them; parts of them share their arrays.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iegp.readers.number_style import is_finite_number
from iegp.typing import Bool, Int

MAX_SHOWN = 80
MAX_RAW = 64 * 1024


def excerpt(text: str | bytes) -> str:
    """At most ``MAX_SHOWN`` printable characters: control characters and broken bytes are written as escapes, so that
    a message cannot send control sequences of a file to a terminal."""
    head = text[: MAX_SHOWN + 1]
    if isinstance(head, bytes):
        head = head.decode("utf-8", "backslashreplace")
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in head)
    if len(shown) > MAX_SHOWN or len(text) > MAX_SHOWN:
        return shown[: MAX_SHOWN - 3] + "..."
    return shown


def shorten_raw(record: bytes | memoryview) -> bytes:
    """The record as it stood, without its line end, cut to ``MAX_RAW`` bytes."""
    return bytes(record[: MAX_RAW + 2]).removesuffix(b"\n").removesuffix(b"\r")[:MAX_RAW]


Columns = dict[str, NDArray[Any]]
"""float64 with NaN = missing, or object arrays of str / bool / None (= missing), all equally long."""


class Position(NamedTuple):
    """Where in a source the next record starts; opening the source at ``Position(*stored)`` resumes it."""

    offset: int
    """Bytes into the (decompressed) file; for Parquet the row number."""
    line: int
    """Line number, from 1, at this offset; for Parquet the row number + 1."""
    record: int
    """Number of records before it, good or bad."""


START = Position(0, 1, 0)


class BadRecord(NamedTuple):
    """A record that cannot be used, and why."""

    before: int
    """How many good records of the same batch come before it."""
    line: int
    column: str | None
    text: str
    """The offending text: at most 80 printable characters."""
    reason: str
    raw: bytes
    """The record as it stood, without its line end, cut to 64 KiB."""
    after: Position


class Fault(NamedTuple):
    """What is wrong with a record."""

    column: str | None
    text: str
    reason: str


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive records that can be read."""

    columns: Columns
    lines: Int
    """(n,): the line on which each record starts."""

    def __len__(self) -> int:
        return len(self.lines)

    def part(self, start: int, stop: int) -> Batch:
        """Some of the records."""
        return self if start == 0 and stop >= len(self) else self._chosen(slice(start, stop))

    def where(self, chosen: Bool) -> Batch:
        """The records that are chosen."""
        return self if chosen.all() else self._chosen(chosen)

    def _chosen(self, chosen: slice | Bool) -> Batch:
        return Batch({name: values[chosen] for name, values in self.columns.items()}, self.lines[chosen])


@dataclass(frozen=True, eq=False)
class Records(Batch):
    """Consecutive records of a source: n good ones as columns, the bad ones in a list. Both may be empty."""

    offsets: Int
    """(n,): the offset just after each good record."""
    next_lines: Int
    """(n,): the line just after each good record."""
    bad: list[BadRecord]
    start: Position
    end: Position

    @classmethod
    def none(cls, columns: Columns, start: Position, end: Position, bad: Sequence[BadRecord] = ()) -> Records:
        """No good record; ``columns`` are empty."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(columns, nothing, nothing, nothing, list(bad), start, end)

    @property
    def n_records(self) -> int:
        """Number of records, good or bad."""
        return len(self.lines) + len(self.bad)

    def position_before(self, i: int) -> Position:
        """Where good record ``i`` is found again: after the good one before it, and the bad ones before that."""
        if i == 0:
            return self.start
        n_bad = bisect_right(self.bad, i - 1, key=lambda record: record.before)
        return Position(int(self.offsets[i - 1]), int(self.next_lines[i - 1]), self.start.record + i + n_bad)

    @classmethod
    def joined(cls, parts: Sequence[Records]) -> Records:
        """One batch out of consecutive ones; a column that some do not have is missing there."""
        if len(parts) == 1:
            return parts[0]
        names = dict.fromkeys(name for part in parts for name in part.columns)
        bad, before = [], 0
        for part in parts:
            bad += [record._replace(before=before + record.before) for record in part.bad]
            before += len(part)
        return cls(
            {name: _joined([part.columns.get(name, np.full(len(part), np.nan)) for part in parts]) for name in names},
            np.concatenate([part.lines for part in parts]),
            np.concatenate([part.offsets for part in parts]),
            np.concatenate([part.next_lines for part in parts]),
            bad,
            parts[0].start,
            parts[-1].end,
        )


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    if all(part.dtype == np.float64 for part in parts):
        return np.concatenate(parts)
    return np.concatenate([_as_objects(part) for part in parts])


def _as_objects(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers among text can only be gaps: kinds do not change within a source."""
    return values if values.dtype == object else np.full(len(values), None, dtype=object)


def object_array(values: Sequence[Any]) -> NDArray[Any]:
    """(n,): the values as they are, of any types."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def is_missing(values: NDArray[Any]) -> Bool:
    """(n,): which values are missing."""
    if values.dtype == np.float64:
        return np.asarray(np.isnan(values))
    return np.fromiter((value is None for value in values), dtype=bool, count=len(values))


def missing_values(words: Collection[str]) -> frozenset[str | float]:
    """Words for missing values as text and, where they are numbers, as numbers."""
    return frozenset((*words, *(float(word) for word in words if is_finite_number(word))))


def is_one_of(value: Any, words: Collection[str | float]) -> bool:
    """Whether a value is text or a number among these."""
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value in words


class Portions:
    """Gives the records of a batch, good and bad, in order. Arrays are shared, not copied."""

    def __init__(self, batch: Records) -> None:
        self._batch = batch
        self._bad_at = [bad.before + j for j, bad in enumerate(batch.bad)]  # places of bad ones among all
        self._n_given = 0

    @property
    def is_done(self) -> bool:
        return self._n_given == self._batch.n_records

    @property
    def end(self) -> Position:
        """After those that were given."""
        return self._position(self._n_given)

    def take(self, at_most: int) -> Records:
        """The next ones, at least one unless the batch is empty."""
        first, last = self._n_given, min(self._n_given + at_most, self._batch.n_records)
        self._n_given = last
        return self._batch if last - first == self._batch.n_records else self._part(first, last)

    def give_back(self, n_records: int) -> None:
        """The last ``n_records`` come again."""
        self._n_given -= n_records

    def _part(self, first: int, last: int) -> Records:
        batch, (bad_first, bad_last) = self._batch, (bisect_left(self._bad_at, at) for at in (first, last))
        rows = slice(first - bad_first, last - bad_last)
        return Records(
            {name: values[rows] for name, values in batch.columns.items()},
            batch.lines[rows],
            batch.offsets[rows],
            batch.next_lines[rows],
            [bad._replace(before=bad.before - rows.start) for bad in batch.bad[bad_first:bad_last]],
            self._position(first),
            self._position(last),
        )

    def _position(self, n_records: int) -> Position:
        """After so many records."""
        if n_records in (0, self._batch.n_records):
            return self._batch.end if n_records else self._batch.start
        n_bad = bisect_left(self._bad_at, n_records)
        if n_bad and self._bad_at[n_bad - 1] == n_records - 1:
            return self._batch.bad[n_bad - 1].after
        return self._batch.position_before(n_records - n_bad)


def as_text(value: Any) -> str | bool | None:
    """A value of a column that is kept as text: numbers as JSON writes them."""
    if value is None or isinstance(value, str | bool):
        return value
    return json.dumps(value)
