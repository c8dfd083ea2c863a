"""Fleets cut by key and put together again, to the bit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iegp.fleet.checks import Key
from iegp.fleet.cluster.homes import shard_of
from iegp.fleet.fleet import Fleet
from iegp.typing import Int


def cut(fleet: Fleet, n_parts: int) -> list[Fleet]:
    """One fleet per shard, each with the keys that live there."""
    homes = [shard_of(key, n_parts) for key in fleet.keys]
    parts = []
    for part in range(n_parts):
        piece = empty_like(fleet)
        _copy(fleet, piece, [key for key, home in zip(fleet.keys, homes, strict=True) if home == part])
        parts.append(piece)
    return parts


def joined(fleets: Sequence[Fleet]) -> Fleet:
    """All keys of fleets that have the same template and no key in common."""
    whole = empty_like(fleets[0])
    for fleet in fleets:
        _copy(fleet, whole, fleet.keys)
    return whole


def empty_like(fleet: Fleet) -> Fleet:
    """A fleet with the same template and no keys."""
    empty = Fleet.__new__(Fleet)
    empty.n_jobs = fleet.n_jobs
    empty._begin(fleet._model, fleet.single_output, fleet.feature_names, fleet.dtype)
    return empty


def _copy(source: Fleet, target: Fleet, keys: list[Key]) -> None:
    """States as they are stored, page by page of the target."""
    if not keys:
        return
    slots = np.array([source._slot_of[key] for key in keys], dtype=np.int64)
    places = target._add(keys)
    pages, within = target._pages.place(places)
    for page in np.unique(pages):
        chosen = pages == page
        _copy_page(source, slots[chosen], target, int(page), within[chosen])


def _copy_page(source: Fleet, slots: Int, target: Fleet, page: int, within: Int) -> None:
    pages, places = source._pages.place(slots)
    for number in np.unique(pages):
        chosen = pages == number
        for to, start in zip(target._pages.pages[page], source._pages.pages[number], strict=True):
            to[within[chosen]] = start[places[chosen]]
