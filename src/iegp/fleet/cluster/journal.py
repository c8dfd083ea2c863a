"""The journal: batches that some shard may have to learn again, one file each, the latest also in memory."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from iegp.errors import InputError, ModelFileError
from iegp.fleet.cluster import batch as batch_file
from iegp.fleet.cluster.batch import Batch
from iegp.fleet.cluster.homes import rows_by_shard
from iegp.storage.model_file import sync_folder
from iegp.typing import Int

_SUFFIX = ".batch"


class Routed(NamedTuple):
    """A batch, and which of its rows go to which shard."""

    batch: Batch
    rows: dict[int, Int]


class Journal:
    """Batches ``oldest`` to ``newest``, without gaps. Files outlive the driver; memory is only there to save reading.

    ``memory`` bounds the bytes of batches kept in memory; ``sync`` forces each file to the disk, so that it survives
    not only the driver but also its machine losing power.
    """

    def __init__(self, folder: Path, n_shards: int, memory: int, sync: bool) -> None:
        self._folder, self._n_shards, self._memory, self._sync = folder, n_shards, memory, sync
        self._kept: dict[int, Routed] = {}
        self._kept_bytes = 0
        numbers = sorted(int(path.stem) for path in folder.glob(f"*{_SUFFIX}") if path.stem.isdigit())
        if numbers and numbers != list(range(numbers[0], numbers[-1] + 1)):
            missing = sorted(set(range(numbers[0], numbers[-1])) - set(numbers))
            raise ModelFileError(f"{folder} lacks batch {missing[0]}, which was accepted; restore it from a copy")
        self.newest = numbers[-1] if numbers else 0
        self.oldest = numbers[0] if numbers else 1

    @property
    def n_rows(self) -> int:
        """Rows of all batches there ever were."""
        if self.newest < self.oldest:
            return 0
        last = self.read(self.newest).batch
        return last.first_row + len(last.keys)

    def append(self, batch: Batch) -> None:
        """The batch counts from here on, whatever happens to driver or shards."""
        path = self._path(batch.number)
        try:
            batch_file.write(path, batch, self._sync)
        except FileExistsError as error:
            raise InputError(
                f"{path} is there already: another driver writes to this folder. End one of the two; "
                "RayFleet.resume continues where both have come to"
            ) from error
        if self._sync:
            sync_folder(self._folder)
        self._keep(Routed(batch, rows_by_shard(batch.keys, self._n_shards)))
        self.newest = batch.number

    def read(self, number: int) -> Routed:
        if number not in self._kept:
            batch = batch_file.read(self._path(number))
            self._keep(Routed(batch, rows_by_shard(batch.keys, self._n_shards)))
        return self._kept[number]

    def forget(self, up_to: int) -> None:
        """Drop batches that are not needed again."""
        while self.oldest <= min(up_to, self.newest):
            self._drop(self.oldest)
            self._path(self.oldest).unlink(missing_ok=True)
            self.oldest += 1

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:012d}{_SUFFIX}"

    def _keep(self, routed: Routed) -> None:
        """Beyond what memory allows, those added first go; the one just added always stays."""
        self._kept[routed.batch.number] = routed
        self._kept_bytes += routed.batch.nbytes
        while self._kept_bytes > self._memory and len(self._kept) > 1:
            self._drop(next(iter(self._kept)))

    def _drop(self, number: int) -> None:
        routed = self._kept.pop(number, None)
        if routed is not None:
            self._kept_bytes -= routed.batch.nbytes
