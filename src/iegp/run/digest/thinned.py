"""Every k-th row of a stream, k doubling whenever there is no room: a picture of the whole run in fixed memory."""

from __future__ import annotations

import numpy as np

from iegp.errors import InputError
from iegp.run.digest.stored import take
from iegp.typing import Arrays, Float, Int


class Thinned:
    """Columns of the rows whose number is a multiple of ``step``; at most ``capacity`` of them.

    Rows come in increasing order, one by one or many at a time: what is kept depends on their numbers alone.
    """

    def __init__(self, capacity: int, width: int) -> None:
        self.capacity, self.step = capacity, 1
        self.row: Int = np.empty(0, dtype=np.int64)
        self.values: Float = np.empty((0, width))

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    def widen(self, width: int, value: float) -> None:
        """Add columns on the right, of ``value`` in the rows kept so far."""
        missing = width - self.width
        if missing > 0:
            self.values = np.hstack([self.values, np.full((len(self.values), missing), value)])

    def add(self, row: Int, values: Float) -> None:
        """``values`` (n, width) of rows ``row`` (n,)."""
        while True:
            wanted = row % self.step == 0
            row, values = row[wanted], values[wanted]
            room = self.capacity - len(self.row)
            self.row = np.concatenate([self.row, row[:room]])
            self.values = np.concatenate([self.values, values[:room]])
            if len(self.row) < self.capacity:
                return
            row, values = row[room:], values[room:]
            self._halve()

    def _halve(self) -> None:
        # Rows may have been left out, such as bad ones: doubling once may then not make room.
        while len(self.row) >= self.capacity:
            self.step *= 2
            stay = self.row % self.step == 0
            self.row, self.values = self.row[stay], self.values[stay]

    def amend(self, row: Int, column: int, values: Float) -> None:
        """Set a column of those of ``row`` that are still kept."""
        if len(self.row) == 0:
            return
        place = np.minimum(np.searchsorted(self.row, row), len(self.row) - 1)
        kept = self.row[place] == row
        self.values[place[kept], column] = values[kept]

    def arrays(self, prefix: str) -> Arrays:
        step = np.array([self.step], dtype=np.int64)
        return {f"{prefix}.row": self.row.copy(), f"{prefix}.values": self.values.copy(), f"{prefix}.step": step}

    def load(self, arrays: Arrays, prefix: str) -> None:
        row = take(arrays, f"{prefix}.row", np.int64, (None,))
        values = take(arrays, f"{prefix}.values", np.float64, (len(row), self.width))
        step = int(take(arrays, f"{prefix}.step", np.int64, (1,))[0])
        ordered = bool(np.all(np.diff(row) > 0)) and bool(np.all(row >= 0))
        if len(row) >= self.capacity or not ordered or step < 1 or step & (step - 1):
            raise InputError(f"the rows kept in {prefix!r} of the stored digest are damaged")
        self.row, self.values, self.step = row, values, step
