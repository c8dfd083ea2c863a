"""What we ask of Ray: actors that it restarts, places and retries."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from iegp._imports import optional
from iegp._processes import actor_environment
from iegp.fleet.cluster.shard import Shard


def need_ray() -> Any:
    """Ray, or a message that says how to get it."""
    return optional("ray", "RayFleet (unlike iegp.Fleet, which runs on one machine)")


def start_shards(
    folder: Path, states: Path, n_shards: int, window: int, cpus: float, filled_cache: str | None
) -> list[Any]:
    """One actor per shard. Ray restarts them for ever, on any living node, and repeats calls that were cut off."""
    ray = need_ray()
    if not ray.is_initialized():
        ray.init()
    there = ray.cluster_resources().get("CPU", 0.0)
    if there < n_shards * cpus:
        warnings.warn(
            f"{n_shards} shards of {cpus:g} CPUs need {n_shards * cpus:g}, but the cluster has {there:g}: some shards "
            "wait until nodes are added. Use fewer shards, or a smaller cpus_per_shard",
            stacklevel=4,
        )
    actor = ray.remote(max_restarts=-1, max_task_retries=-1, num_cpus=cpus, scheduling_strategy="SPREAD")(Shard)
    return [
        actor.options(runtime_env={"env_vars": actor_environment(folder, shard)}).remote(
            str(states), shard, window, filled_cache
        )
        for shard in range(n_shards)
    ]
