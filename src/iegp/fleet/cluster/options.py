"""Options of a fleet on a cluster; none of them changes its predictions."""

from __future__ import annotations

import os
from dataclasses import dataclass

from iegp.core.settings import check_whole
from iegp.errors import InputError


@dataclass(frozen=True)
class RayOptions:
    """Options of a :class:`RayFleet`; none of them changes its predictions.

    Parameters
    ----------
    checkpoint_every : int, default=100
        Each shard is stored about once in so many batches; a restarted shard may have to learn as many again.
    max_in_flight : int, default=8
        Largest number of pending batches; ``submit`` waits when it is reached.
    cpus_per_shard : float, default=1
        CPUs that Ray reserves for a shard; 0.5 lets two share a core.
    log_memory : int, default=2**28
        Bytes of recent batches that are kept in memory for restarted shards; others are read from the journal.
    sync_journal : bool, default=False
        Whether each batch is forced to the disk, so that it survives a power cut of the driver's machine, too.
    filled_cache : path, optional
        A folder of compiled code (``NUMBA_CACHE_DIR`` of an earlier run) that all machines can access. Workers copy it
        instead of compiling, which takes up to a minute. By default that of this process, if it has one.
    """

    checkpoint_every: int = 100
    max_in_flight: int = 8
    cpus_per_shard: float = 1.0
    log_memory: int = 2**28
    sync_journal: bool = False
    filled_cache: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        for name in ("checkpoint_every", "max_in_flight", "log_memory"):
            check_whole(name, getattr(self, name), 1)
        if not self.cpus_per_shard > 0:
            raise InputError(f"cpus_per_shard={self.cpus_per_shard!r} must be positive, such as 1 or 0.5")
