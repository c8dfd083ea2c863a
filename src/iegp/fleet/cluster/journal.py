"""The journal: batches that some shard may have to learn again, one file each, the latest also in memory."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from iegp.errors import InputError, ModelFileError
from iegp.fleet.checks import Key
from iegp.fleet.cluster.sharding import rows_by_shard
from iegp.storage.model_file import sync_folder
from iegp.typing import Float, Int

_SUFFIX, _HEADER = ".batch", "iegp-batch"
_ADVICE = "if it is the last of the journal, delete it, resume, and send its rows again"


class Batch(NamedTuple):
    """Checked rows, in the units of the caller."""

    number: int
    """1, 2, ...: its place in the order in which all shards learn."""
    first_row: int
    """How many rows came before it, since the fleet began."""
    keys: list[Key]
    X: Float
    y: Float
    level: float | None

    @property
    def nbytes(self) -> int:
        """Roughly, keys included."""
        return self.X.nbytes + self.y.nbytes + 64 * len(self.keys)


def write_batch(path: Path, batch: Batch, sync: bool) -> None:
    """Appears at ``path`` complete, or not at all; FileExistsError where something is there already."""
    text = json.dumps([batch.number, batch.first_row, batch.level, batch.keys])
    header = json.dumps({"batch": text, "checksum": _checksum(text, batch.X, batch.y)})
    content = to_bytes({"X": batch.X, "y": batch.y}, metadata={_HEADER: header})
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        # Unlike a rename, a link refuses to replace: two drivers cannot both write batch 7.
        os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read_batch(path: Path) -> Batch:
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            header = json.loads((file.metadata() or {})[_HEADER])
            X, y = (np.array(file.get_tensor(name)) for name in ("X", "y"))
        number, first_row, level, keys = json.loads(header["batch"])
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        raise ModelFileError(f"{path} is damaged or not a batch ({error!r}); {_ADVICE}") from error
    if header["checksum"] != _checksum(header["batch"], X, y):
        raise ModelFileError(f"{path} is damaged: its rows do not match their checksum; {_ADVICE}")
    return Batch(number, first_row, keys, X, y, level)


def _checksum(text: str, *arrays: Float) -> int:
    total = zlib.crc32(text.encode())
    for array in arrays:
        total = zlib.crc32(np.ascontiguousarray(array).data, total)
    return total


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
            write_batch(path, batch, self._sync)
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
            batch = read_batch(self._path(number))
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
