"""Rows of many keys, sorted so that each key's rows lie together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iegp.typing import Int


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
