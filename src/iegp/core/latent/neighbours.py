"""Approximate nearest neighbours among the rows of a stream, independent of how the stream is cut into calls.

A graph (HNSW, by usearch) holds all rows but the last few. Rows enter it in whole blocks, in order; until its block is
full, a row is compared with directly. So what a row finds depends on the rows before it alone, and an index rebuilt
from the same rows in the same order gives the same neighbours later. (The library's own save and restore does not
guarantee that: it restarts its random levels.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from iegp._imports import on_demand
from iegp.core.compute.tolerances import GRAPH_BLOCK, GRAPH_CONNECTIVITY, GRAPH_EXPANSION_ADD, GRAPH_EXPANSION_SEARCH
from iegp.typing import Float, Int

Vectors = NDArray[np.float32]


class Neighbours:
    """Index of rows numbered 0, 1, 2, ... in order of arrival."""

    def __init__(self, n_columns: int) -> None:
        # Imported late: it takes 60 ms, and only latent maps need it.
        self._graph = on_demand("usearch.index").Index(
            ndim=n_columns,
            metric="l2sq",
            dtype="f32",
            connectivity=GRAPH_CONNECTIVITY,
            expansion_add=GRAPH_EXPANSION_ADD,
            expansion_search=GRAPH_EXPANSION_SEARCH,
        )
        self._n_in_graph = 0
        self._waiting: Vectors = np.empty((0, n_columns), dtype=np.float32)

    def __len__(self) -> int:
        return self._n_in_graph + len(self._waiting)

    def __getstate__(self) -> Vectors:
        return self.rows()

    def __setstate__(self, rows: Vectors) -> None:
        """Build a copy from the rows again, so that it continues like the original."""
        Neighbours.__init__(self, rows.shape[1])
        self.add(rows)

    def add(self, rows: Vectors) -> None:
        """Append rows (n, columns)."""
        waiting = np.concatenate([self._waiting, rows])
        n_full = len(waiting) // GRAPH_BLOCK * GRAPH_BLOCK
        if n_full:
            keys = np.arange(self._n_in_graph, self._n_in_graph + n_full, dtype=np.uint64)
            # One thread: with several, the order of insertion and hence the graph would be random.
            self._graph.add(keys, np.ascontiguousarray(waiting[:n_full]), threads=1)
            self._n_in_graph += n_full
        self._waiting = np.ascontiguousarray(waiting[n_full:])

    def nearest(self, rows: Vectors, count: int) -> Int:
        """Return numbers (n, count) of the nearest rows, nearest first; the last is repeated if there are fewer."""
        keys, distances = self._from_graph(rows, count)
        waiting = _square_distances(rows, self._waiting)
        numbers = np.broadcast_to(np.arange(self._n_in_graph, len(self)), waiting.shape)
        return _smallest(np.hstack([keys, numbers]), np.hstack([distances, waiting]), count)

    def nearest_in_order(self, rows: Vectors, count: int) -> Int:
        """Do the same as if each row were added before the next; at most as many rows as still fit into the block."""
        keys, distances = self._from_graph(rows, count)
        n, n_waiting = len(rows), len(self._waiting)
        waiting = _square_distances(rows, np.concatenate([self._waiting, rows]))
        is_later = np.arange(n_waiting + n)[None, :] >= n_waiting + np.arange(n)[:, None]
        waiting[is_later] = np.inf
        numbers = np.broadcast_to(self._n_in_graph + np.arange(n_waiting + n), waiting.shape)
        return _smallest(np.hstack([keys, numbers]), np.hstack([distances, waiting]), count)

    def n_free(self) -> int:
        """Rows that still fit into the block that is being filled."""
        return GRAPH_BLOCK - len(self._waiting)

    def rows(self) -> Vectors:
        """Return all rows, in order."""
        if self._n_in_graph == 0:
            return self._waiting.copy()
        held = np.asarray(self._graph.get(np.arange(self._n_in_graph, dtype=np.uint64)), dtype=np.float32)
        return np.concatenate([held.reshape(self._n_in_graph, -1), self._waiting])

    def rows_at(self, numbers: Int) -> Float:
        """Return the rows (n, columns) with these numbers."""
        rows = np.empty((len(numbers), self._waiting.shape[1]))
        for i, number in enumerate(numbers):
            waiting = int(number) - self._n_in_graph
            rows[i] = self._waiting[waiting] if waiting >= 0 else np.asarray(self._graph.get(int(number))).ravel()
        return rows

    def _from_graph(self, rows: Vectors, count: int) -> tuple[Int, Float]:
        if self._n_in_graph == 0:
            return np.empty((len(rows), 0), dtype=np.int64), np.empty((len(rows), 0))
        count = min(count, self._n_in_graph)
        found = self._graph.search(np.ascontiguousarray(rows), count, threads=1)
        keys = np.asarray(found.keys).reshape(len(rows), count)
        # Compiled code reads at these indices: even if fewer rows are found than requested, all must be valid.
        keys = np.minimum(keys, np.uint64(self._n_in_graph - 1))
        return keys.astype(np.int64), np.asarray(found.distances, dtype=np.float64).reshape(len(rows), count)


def _square_distances(a: Vectors, b: Vectors) -> Float:
    x, y = a.astype(np.float64), b.astype(np.float64)
    product = x @ y.T
    distances: Float = np.maximum(np.sum(x**2, axis=1)[:, None] - 2.0 * product + np.sum(y**2, axis=1)[None, :], 0.0)
    return distances


def _smallest(numbers: Int, distances: Float, count: int) -> Int:
    order = np.argsort(distances, axis=1, kind="stable")[:, :count]
    nearest = np.take_along_axis(numbers, order, axis=1)
    # Rows that are not stored yet have infinite distance: repeat the last stored one.
    is_missing = ~np.isfinite(np.take_along_axis(distances, order, axis=1))
    for column in range(1, nearest.shape[1]):
        nearest[:, column] = np.where(is_missing[:, column], nearest[:, column - 1], nearest[:, column])
    if nearest.shape[1] < count:
        nearest = np.hstack([nearest, np.repeat(nearest[:, -1:], count - nearest.shape[1], axis=1)])
    return np.ascontiguousarray(nearest)
