"""One shard: a fleet that learns numbered batches strictly in order. It runs as a Ray actor."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

from iegp._imports import optional
from iegp._processes import actor_environment, copy_cache
from iegp.fleet.checks import Key
from iegp.fleet.cluster import checkpoint
from iegp.fleet.cluster.checkpoint import Answer, Checkpoint
from iegp.fleet.run import FleetRun
from iegp.typing import Float

ROW_FIELDS = ("mean", "std", "lower", "upper", "log_score", "weights")
MIXTURE_FIELDS = ("weights", "loc", "scale", "dof")


class Gap(NamedTuple):
    """Instead of an answer: batches before this one are missing here, because the shard came back from a checkpoint."""

    applied: int
    """The last batch that the shard has learned; everything after it must be sent again."""


def answer_of(run: FleetRun) -> Answer:
    return {name: getattr(run, name) for name in ROW_FIELDS if getattr(run, name) is not None}


class Shard:
    """``window`` is how many of the last answers are kept for a driver that may not have received them."""

    def __init__(self, folder: str, number: int, window: int, filled_cache: str | None) -> None:
        copy_cache(filled_cache)
        self._folder, self._number, self._window = Path(folder), number, window
        self._restore()

    def _restore(self) -> None:
        self._fleet, self._applied, self._answers = checkpoint.load(self._folder, self._number)
        self._saved = self._applied

    def position(self) -> int:
        """The last batch learned."""
        return self._applied

    def learn(
        self, number: int, previous: int, keys: list[Key], X: Float, y: Float, level: float | None
    ) -> Answer | Gap | None:
        """Learn batch ``number``, if it has not been learned; ``previous`` is the one before it that had rows for us.

        A batch that comes again gets the answer it had; ``None`` if it is too old to be needed.
        """
        if number <= self._applied:
            return self._answers.get(number)
        if previous != self._applied:
            return Gap(self._applied)
        try:
            run = self._fleet.learn(keys, X, y, level)
        except BaseException:
            # Some keys may have learned their rows and others not: restore the last good state, then raise.
            self._restore()
            raise
        answer = answer_of(run)
        self._applied = number
        self._answers[number] = answer
        self._answers = {n: kept for n, kept in self._answers.items() if n > number - self._window}
        return answer

    def predict(self, after: int, keys: list[Key], X: Float) -> tuple[Float, ...] | Gap:
        """Fields of the predictive mixture, by a state that has learned at least batch ``after``."""
        if self._applied < after:
            return Gap(self._applied)
        dist = self._fleet.predict_dist(keys, X)
        return tuple(getattr(dist, name) for name in MIXTURE_FIELDS)

    def read_attribute(self, after: int, name: str) -> Any:
        """An attribute of the fleet."""
        return Gap(self._applied) if self._applied < after else getattr(self._fleet, name)

    def checkpoint(self, after: int = 0) -> int | Gap:
        """Store state and position, if there is news; the last batch that is stored."""
        if self._applied < after:
            return Gap(self._applied)
        if self._applied > self._saved:
            checkpoint.save(self._folder, self._number, Checkpoint(self._fleet, self._applied, self._answers))
            self._saved = self._applied
        return self._saved


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
