"""Squared error and spread of each key's latest labels, without those of its start."""

from __future__ import annotations

import numpy as np

from iegp.storage.schema import Field
from iegp.stream.digest.grouping import group
from iegp.stream.stored import ANY_NUMBER, take
from iegp.typing import Arrays, Float, Int

# A key's first labels, which say how it was to begin and not how well it is predicted now.
START = 20
# Sums are of the window being filled and of the full one before it.
WINDOW = 50


class Recent:
    """The last 50 to 99 labels of each key (fewer while it has fewer), its first 20 left out.

    Two windows of fixed length take turns. So the sums are taken row by row over the same rows however they were cut,
    which forgetting row by row would not allow for a whole call at once.
    """

    def __init__(self) -> None:
        # (room, window of even or odd number, [count, deviation, squared deviation, squared error])
        self._sums: Float = np.zeros((16, 2, 4))

    def add(self, slots: Int, before: Int, deviation: Float, loss: Float) -> None:
        """Labels in order; ``before`` (n,): how many its key had before this call."""
        groups = group(slots)
        self._make_room(int(slots.max(initial=-1)) + 1)
        window = (before + groups.rank - START) // WINDOW
        newest = window[groups.order[groups.start + groups.size - 1]]
        stored = (before[groups.order[groups.start]] - 1 - START) // WINDOW
        # A window that was begun takes the place of the one two before it.
        for back in (0, 1):
            begun = (newest - back > stored) & (newest - back >= 0)
            self._sums[groups.found[begun], (newest[begun] - back) % 2] = 0.0
        kept = (window >= 0) & (window >= newest[groups.of_row] - 1)
        values = np.column_stack([np.ones(len(slots)), deviation, deviation**2, loss])
        np.add.at(self._sums, (slots[kept], window[kept] % 2), values[kept])

    def count(self, n_keys: int) -> Float:
        """(n_keys,): how many labels the sums are of."""
        self._make_room(n_keys)
        return np.asarray(self._sums[:n_keys, :, 0].sum(axis=1))

    def nmse(self, n_keys: int) -> Float:
        """(n_keys,): mean squared error over the variance of the same labels; NaN where they do not differ."""
        self._make_room(n_keys)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            n, deviation, square, loss = self._sums[:n_keys].sum(axis=1).T
            variance = square / n - (deviation / n) ** 2
            return np.asarray(np.where(variance > 0.0, loss / n / variance, np.nan))

    def _make_room(self, needed: int) -> None:
        have = len(self._sums)
        if needed > have:
            self._sums = np.concatenate([self._sums, np.zeros((max(have, needed - have), 2, 4))])

    def arrays(self, prefix: str, n_keys: int) -> Arrays:
        self._make_room(n_keys)
        return {f"{prefix}.recent": self._sums[:n_keys].copy()}

    def load(self, arrays: Arrays, prefix: str, n_keys: int) -> None:
        self._sums = take(arrays, f"{prefix}.recent", Field((n_keys, 2, 4), **ANY_NUMBER))
