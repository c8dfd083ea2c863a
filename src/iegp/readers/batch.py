"""What a source gives: a batch of consecutive records, the bad ones set apart, and the place after each of them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import NDArray

from iegp.readers.position import Position
from iegp.typing import Int


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


@dataclass(frozen=True, eq=False)
class Records:
    """Consecutive records: n good ones as columns, the bad ones in a list. Both may be empty."""

    columns: dict[str, NDArray[Any]]
    """float64 with NaN = missing, or object arrays of str / bool / None (= missing); all of length n."""
    lines: Int
    """(n,) the line on which each good record starts."""
    offsets: Int
    """(n,) the offset just after each good record."""
    next_lines: Int
    """(n,) the line just after each good record."""
    bad: list[BadRecord]
    start: Position
    end: Position
    raw: memoryview | None = field(default=None, repr=False)
    """The bytes from ``start`` to ``end``, line ends and blank lines included; None where the source has none (Parquet)
    or they were too long to keep."""

    def __len__(self) -> int:
        """Number of good records."""
        return len(self.lines)

    @property
    def n_records(self) -> int:
        """Number of records, good or bad."""
        return len(self.lines) + len(self.bad)

    def position_after(self, i: int) -> Position:
        """Where reading goes on after good record ``i`` of this batch (bad ones before it included, after it not)."""
        i = range(len(self))[i]
        n_bad = bisect_right(self.bad, i, key=_n_good_before)
        return Position(int(self.offsets[i]), int(self.next_lines[i]), self.start.record + i + 1 + n_bad)


def _n_good_before(bad: BadRecord) -> int:
    return bad.before
