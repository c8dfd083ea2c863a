"""Merge the states of many parts in pairs, in an order that depends on their numbers alone."""

from __future__ import annotations

from iegp.core.editing.merge import merged_states
from iegp.core.ensemble import start
from iegp.core.state import Ensemble, State


class MergeTree:
    """Merges states of parts 0, 1, 2, ... that come in any order; neighbours are merged as soon as both are there.

    At most one state per level and gap is kept: with parts that come nearly in order, about log2(parts) states.
    """

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble
        self._origin = start(ensemble)
        self._waiting: dict[tuple[int, int], State] = {}

    def add(self, number: int, state: State) -> None:
        """Add the state of one part."""
        level = 0
        while (level, number ^ 1) in self._waiting:
            other = self._waiting.pop((level, number ^ 1))
            pair = (other, state) if number & 1 else (state, other)
            state = merged_states(self._ensemble, *pair, self._origin)
            level, number = level + 1, number >> 1
        self._waiting[level, number] = state

    def total(self) -> State:
        """Merge all states; return the state before any row if there are none."""
        total: State | None = None
        for _, state in sorted(self._waiting.items(), key=lambda item: item[0][0]):
            total = state if total is None else merged_states(self._ensemble, state, total, self._origin)
        return self._origin if total is None else total
