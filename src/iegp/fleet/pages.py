"""Memory of the states of a fleet: stacked in pages of a fixed number of keys.

A page that is full is never moved, so a fleet grows without copying, and what is allocated beyond the keys there are is
less than a page (and untouched, so the system has not even provided it).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from iegp.core.state import State
from iegp.typing import Int

# Small enough for its end to be no waste, large enough for one compiled call to do a good piece of work.
PAGE_BYTES = 32 * 2**20
MOST_KEYS = 4096

# What is stored in the precision that was asked for; the rest is small and stays float64.
BELIEFS = ("matrix", "vector")


class Pages:
    """States of keys numbered 0, 1, ...; each starts as a copy of ``start``."""

    def __init__(self, start: State, dtype: DTypeLike) -> None:
        self._start = start
        self._types = [np.dtype(dtype) if name in BELIEFS else np.dtype(np.float64) for name in State._fields]
        self.bytes_per_key = sum(a.size * t.itemsize for a, t in zip(start, self._types, strict=True))
        self.keys_per_page = int(np.clip(PAGE_BYTES // self.bytes_per_key, 1, MOST_KEYS))
        self.pages: list[State] = []
        self.n_keys = 0

    def grow(self, n_more: int) -> None:
        """Allocate states for more keys, each a copy of the first state."""
        wanted = self.n_keys + n_more
        fresh: list[State] = []
        while (len(self.pages) + len(fresh)) * self.keys_per_page < wanted:
            fresh.append(self._empty())
        # Only now, with all memory at hand, is anything changed.
        self.pages += fresh
        for number in range(self.n_keys // self.keys_per_page, len(self.pages)):
            first = number * self.keys_per_page
            new = slice(max(self.n_keys - first, 0), min(wanted - first, self.keys_per_page))
            for array, start in zip(self.pages[number], self._start, strict=True):
                array[new] = start
        self.n_keys = wanted

    def _empty(self) -> State:
        shapes = ((self.keys_per_page, *array.shape) for array in self._start)
        return State(*(np.empty(shape, dtype) for shape, dtype in zip(shapes, self._types, strict=True)))

    def place(self, slots: Int) -> tuple[Int, Int]:
        """Page, and place in the page, of each slot."""
        return slots // self.keys_per_page, slots % self.keys_per_page

    def state(self, slot: int) -> State:
        """A copy, in float64."""
        page, place = divmod(slot, self.keys_per_page)
        return State(*(array[place].astype(np.float64) for array in self.pages[page]))

    def filled(self, number: int) -> State:
        """The part of a page that holds keys."""
        n = min(self.n_keys - number * self.keys_per_page, self.keys_per_page)
        return State(*(array[:n] for array in self.pages[number]))

    def take(self, slots: Int) -> State:
        """Copy the states of some slots, as they are stored."""
        pages, places = self.place(slots)
        states = State(*(np.empty((len(slots), *a.shape), t) for a, t in zip(self._start, self._types, strict=True)))
        for page in np.unique(pages):
            chosen = pages == page
            for to, array in zip(states, self.pages[page], strict=True):
                to[chosen] = array[places[chosen]]
        return states

    def put(self, slots: Int, states: State) -> None:
        """Write the states of some slots."""
        pages, places = self.place(slots)
        for page in np.unique(pages):
            chosen = pages == page
            for array, part in zip(self.pages[page], states, strict=True):
                array[places[chosen]] = part[chosen]
