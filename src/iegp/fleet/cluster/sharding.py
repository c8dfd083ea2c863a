"""Keys over shards: which shard holds a key, fleets cut and joined by key, and another number of shards.

The shard of a key is a digest of it, the same in every process and on every machine.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from iegp.fleet.checks import Key
from iegp.fleet.cluster import checkpoint
from iegp.fleet.cluster.checkpoint import Checkpoint
from iegp.fleet.fleet import Fleet
from iegp.typing import Int


def shard_of(key: Key, n_shards: int) -> int:
    """Python's own hash of text changes from process to process; this one never does. 1 and "1" are different keys."""
    kind = "int" if isinstance(key, int) else "str"
    digest = blake2b(f"{kind} {key}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % n_shards


def rows_by_shard(keys: list[Key], n_shards: int) -> dict[int, Int]:
    """Row numbers of each shard that has any, in their order."""
    home = {key: shard_of(key, n_shards) for key in dict.fromkeys(keys)}
    shards = np.fromiter((home[key] for key in keys), dtype=np.int64, count=len(keys))
    return {int(shard): np.flatnonzero(shards == shard) for shard in np.unique(shards)}


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


def reshard(ray: Any, old: Path, n_old: int, new: Path, n_new: int, applied: int, cpus: float) -> None:
    """Cut every old shard into pieces, one per new shard, then join every new shard from its pieces.

    Nothing of the old generation is changed, so a failure leaves it as it was.
    """
    pieces = new / "pieces"
    shutil.rmtree(new, ignore_errors=True)
    pieces.mkdir(parents=True)
    cutting, joining = ray.remote(num_cpus=cpus)(_cut_one), ray.remote(num_cpus=cpus)(_join_one)
    ray.get([cutting.remote(old, shard, pieces, n_new) for shard in range(n_old)])
    ray.get([joining.remote(pieces, n_old, new, shard, applied) for shard in range(n_new)])
    shutil.rmtree(pieces)


def _cut_one(old: Path, shard: int, pieces: Path, n_new: int) -> None:
    for part, piece in enumerate(cut(checkpoint.load(old, shard).fleet, n_new)):
        piece.save(pieces / f"{shard}-{part}")


def _join_one(pieces: Path, n_old: int, new: Path, shard: int, applied: int) -> None:
    fleet = joined([Fleet.load(pieces / f"{part}-{shard}") for part in range(n_old)])
    checkpoint.save(new, shard, Checkpoint(fleet, applied, {}))
