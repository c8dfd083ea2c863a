"""Fleets cut by key and put together again, to the bit."""

from __future__ import annotations

from collections.abc import Sequence

from iegp.fleet.cluster.homes import shard_of
from iegp.fleet.fleet import Fleet


def cut(fleet: Fleet, n_parts: int) -> list[Fleet]:
    """One fleet per shard, each with the keys assigned to it."""
    homes = [shard_of(key, n_parts) for key in fleet.keys]
    parts = []
    for part in range(n_parts):
        piece = fleet.empty_copy()
        piece.copy_keys(fleet, [key for key, home in zip(fleet.keys, homes, strict=True) if home == part])
        parts.append(piece)
    return parts


def joined(fleets: Sequence[Fleet]) -> Fleet:
    """All keys of fleets that have the same template and no key in common."""
    whole = fleets[0].empty_copy()
    for fleet in fleets:
        whole.copy_keys(fleet, fleet.keys)
    return whole
