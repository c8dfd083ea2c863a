"""Checkpoints of a shard: its fleet, the number of the last batch it learned, and its last answers.

The number is part of the fleet file's name, and the file appears by an atomic rename, so state and position always
belong together. A shard that was replaced and still runs does no harm: batches are learned in order, so what it writes
under a number is what its successor would write.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from iegp.errors import ModelFileError
from iegp.fleet.fleet import Fleet
from iegp.storage import model_file as modelfile
from iegp.storage.schema import Field, check_arrays, count
from iegp.typing import Arrays, Float

Answer = dict[str, Float]
"""Fields of a :class:`FleetRun` for the rows of one shard; intervals only where they were asked for."""

_FLEET, _ANSWERS = ".fleet", ".answers"
# Seconds; NFS may show a folder as it was a minute ago.
_PATIENCE = 70.0


class Checkpoint(NamedTuple):
    fleet: Fleet
    applied: int
    answers: dict[int, Answer]


def save(folder: Path, shard: int, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, then remove older ones of this shard."""
    stem = f"{shard:05d}.{checkpoint.applied:012d}"
    arrays: Arrays = {f"{n}.{name}": a for n, answer in checkpoint.answers.items() for name, a in answer.items()}
    header: dict[str, Any] = {"answers": sorted(checkpoint.answers)}
    modelfile.write(folder / f"{stem}{_ANSWERS}", header, arrays)
    # Last, because it is this file that makes the checkpoint count.
    checkpoint.fleet.save(folder / f"{stem}{_FLEET}")
    for path in folder.glob(f"{shard:05d}.*"):
        if path.suffix in (_FLEET, _ANSWERS) and _applied(path) < checkpoint.applied:
            path.unlink(missing_ok=True)


def load(folder: Path, shard: int) -> Checkpoint:
    """The latest checkpoint of a shard."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            path = _newest(folder, shard)
            answers = _answers(path.with_suffix(_ANSWERS))
            return Checkpoint(Fleet.load(path, n_jobs=1), _applied(path), answers)
        except FileNotFoundError:
            # Network file systems show a folder as it was a while ago, and a predecessor that still runs may
            # replace the file while we look. Either way there is a newer one.
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


def _answers(path: Path) -> dict[int, Answer]:
    """By number of the batch; they are only sent again."""
    header, arrays = modelfile.read(path)
    try:
        answers: dict[int, Answer] = {count("a batch", number): {} for number in header["answers"]}
        for name, array in arrays.items():
            number, field = name.split(".")
            check_arrays({name: Field((None,) * array.ndim, -np.inf, np.inf, gaps=True)}, arrays)
            answers[int(number)][field] = array
    except (LookupError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} is damaged ({error}); try an older copy") from error
    return answers


def _newest(folder: Path, shard: int) -> Path:
    """The fleet file of the latest checkpoint."""
    paths = sorted(folder.glob(f"{shard:05d}.*{_FLEET}"))
    if paths:
        return paths[-1]
    message = (
        f"{folder} has no checkpoint of shard {shard}: every machine of the cluster must see the checkpoint folder "
        "under the same path; use a shared file system"
    )
    raise FileNotFoundError(message) if folder.exists() else ModelFileError(message)


def _applied(path: Path) -> int:
    return int(path.stem.split(".")[1])
