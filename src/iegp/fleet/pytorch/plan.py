"""Plan of a call: how rows reach the states of their keys. Made once, and kept for calls with the same keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from iegp.core.compute.tolerances import FLEET_BLOCK_ROWS
from iegp.fleet.checks import Key, check_keys
from iegp.fleet.pytorch.experts import DeviceState
from iegp.fleet.pytorch.rows import DevicePredictions
from iegp.fleet.routing import sorted_by_key
from iegp.typing import Int

# Calls before one is recorded: kernels are compiled in the first, and keys that come only twice are not worth it.
CALLS_BEFORE = 2


class Group(NamedTuple):
    """Keys of one page with numbers of rows that differ by less than a factor of two."""

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
    order, keys, edges = sorted_by_key(slots)
    starts, totals = edges[:-1], np.diff(edges)
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


class Step(NamedTuple):
    """A group of keys, with what the device needs to know of it."""

    page: int
    slots: Int
    """(k,): the keys' numbers."""
    places: slice | Tensor
    """Where their states lie in the page; neighbours are worked on in place."""
    shape: tuple[int, int]
    """Keys, rows per key."""
    rows: Tensor | None
    """(k * r,): which rows of the call; ``None`` if they are all of them, in order."""
    counts: Tensor | None
    """(k,): how many rows are the key's own; ``None`` if all are."""
    real: Tensor | None
    """Which of the k * r rows are no padding, and ``targets``: which rows of the call these are."""
    targets: Tensor | None

    def take(self, values: Tensor) -> Tensor:
        """Values of the rows of the call (n, ...) as (k, r, ...)."""
        chosen = values if self.rows is None else values.index_select(0, self.rows)
        return chosen.view(*self.shape, *values.shape[1:])

    def put(self, whole: Tensor, values: Tensor) -> None:
        """The inverse: (k, r, ...) into (n, ...)."""
        flat = values.reshape(-1, *values.shape[2:])
        if self.real is not None:
            flat = flat.index_select(0, self.real)
        if self.targets is None:
            whole.copy_(flat)
        else:
            whole.index_copy_(0, self.targets, flat)

    def states(self, pages: list[DeviceState]) -> DeviceState:
        """The keys' states: the page's own memory, or a copy that :meth:`store` writes back."""
        page = pages[self.page]
        if isinstance(self.places, slice):
            return DeviceState(*(tensor[self.places] for tensor in page))
        return DeviceState(*(tensor.index_select(0, self.places) for tensor in page))

    def store(self, pages: list[DeviceState], states: DeviceState) -> None:
        if not isinstance(self.places, slice):
            for tensor, part in zip(pages[self.page], states, strict=True):
                tensor.index_copy_(0, self.places, part)


class Recording:
    """One call, ready to be made again with other rows of the same shape, on the same states.

    A row per key is little work for a GPU: launching some sixty kernels takes longer than running them. Where the same
    keys come call after call, the kernels of one call are recorded (a CUDA graph), and every later call copies its rows
    in and launches them all at once.
    """

    def __init__(self, call: Callable[[Tensor, Tensor], DevicePredictions], x: Tensor, y: Tensor) -> None:
        self._x, self._y = x.clone(), y.clone()
        self._graph = torch.cuda.CUDAGraph()
        # A stream of this device: PyTorch's own for recordings belongs to the device that recorded first. Other threads
        # of the process may use the device meanwhile. Nothing runs, and no state changes, until replay.
        stream = torch.cuda.Stream(x.device)
        with torch.cuda.graph(self._graph, stream=stream, capture_error_mode="thread_local"):
            self._run = call(self._x, self._y)

    def __call__(self, x: Tensor, y: Tensor) -> DevicePredictions:
        self._x.copy_(x)
        self._y.copy_(y)
        self._graph.replay()
        # The next call writes to the same memory.
        return DevicePredictions(*(tensor.clone() for tensor in self._run))


@dataclass
class Plan:
    """The steps of a call, and the call itself if it was recorded."""

    steps: list[Step]
    n_calls: int = 0
    recording: Recording | None = None

    @property
    def has_single_rows(self) -> bool:
        """Whether no key has two rows: then nothing that is done depends on values, so that it can be recorded."""
        return all(step.shape[1] == 1 for step in self.steps)

    def __getstate__(self) -> dict[str, Any]:
        """For copies: a recording works on the states of the fleet it was made with."""
        return {"steps": self.steps, "n_calls": 0, "recording": None}


def plan(slots: Int, page_starts: Int, rows_at_once: int, device: torch.device) -> Plan:
    """Make the steps for rows of keys numbered ``slots``."""
    groups = grouped(slots, page_starts, rows_at_once)
    return Plan([_step(group, page_starts, len(slots), device) for group in groups])


def _step(group: Group, page_starts: Int, n_rows: int, device: torch.device) -> Step:
    k, r = group.rows.shape
    first, last = int(group.places[0]), int(group.places[-1])
    are_neighbours = last - first + 1 == k
    flat = group.rows.ravel()
    is_everything = k * r == n_rows and bool((flat == np.arange(n_rows)).all())
    is_padded = bool((group.counts < r).any())
    real = np.flatnonzero((np.arange(r) < group.counts[:, None]).ravel())

    def tensor(array: Int) -> Tensor:
        return torch.tensor(array, device=device)

    return Step(
        page=group.page,
        slots=group.places + page_starts[group.page],
        places=slice(first, last + 1) if are_neighbours else tensor(group.places),
        shape=(k, r),
        rows=None if is_everything and not is_padded else tensor(flat),
        counts=tensor(group.counts) if is_padded else None,
        real=tensor(real) if is_padded else None,
        targets=None if is_everything and not is_padded else tensor(flat[real]),
    )


class Named(NamedTuple):
    """The distinct keys of a call in order of appearance, and which of them each row has."""

    names: list[Key]
    which: Int


def distinct(keys: Any, n_rows: int) -> Named:
    """Text and whole numbers in arrays are distinguished by NumPy, everything else key by key."""
    if _is_plain(keys):
        if keys.shape != (n_rows,):
            check_keys(keys, n_rows)
        values, first, which = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return Named(check_keys(values[order]), rank[which])
    if _is_single(keys) and n_rows:
        return Named(check_keys([keys]), np.zeros(n_rows, dtype=np.int64))
    names = check_keys(keys, n_rows)
    numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return Named(list(numbers), np.array([numbers[name] for name in names], dtype=np.int64))


def are_same(keys: Any, before: Any) -> bool:
    """Whether two calls were given the same array of keys; quick, and never wrong by saying yes."""
    if not _is_plain(keys) or not isinstance(before, np.ndarray):
        return False
    return keys.dtype == before.dtype and keys.shape == before.shape and bool((keys == before).all())


def as_objects(keys: Any, n_rows: int) -> Any:
    """Keys of all rows as a :class:`FleetRun` has them."""
    if _is_plain(keys):
        return keys.astype(object)
    names = np.empty(n_rows, dtype=object)
    names[:] = check_keys([keys])[0] if _is_single(keys) else check_keys(keys, n_rows)
    return names


def _is_single(keys: Any) -> bool:
    """Whether one key stands for all rows."""
    return isinstance(keys, str | int | np.integer)


def _is_plain(keys: Any) -> bool:
    """Whether all keys are surely text or whole numbers, one per row."""
    return isinstance(keys, np.ndarray) and keys.dtype.kind in "iuU" and keys.ndim == 1
