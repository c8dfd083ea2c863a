"""Accumulators of fixed size for rows of a stream: a buffer of one block, sums over intervals, every k-th row."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np

from iegp.errors import InputError
from iegp.storage.schema import ANY_NUMBER, INCREASING, LARGEST_COUNT, POWER, Field, Schema, prefixed, take
from iegp.typing import Arrays, Float, Int

BLOCK = 512


class BlockBuffer:
    """Up to a block of rows of ``width`` numbers."""

    def __init__(self, width: int) -> None:
        self._buffer: Float = np.zeros((BLOCK, width))
        self._filled = 0

    @property
    def rows(self) -> Float:
        """The rows that wait for a block to be full."""
        return self._buffer[: self._filled]

    def add(self, rows: Float) -> Iterator[Float]:
        """Take rows in; yields each block that became full, valid until the next."""
        while len(rows):
            taken = rows[: BLOCK - self._filled]
            self._buffer[self._filled : self._filled + len(taken)] = taken
            self._filled += len(taken)
            rows = rows[len(taken) :]
            if self._filled == BLOCK:
                self._filled = 0
                yield self._buffer

    def arrays(self, prefix: str) -> Arrays:
        return {f"{prefix}.rows": self.rows.copy()}

    def load(self, arrays: Arrays, prefix: str) -> None:
        rows = take(arrays, f"{prefix}.rows", Field((None, self._buffer.shape[1]), **ANY_NUMBER))
        if len(rows) >= BLOCK:
            raise InputError(f"{len(rows)} rows wait in the stored digest, more than fit: the checkpoint is damaged")
        self._buffer[: len(rows)] = rows
        self._filled = len(rows)


MAX_INTERVALS = 512
# Row numbers wait as floats, which are exact below it.
FARTHEST = 2.0**53


class IntervalSums:
    """Sums of named columns over rows ``[i * length, (i + 1) * length)``; the length doubles when all are used.

    Sums of each interval rather than sums so far: differences of those would lose the small errors of a long run behind
    one large error at its start.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names, self.length = names, 1
        self.sums: Float = np.zeros((MAX_INTERVALS, len(names)))

    def add(self, row: Int, values: Float) -> None:
        """Add ``values`` (n, len(names)) to the intervals of their rows, in any order of rows."""
        if len(row) == 0:
            return
        while row.max() // self.length >= MAX_INTERVALS:
            self.sums[: MAX_INTERVALS // 2] = self.sums[0::2] + self.sums[1::2]
            self.sums[MAX_INTERVALS // 2 :] = 0.0
            self.length *= 2
        np.add.at(self.sums, row // self.length, values)

    def curves(self) -> dict[str, Float]:
        return {name: self.sums[:, i].copy() for i, name in enumerate(self.names)}

    def arrays(self, prefix: str) -> Arrays:
        return {f"{prefix}.sums": self.sums.copy(), f"{prefix}.length": np.array([self.length], dtype=np.int64)}

    def load(self, arrays: Arrays, prefix: str) -> None:
        self.sums = take(arrays, f"{prefix}.sums", Field(self.sums.shape, **ANY_NUMBER))
        self.length = int(take(arrays, f"{prefix}.length", POWER)[0])


# More experts or classes than any model has; an array without rows could have any width.
MOST_COLUMNS = 100_000


class Thinned:
    """Columns of the rows with a number that is a multiple of ``step``; at most ``capacity`` of them.

    Rows come in increasing order, one by one or many at a time: what is kept depends on their numbers alone.
    """

    def __init__(self, capacity: int, width: int) -> None:
        self.capacity, self.step, self._kept = capacity, 1, 0
        self._row: Int = np.zeros(capacity, dtype=np.int64)
        self._values: Float = np.zeros((capacity, width))

    @property
    def width(self) -> int:
        return int(self._values.shape[1])

    @property
    def row(self) -> Int:
        """Numbers of the rows that are kept."""
        return self._row[: self._kept]

    @property
    def values(self) -> Float:
        """Their columns."""
        return self._values[: self._kept]

    def widen(self, width: int, value: float) -> None:
        """Add columns on the right, of ``value`` in the rows kept so far."""
        missing = width - self.width
        if missing > 0:
            self._values = np.hstack([self._values, np.full((self.capacity, missing), value)])

    def add(self, row: Int, values: Float) -> None:
        """``values`` (n, width) of rows ``row`` (n,)."""
        while True:
            wanted = row % self.step == 0
            row, values = row[wanted], values[wanted]
            n = min(len(row), self.capacity - self._kept)
            self._put(self._kept, row[:n], values[:n])
            if self._kept < self.capacity:
                return
            row, values = row[n:], values[n:]
            self._halve()

    def _put(self, start: int, row: Int, values: Float) -> None:
        self._kept = start + len(row)
        self._row[start : self._kept], self._values[start : self._kept] = row, values

    def _halve(self) -> None:
        # Rows may have been left out, such as bad ones: doubling once may then not be enough.
        while self._kept >= self.capacity:
            self.step *= 2
            stay = self.row % self.step == 0
            self._put(0, self.row[stay], self.values[stay])

    def amend(self, row: Int, column: int, values: Float) -> None:
        """Set a column of those of ``row`` that are still kept."""
        _amend(self.row, self.values, row, column, values)

    def arrays(self, prefix: str) -> Arrays:
        step = np.array([self.step], dtype=np.int64)
        return {f"{prefix}.row": self.row.copy(), f"{prefix}.values": self.values.copy(), f"{prefix}.step": step}

    @classmethod
    def restore(cls, capacity: int, width: int, arrays: Arrays, prefix: str) -> Thinned:
        """The inverse of :meth:`arrays`. Sizes are checked before memory is allocated: ``width`` may be damaged."""
        row = take(arrays, f"{prefix}.row", Field((None,), 0, LARGEST_COUNT, np.int64, rules=(INCREASING,)))
        values = take(arrays, f"{prefix}.values", Field((len(row), width), **ANY_NUMBER))
        step = int(take(arrays, f"{prefix}.step", POWER)[0])
        if len(row) >= capacity or np.any(row % step) or width > MOST_COLUMNS:
            raise InputError(f"the rows kept in {prefix!r} of the stored digest are damaged")
        kept = cls(capacity, width)
        kept.step = step
        kept._put(0, row, values)
        return kept


class Latest:
    """Columns of the latest ``capacity`` rows; rows come in increasing order."""

    def __init__(self, capacity: int, width: int) -> None:
        self.capacity = capacity
        self.row: Int = np.zeros(0, dtype=np.int64)
        self.values: Float = np.zeros((0, width))

    def add(self, row: Int, values: Float) -> None:
        """``values`` (n, width) of rows ``row`` (n,)."""
        self.row = np.concatenate([self.row, row[-self.capacity :]])[-self.capacity :]
        self.values = np.concatenate([self.values, values[-self.capacity :]])[-self.capacity :]

    def amend(self, row: Int, column: int, values: Float) -> None:
        """Set a column of those of ``row`` that are still kept."""
        _amend(self.row, self.values, row, column, values)

    def arrays(self, prefix: str) -> Arrays:
        return {f"{prefix}.row": self.row.copy(), f"{prefix}.values": self.values.copy()}

    @classmethod
    def restore(cls, capacity: int, width: int, arrays: Arrays, prefix: str) -> Latest:
        """The inverse of :meth:`arrays`."""
        row = take(arrays, f"{prefix}.row", Field((None,), 0, LARGEST_COUNT, np.int64, rules=(INCREASING,)))
        values = take(arrays, f"{prefix}.values", Field((len(row), width), **ANY_NUMBER))
        if len(row) > capacity:
            raise InputError(f"{len(row)} rows in {prefix!r} of the stored digest, more than {capacity}: it is damaged")
        kept = cls(capacity, width)
        kept.row, kept.values = row, values
        return kept


def _amend(kept: Int, columns: Float, row: Int, column: int, values: Float) -> None:
    """Set a column of those of ``row`` that are among the ``kept`` ones."""
    if not len(kept):
        return
    place = np.minimum(np.searchsorted(kept, row), len(kept) - 1)
    found = kept[place] == row
    columns[place[found], column] = values[found]


class ScoreSums:
    """Sums over intervals, and tallies by name, at first zero; a subclass adds the rows of blocks to them.

    With a ``delay`` naive forecasts know a label that many rows of its key later; until then it is in the ``queue``.
    """

    def __init__(self, names: tuple[str, ...], tallies: Schema, delay: int = 0) -> None:
        self.delay = delay
        self.queue: Float = np.zeros((0, 2))
        """(m, 2): slot of the key, and label."""
        self.intervals, self._fields = IntervalSums(names), tallies
        self.tallies: Arrays = {
            name: np.zeros([n or 0 for n in field.shape], field.dtype) for name, field in tallies.items()
        }

    def arrays(self, prefix: str) -> Arrays:
        queue = {f"{prefix}.queue": self.queue.copy()}
        return queue | self.intervals.arrays(f"{prefix}.intervals") | prefixed(prefix, copy.deepcopy(self.tallies))

    def load(self, arrays: Arrays, prefix: str) -> None:
        self.intervals.load(arrays, f"{prefix}.intervals")
        self.queue = take(arrays, f"{prefix}.queue", Field((None, 2)))
        _, n_labels = np.unique(self.queue[:, 0], return_counts=True)
        if n_labels.max(initial=0) > self.delay:
            raise InputError(f"more than {self.delay} labels are not known yet: the stored digest is damaged")
        for name, field in self._fields.items():
            self.tallies[name] = take(arrays, f"{prefix}.{name}", field)
