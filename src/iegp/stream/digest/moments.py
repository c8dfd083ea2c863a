"""Running count, mean, spread and last label of every key, known before every row; without keys there is one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iegp.storage.schema import LARGEST_COUNT, Field, Rule
from iegp.stream.digest.grouping import group
from iegp.stream.stored import ANY_NUMBER, take
from iegp.typing import Arrays, Bool, Float, Int


class Before(NamedTuple):
    """What was known of its key before each row (m,)."""

    n: Float
    """How many labels."""
    mean: Float
    squares: Float
    """Sum of squared deviations from the mean."""
    last: Float
    """The label before; NaN: none."""


class Moments:
    """Welford's recursion, a block at a time: deviations are taken from a key's mean at the block's start."""

    def __init__(self, n_keys: int = 1) -> None:
        # (room, 4): count, mean, sum of squared deviations, last label; a key's place is its slot.
        self._state: Float = np.zeros((n_keys, 4))
        self._n_keys = n_keys

    def __len__(self) -> int:
        """Up to which slot labels have come."""
        return self._n_keys

    @property
    def variance(self) -> float:
        """Of all labels of the first key, divided by their number; NaN without any."""
        count, _, squares, _ = self._state[0]
        return float(squares / count) if count else float("nan")

    def advance(self, y: Float, slots: Int | None = None) -> Before:
        """Absorb a block, rows of the keys in ``slots``, and say what was known before each of its rows."""
        groups = group(np.zeros(len(y), dtype=np.int64) if slots is None else slots)
        self._make_room(groups.found)
        count, centre, squares, last = self._state[groups.found].T
        centre = np.where(count > 0.0, centre, y[groups.order[groups.start]])
        # One line per key, filled up with zeros: sums of one key never meet the numbers of another.
        longest = int(groups.size.max(initial=0))
        shifted = np.zeros((len(groups.found), longest + 1))
        shifted[groups.of_row, groups.rank + 1] = y - centre[groups.of_row]
        total = np.cumsum(shifted, axis=1)
        counts = count[:, None] + np.arange(longest + 1)
        safe = np.maximum(counts, 1.0)
        means = centre[:, None] + total / safe
        # total² / count is never more than the sum of squares but for rounding.
        spread = squares[:, None] + np.maximum(np.cumsum(shifted**2, axis=1) - total**2 / safe, 0.0)
        known = (counts, means, spread)
        each, end = np.arange(len(groups.found)), groups.size
        ends = y[groups.order[groups.start + groups.size - 1]]
        self._state[groups.found] = np.column_stack([*(part[each, end] for part in known), ends])
        label_before = np.empty(len(y))
        label_before[groups.order[1:]] = y[groups.order][:-1]
        label_before[groups.order[groups.start]] = np.where(count > 0.0, last, np.nan)
        n, mean, squares = (part[groups.of_row, groups.rank] for part in known)
        return Before(n, mean, squares, label_before)

    def _make_room(self, slots: Int) -> None:
        self._n_keys = max(self._n_keys, int(slots.max(initial=-1)) + 1)
        missing, have = self._n_keys - len(self._state), len(self._state)
        if missing > 0:
            self._state = np.concatenate([self._state, np.zeros((max(missing, have), 4))])

    def arrays(self, name: str) -> Arrays:
        return {name: self._state[: self._n_keys].copy()}

    def load(self, arrays: Arrays, name: str, n_keys: int | None = 1) -> None:
        self._state = take(arrays, name, Field((n_keys, 4), **ANY_NUMBER, rules=(_COUNTED,)))
        self._n_keys = len(self._state)


def _is_counted(state: Float) -> Bool:
    count = state[:, :1]
    return np.asarray((count >= 0.0) & (count <= LARGEST_COUNT) & (count == np.floor(count)))


_COUNTED = Rule("begin with a count", _is_counted)
