"""Compiled code of workers: each has a folder of its own, because processes that fill the same one disturb each other.

Compiling takes a worker the better part of a minute. It is spared that by a copy of a folder that someone has filled:
the copy is the worker's alone, so many can start from one folder at once, and nothing is ever written to it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

_FOLDER = "NUMBA_CACHE_DIR"


def environment_of(checkpoint_folder: Path, shard: int) -> dict[str, str]:
    """What a worker process must know before it imports anything: its own cache, one BLAS thread.

    The name depends on folder and shard alone: a shard that is restarted on the same machine finds what it compiled.
    """
    name = hashlib.sha256(str(checkpoint_folder).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"iegp-compiled-{os.getuid()}" / f"{name}-{shard:05d}"
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    return {_FOLDER: str(folder)} | dict.fromkeys(threads, "1")


def folder_of_this_process() -> str | None:
    return os.environ.get(_FOLDER)


def take(filled: str | None) -> None:
    """Copy from ``filled`` what this process does not have. Without such a folder, it compiles for itself."""
    own = folder_of_this_process()
    if own is None or filled is None or Path(own) == Path(filled):
        return
    for source in Path(filled).glob("**/*"):
        target = Path(own) / source.relative_to(filled)
        if source.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            unfinished = target.with_name(f".{target.name}.{os.getpid()}")
            shutil.copyfile(source, unfinished)
            unfinished.replace(target)
