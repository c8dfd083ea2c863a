"""Batches: the rows of one call, numbered, and as files."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from iegp.errors import ModelFileError
from iegp.fleet.checks import Key
from iegp.typing import Float

_HEADER = "iegp-batch"


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


def write(path: Path, batch: Batch, sync: bool) -> None:
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


def read(path: Path) -> Batch:
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


_ADVICE = "if it is the last of the journal, delete it, resume, and send its rows again"


def _checksum(text: str, *arrays: Float) -> int:
    total = zlib.crc32(text.encode())
    for array in arrays:
        total = zlib.crc32(np.ascontiguousarray(array).data, total)
    return total
