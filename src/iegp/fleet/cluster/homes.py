"""The shard of a key: a digest of the key, the same in every process and on every machine."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from iegp.fleet.checks import Key
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
