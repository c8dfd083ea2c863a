"""Another number of shards: keys of a checkpointed fleet are dealt out anew, by tasks that Ray places and retries."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from iegp.fleet.cluster import checkpoint
from iegp.fleet.cluster.checkpoint import Checkpoint
from iegp.fleet.cluster.parts import cut, joined
from iegp.fleet.fleet import Fleet


def rehash(ray: Any, old: Path, n_old: int, new: Path, n_new: int, applied: int, cpus: float) -> None:
    """Every old shard is cut into pieces, one per new shard; every new shard is joined from its pieces.

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
