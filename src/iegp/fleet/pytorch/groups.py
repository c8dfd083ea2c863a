"""Which rows of a call are worked on together: keys with about as many rows, each key's rows in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from iegp.core.compute.tolerances import FLEET_BLOCK_ROWS
from iegp.typing import Int


class Group(NamedTuple):
    """Keys of one page whose numbers of rows differ by less than a factor of two."""

    page: int
    places: Int
    """(k,): places in the page, ascending."""
    rows: Int
    """(k, r): which rows of the call; beyond a key's own rows, any row."""
    counts: Int
    """(k,): how many of them are the key's."""


def grouped(slots: Int, page_starts: Int, rows_at_once: int) -> Iterator[Group]:
    """Rows of a call by ``slots`` (n,), their keys' numbers; ``page_starts`` are the first slots of the pages.

    A key with more than ``FLEET_BLOCK_ROWS`` rows is in several groups, which come in the order of its rows. A group
    has about ``rows_at_once`` rows at most, which bounds the memory that working on it takes.
    """
    order = np.argsort(slots, kind="stable")
    ordered = slots[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(slots) else np.empty(0, dtype=np.int64)
    keys, totals = ordered[starts], np.diff(np.append(starts, len(slots)))
    while len(keys):
        counts = np.minimum(totals, FLEET_BLOCK_ROWS)
        pages = np.searchsorted(page_starts, keys, side="right") - 1
        # 1, 2, 3 to 4, 5 to 8, ...: padding to the longest costs less than twice the work.
        sizes = np.ceil(np.log2(counts)).astype(np.int64)
        for page, size in np.unique(np.stack([pages, sizes]), axis=1).T:
            chosen = np.flatnonzero((pages == page) & (sizes == size))
            keys_at_once = max(1, rows_at_once >> int(size))
            for part in np.split(chosen, range(keys_at_once, len(chosen), keys_at_once)):
                places = starts[part, None] + np.arange(counts[part].max())
                rows = order[np.minimum(places, len(slots) - 1)]
                yield Group(int(page), keys[part] - page_starts[page], rows, counts[part])
        left = totals > FLEET_BLOCK_ROWS
        keys, starts, totals = keys[left], starts[left] + FLEET_BLOCK_ROWS, totals[left] - FLEET_BLOCK_ROWS
