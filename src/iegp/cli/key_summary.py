"""Models by key in words: how many there are, how large, and which keys are busiest."""

from __future__ import annotations

from typing import Any

from iegp.fleet.fleet import Fleet
from iegp.fleet.keyed_learner import KeyedLearner
from iegp.stream.job import Job

_SHOWN = 10
# Of one key's model with --model light, however many columns there are; a test compares it.
LIGHT_BYTES = 971_000


def fleet_of(job: Job) -> Fleet | None:
    """The models by key, if there are any yet."""
    return job.learner.fleet if isinstance(job.learner, KeyedLearner) else None


def size_of(fleet: Fleet) -> str:
    """Of one key's model, which is both in memory and in the checkpoint."""
    return _mebibytes(fleet.bytes_per_key)


def start(fleet: Fleet) -> str:
    """What is said when each key gets its own model: how much memory that takes, and how to take less."""
    size, many = fleet.bytes_per_key, _short(1000 * fleet.bytes_per_key / 2**30)
    words = f"From here on one model per key: {size_of(fleet)} per key, 1,000 keys take {many} GiB"
    return words if size < 2 * LIGHT_BYTES else f"{words}; --model light takes {_mebibytes(LIGHT_BYTES)} per key"


def note(job: Job) -> list[tuple[str, str]]:
    """One line about the keys for a summary; none if all rows have one model."""
    learner, seen = job.learner, job.digest.keys
    if not isinstance(learner, KeyedLearner) or seen is None:
        return []
    if learner.fleet is None:
        words = f"all {_keys(len(seen))} share one still; each gets its own after {learner.rows_to_share:,} more labels"
    else:
        size, shared = size_of(learner.fleet), f"{learner.model.n_seen:,} rows that all shared"
        words = f"{_keys(len(learner.fleet))} of {size} each, started from {shared}"
    return [("Models by key", words)]


def facts(job: Job) -> dict[str, Any]:
    """The same for `iegp inspect`, as numbers."""
    if job.plan.key is None:
        return {}
    fleet, seen = fleet_of(job), job.digest.keys
    found: dict[str, Any] = {"key": job.plan.key, "keys seen": 0 if seen is None else len(seen)}
    if fleet is not None:
        found |= {"models": len(fleet), "bytes per key": fleet.bytes_per_key}
    busiest = [] if seen is None else seen.busiest(_SHOWN)
    return found | {"busiest keys, rows": {entry.key: entry.rows for entry in busiest}}


def _mebibytes(size: int) -> str:
    return f"{_short(size / 2**20)} MiB"


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 10.0 else f"{number:.2g}"


def _keys(n: int) -> str:
    return f"{n:,} key{'' if n == 1 else 's'}"
