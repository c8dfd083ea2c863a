"""Running count, mean, spread and last label of every key, known before every row of a block."""

from __future__ import annotations

import numpy as np

from iegp.errors import InputError
from iegp.stream.digest.grouping import group
from iegp.stream.digest.moments import Before
from iegp.stream.stored import take
from iegp.typing import Arrays, Float, Int


class KeyMoments:
    """:class:`iegp.stream.digest.moments.Moments` for each key, all keys of a block at once."""

    def __init__(self) -> None:
        # (room, 4): count, mean, sum of squared deviations, last label; a key's place is its slot.
        self._state: Float = np.zeros((0, 4))
        self._n_keys = 0

    def __len__(self) -> int:
        """Up to which slot labels have come."""
        return self._n_keys

    def advance(self, slots: Int, y: Float) -> tuple[Before, Float]:
        """Absorb a block; what was known of its key before each row, and the key's label before (NaN: none)."""
        groups = group(slots)
        self._make_room(groups.found)
        count, mean, squares, last = self._state[groups.found].T
        centre = np.where(count > 0.0, mean, y[groups.order[groups.start]])
        # One line per key, filled up with zeros: sums of one key never meet the numbers of another.
        longest = int(groups.size.max(initial=0))
        shifted = np.zeros((len(groups.found), longest + 1))
        shifted[groups.of_row, groups.rank + 1] = y - centre[groups.of_row]
        total = np.cumsum(shifted, axis=1)
        counts = count[:, None] + np.arange(longest + 1)
        safe = np.maximum(counts, 1.0)
        means = centre[:, None] + total / safe
        spread = squares[:, None] + np.maximum(np.cumsum(shifted**2, axis=1) - total**2 / safe, 0.0)
        known = (counts, means, spread)
        each, end = np.arange(len(groups.found)), groups.size
        ends = y[groups.order[groups.start + groups.size - 1]]
        self._state[groups.found] = np.column_stack([*(part[each, end] for part in known), ends])
        before = Before(*(part[groups.of_row, groups.rank] for part in known))
        sorted_y = y[groups.order]
        label_before = np.empty(len(y))
        label_before[groups.order[1:]] = sorted_y[:-1]
        label_before[groups.order[groups.start]] = np.where(count > 0.0, last, np.nan)
        return before, label_before

    def _make_room(self, slots: Int) -> None:
        self._n_keys = max(self._n_keys, int(slots.max(initial=-1)) + 1)
        missing, have = self._n_keys - len(self._state), len(self._state)
        if missing > 0:
            self._state = np.concatenate([self._state, np.zeros((max(missing, have), 4))])

    def arrays(self, prefix: str) -> Arrays:
        return {f"{prefix}.by_key": self._state[: self._n_keys].copy()}

    def load(self, arrays: Arrays, prefix: str) -> None:
        self._state = take(arrays, f"{prefix}.by_key", np.float64, (None, 4))
        self._n_keys = len(self._state)
        if not np.all((self._state[:, 0] >= 0.0) & (self._state[:, 0] <= 2.0**53)):
            raise InputError("labels of the keys in the stored digest are not counted; the checkpoint is damaged")
