"""Rows that a latent variable model stores: their positions under every expert, and an index of neighbours.

Memory grows with the stream unless it is bounded. When a bounded memory is full, every second row is removed: recent
rows stay dense, old ones thin out. A stored row only serves as a starting point for new rows; what was learned from a
removed row stays learned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp._compile import compiled
from iegp.core.compute.tolerances import FEW_STORED_ROWS
from iegp.core.latent.neighbours import Neighbours, Vectors
from iegp.typing import Float, Int

Digests = NDArray[np.uint64]


class Memory:
    """Stored rows in order of arrival."""

    def __init__(self, n_experts: int, n_components: int, n_axes: int) -> None:
        self.size = 0
        self.neighbours = Neighbours(n_axes)
        self._positions: Float = np.empty((n_experts, 0, n_components))
        self._stitched: Float = np.empty((0, n_components))
        self._digests: Digests = np.empty(0, dtype=np.uint64)
        self._numbers: Int = np.empty(0, dtype=np.int64)

    @property
    def positions(self) -> Float:
        """Position of each row under each expert, (experts, size, d)."""
        return self._positions[:, : self.size]

    @property
    def stitched(self) -> Float:
        """Position of each row under the best expert of its moment, (size, d)."""
        return self._stitched[: self.size]

    @property
    def digests(self) -> Digests:
        """Hash of every row, (size,), to recognise it."""
        return self._digests[: self.size]

    @property
    def numbers(self) -> Int:
        """Number of each row in the stream, (size,)."""
        return self._numbers[: self.size]

    def allocate(self, n: int) -> Float:
        """Return positions (experts, capacity, d) with space for n more rows, to write at ``size`` and beyond."""
        if self.size + n > len(self._stitched):
            capacity = max(self.size + n, 2 * len(self._stitched))
            self._positions = _grown(self._positions, capacity, 1)
            self._stitched = _grown(self._stitched, capacity, 0)
            self._digests = _grown(self._digests, capacity, 0)
            self._numbers = _grown(self._numbers, capacity, 0)
        return self._positions

    def append(self, vectors: Vectors, stitched: Float, digests: Digests, first_number: int) -> None:
        """Store rows after their positions have been written."""
        new = slice(self.size, self.size + len(vectors))
        self.allocate(len(vectors))
        self._stitched[new], self._digests[new] = stitched, digests
        self._numbers[new] = np.arange(first_number, first_number + len(vectors))
        self.neighbours.add(vectors)
        self.size += len(vectors)

    def thin(self) -> None:
        """Remove the first, third, fifth ... row, and build the index of the others again, in order."""
        kept = slice(1, self.size, 2)
        vectors = self.neighbours.rows()[kept]
        self._positions = self._positions[:, kept].copy()
        self._stitched, self._digests = self._stitched[kept].copy(), self._digests[kept].copy()
        self._numbers = self._numbers[kept].copy()
        self.size = len(vectors)
        self.neighbours = Neighbours(vectors.shape[1])
        self.neighbours.add(vectors)

    def find(self, digests: Digests) -> Int:
        """Return where each of these rows is stored, or -1; of several equal rows, the latest."""
        if self.size == 0:
            return np.full(len(digests), -1)
        if len(digests) <= FEW_STORED_ROWS:
            places = (np.flatnonzero(self.digests == digest) for digest in digests)
            return np.array([place[-1] if len(place) else -1 for place in places], dtype=np.int64)
        order = np.argsort(self.digests, kind="stable")
        place = np.searchsorted(self.digests, digests, side="right", sorter=order) - 1
        found = order[np.maximum(place, 0)]
        return np.where((place >= 0) & (self.digests[found] == digests), found, -1)


def _grown(array: NDArray[Any], capacity: int, axis: int) -> NDArray[Any]:
    shape = list(array.shape)
    shape[axis] = capacity
    grown = np.zeros(shape, dtype=array.dtype)
    grown[(slice(None),) * axis + (slice(array.shape[axis]),)] = array
    return grown


def digests_of(rows: Float) -> Digests:
    """Compute a 64-bit hash of every row: equal rows have equal ones, different rows practically never."""
    bits = np.ascontiguousarray(np.where(np.isnan(rows), np.nan, rows + 0.0)).view(np.uint64)
    out: Digests = np.empty(len(rows), dtype=np.uint64)
    _mix(bits, out)
    return out


@compiled
def _mix(bits: Digests, out: Digests) -> None:
    for t in range(bits.shape[0]):
        state = np.uint64(0x9E3779B97F4A7C15)
        for c in range(bits.shape[1]):
            # One round of splitmix64 per entry.
            state = (state ^ bits[t, c]) + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
        out[t] = state
