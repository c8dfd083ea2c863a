"""Running moments of the labels of every key: all labels, and the latest ones with their squared errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iegp.storage.schema import ANY_NUMBER, LARGEST_COUNT, Field, Rule, take
from iegp.typing import Arrays, Bool, Float, Int


def grown(array: Float, length: int) -> Float:
    """The array with zeros after its rows, at least ``length`` rows; it at least doubles, so that growing is rare."""
    missing = length - len(array)
    if missing <= 0:
        return array
    return np.concatenate([array, np.zeros((max(missing, len(array)), *array.shape[1:]))])


def nmse_of_sums(n: Float, deviation: Float, square: Float, loss: Float) -> Float:
    """Mean squared error over the variance of the same labels; NaN where they do not differ.

    The sums are of ones, of deviations of the labels from any centre, of their squares, and of squared errors.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        variance = square / n - (deviation / n) ** 2
        return np.asarray(np.where(variance > 0.0, loss / n / variance, np.nan))


class Groups(NamedTuple):
    """The rows of a call (n,) by key, (g,) different ones."""

    order: Int
    """(n,): rows of the same key together, in the order they came."""
    found: Int
    """(g,): slot of each key."""
    start: Int
    """(g,): where a key's rows begin in ``order``."""
    size: Int
    """(g,): how many rows a key has."""
    of_row: Int
    """(n,): which of the keys a row belongs to."""
    rank: Int
    """(n,): how many rows of its key come before a row."""


def group(slots: Int) -> Groups:
    found, of_row, size = np.unique(slots, return_inverse=True, return_counts=True)
    order = np.argsort(of_row, kind="stable")
    start = np.cumsum(size) - size
    rank = np.empty(len(slots), dtype=np.int64)
    rank[order] = np.arange(len(slots)) - np.repeat(start, size)
    return Groups(order, found, start, size, of_row, rank)


def delayed(queue: Float, slots: Int, y: Float, delay: int) -> tuple[Float, Float, Int]:
    """Labels (m, 2), with their slots, that become known while rows come, the queue after them, and for each row the
    first of these labels that is not known when it is predicted; -1: none is known at all."""
    rows = np.concatenate([queue, np.column_stack([slots, y])])
    groups = group(rows[:, 0].astype(np.int64))
    arrives = groups.rank < groups.size[groups.of_row] - delay
    number = np.cumsum(arrives) - 1
    own = slice(len(queue), None)
    behind = groups.rank[own] - delay
    place = groups.order[groups.start[groups.of_row[own]] + np.maximum(behind, 0)]
    return rows[arrives], rows[~arrives], np.where(behind >= 0, number[place], -1)


class MomentsBefore(NamedTuple):
    """What was known of its key before each row (m,)."""

    n: Float
    """How many labels."""
    mean: Float
    squares: Float
    """Sum of squared deviations from the mean."""
    last: Float
    """The label before; NaN: none."""

    def at(self, place: Int) -> MomentsBefore:
        """What was known before the rows at these places; -1: before any label."""
        none = place < 0, (0.0, 0.0, 0.0, np.nan)
        padded = [part if len(part) else np.zeros(1) for part in self]
        return MomentsBefore(*(np.where(none[0], empty, p[place]) for p, empty in zip(padded, none[1], strict=True)))


class Moments:
    """Welford's recursion, a block at a time: deviations are taken from a key's mean at the block's start."""

    def __init__(self, n_keys: int = 1) -> None:
        # (capacity, 4): count, mean, sum of squared deviations, last label; a key's place is its slot.
        self._state: Float = np.zeros((n_keys, 4))
        self._n_keys = n_keys

    def __len__(self) -> int:
        """Up to which slot labels have come."""
        return self._n_keys

    @property
    def variance(self) -> float:
        """Variance of all labels of the first key, divided by their number; NaN without any."""
        count, _, squares, _ = self._state[0]
        return float(squares / count) if count else float("nan")

    def known(self, y: Float, slot: int = 0) -> Float:
        """(4,): count, mean, sum of squared deviations and last label of a key, these labels of it included."""
        after = Moments()
        if slot < self._n_keys:
            after._state[0] = self._state[slot]
        after.advance(y)
        found: Float = after._state[0].copy()
        found[3] = found[3] if found[0] else np.nan
        return found

    def advance(self, y: Float, slots: Int | None = None) -> MomentsBefore:
        """Absorb a block, rows of the keys in ``slots``, and say what was known before each of its rows."""
        groups = group(np.zeros(len(y), dtype=np.int64) if slots is None else slots)
        self._grow(groups.found)
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
        return MomentsBefore(n, mean, squares, label_before)

    def _grow(self, slots: Int) -> None:
        self._n_keys = max(self._n_keys, int(slots.max(initial=-1)) + 1)
        self._state = grown(self._state, self._n_keys)

    def arrays(self, name: str) -> Arrays:
        return {name: self._state[: self._n_keys].copy()}

    def load(self, arrays: Arrays, name: str, n_keys: int | None = 1) -> None:
        self._state = take(arrays, name, Field((n_keys, 4), **ANY_NUMBER, rules=(_COUNTED,)))
        self._n_keys = len(self._state)


def _is_counted(state: Float) -> Bool:
    count = state[:, :1]
    return np.asarray((count >= 0.0) & (count <= LARGEST_COUNT) & (count == np.floor(count)))


_COUNTED = Rule("begin with a count", _is_counted)


# A key's first labels, which say how it was to begin and not how well it is predicted now.
START = 20
# Sums are of the window being filled and of the full one before it.
WINDOW = 50


class RecentErrors:
    """The last 50 to 99 labels of each key (fewer while it has fewer), its first 20 left out.

    Two windows of fixed length take turns. So the sums are taken row by row over the same rows however they were cut,
    which forgetting row by row would not allow for a whole call at once.
    """

    def __init__(self) -> None:
        # (capacity, window of even or odd number, [count, deviation, squared deviation, squared error])
        self._sums: Float = np.zeros((16, 2, 4))

    def add(self, slots: Int, before: Int, deviation: Float, loss: Float) -> None:
        """Labels in order; ``before`` (n,): how many its key had before this call."""
        groups = group(slots)
        self._sums = grown(self._sums, int(slots.max(initial=-1)) + 1)
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
        return np.asarray(self._of(n_keys)[:, :, 0].sum(axis=1))

    def nmse(self, n_keys: int) -> Float:
        """(n_keys,): mean squared error over the variance of the same labels; NaN where they do not differ."""
        return nmse_of_sums(*self._of(n_keys).sum(axis=1).T)

    def _of(self, n_keys: int) -> Float:
        self._sums = grown(self._sums, n_keys)
        return self._sums[:n_keys]

    def arrays(self, prefix: str, n_keys: int) -> Arrays:
        return {f"{prefix}.recent": self._of(n_keys).copy()}

    def load(self, arrays: Arrays, prefix: str, n_keys: int) -> None:
        self._sums = take(arrays, f"{prefix}.recent", Field((n_keys, 2, 4), **ANY_NUMBER))
