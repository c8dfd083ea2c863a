"""Memory of the states of a fleet on the device: pages that are never moved, each twice as large as the one before."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch

from iegp.core.state import State
from iegp.fleet.pytorch.experts import DeviceExperts, DeviceState, to_device, to_host
from iegp.typing import Int

FIRST_PAGE_KEYS = 64
PAGE_BYTES = 4 * 2**30


class DevicePages:
    """States of keys numbered 0, 1, ...; each starts as a copy of ``start``."""

    def __init__(self, experts: DeviceExperts, start: State) -> None:
        self._experts = experts
        self.start = to_device(experts, State(*(array[None] for array in start)))
        self.bytes_per_key = sum(tensor.numel() * tensor.element_size() for tensor in self.start)
        self.pages: list[DeviceState] = []
        self.starts: Int = np.zeros(0, dtype=np.int64)
        self.n_keys = 0
        self._capacity = 0

    def grow(self, n_more: int) -> None:
        """Allocate states for more keys, each a copy of the first state."""
        wanted = self.n_keys + n_more
        most = max(1, PAGE_BYTES // self.bytes_per_key)
        while self._capacity < wanted:
            # Twice as many as needed, so that a fleet that grows key by key has few pages.
            size = int(min(max(wanted - self._capacity, self._capacity, FIRST_PAGE_KEYS), most))
            page = DeviceState(*(t.new_empty((size, *t.shape[1:])) for t in self.start))
            self.pages.append(page)
            self.starts = np.append(self.starts, self._capacity)
            self._capacity += size
        for page, start in zip(self.pages, self.starts.tolist(), strict=True):
            a, b = max(self.n_keys - start, 0), max(min(wanted - start, len(page.rows)), 0)
            if a < b:
                for tensor, first in zip(page, self.start, strict=True):
                    tensor[a:b] = first
        self.n_keys = wanted

    def page_of(self, slot: int) -> tuple[int, int]:
        """Page, and place in it."""
        page = int(np.searchsorted(self.starts, slot, side="right")) - 1
        return page, slot - int(self.starts[page])

    def host(self, first: int, last: int) -> State:
        """States of slots ``first`` to ``last`` of one page as the CPU keeps them, in float64."""
        page, a = self.page_of(first)
        return to_host(self._experts, DeviceState(*(tensor[a : a + last - first] for tensor in self.pages[page])))

    def fill(self, first: int, states: State) -> None:
        """Write states as the CPU keeps them, of slots of one page."""
        page, a = self.page_of(first)
        for tensor, part in zip(self.pages[page], to_device(self._experts, states), strict=True):
            tensor[a : a + len(part)] = part

    def pieces(self, most_keys: int) -> list[tuple[int, int]]:
        """Ranges of slots, each of at most ``most_keys`` keys of one page."""
        edges = {0, self.n_keys, *range(0, self.n_keys, most_keys), *self.starts.tolist()}
        bounds = sorted(edge for edge in edges if edge <= self.n_keys)
        return list(pairwise(bounds))

    def field(self, name: str) -> torch.Tensor:
        """One of the small fields, of all keys."""
        parts = [getattr(page, name) for page in self.pages] or [getattr(self.start, name)[:0]]
        return torch.cat(parts)[: self.n_keys]
