"""One policy for every process that computes: BLAS threads, and where compiled code is kept.

*Threads.* BLAS gets one thread: products of an expert are small, and work is spread over experts, parts or shards
instead. A process that is not started yet gets it by environment variables (:data:`ONE_THREAD`); one whose BLAS is
loaded, by :func:`iegp.core.compute.threads.one_blas_thread`.

*Compiled code.* Compiling takes the better part of a minute. So:

- Two processes can fill one cache without harm, as every file is whole when it appears and belongs to one signature;
  a first call uses that (:mod:`iegp._compile_ahead`). More would do the same work several times.
- Processes of one machine that a parent starts share its cache. The parent compiles first; workers only read.
- Tasks that a cluster starts share the cache of their machine, and compile one at a time (:func:`compile_in_turn`).
- Long-lived actors of a cluster have a folder of their own each (:func:`actor_environment`), which begins as a copy of
  a folder that is already filled (:func:`copy_cache`).
- Where no folder is writable, code is compiled in memory, with a warning (:mod:`iegp._compile`).

Only the standard library is imported, so that a command can set the variables before NumPy is loaded.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from iegp._compile_ahead import PROCESSES

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows, where Ray workers may compile twice
    fcntl = None  # type: ignore[assignment]

CACHE = "NUMBA_CACHE_DIR"
_BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
ONE_THREAD = dict.fromkeys((*_BLAS, "OMP_NUM_THREADS", "NUMBA_NUM_THREADS", PROCESSES), "1")

_compiled: list[bool] = []


def limit_this_process() -> None:
    """Give BLAS one thread, unless the user has chosen a number; to be called before NumPy is imported.

    ``OMP_NUM_THREADS`` stays as it is: Arrow takes the number of threads that parse a file from it.
    """
    for name in _BLAS:
        os.environ.setdefault(name, ONE_THREAD[name])


@contextmanager
def environment(values: Mapping[str, str] = ONE_THREAD) -> Iterator[None]:
    """Set environment variables for processes that are started inside."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def compile_in_turn(compile_all: Callable[[], object]) -> None:
    """Call ``compile_all`` once in this process, one process of the machine at a time: later ones read the cache."""
    if _compiled:
        return
    folder = _private_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "compiling.lock").open("w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        compile_all()
    _compiled.append(True)


def actor_environment(checkpoint_folder: Path, shard: int) -> dict[str, str]:
    """Variables that an actor needs before it imports anything: a cache of its own, one BLAS thread.

    The folder depends on checkpoint and shard alone: a shard restarted on the same machine finds what it compiled.
    """
    name = hashlib.sha256(str(checkpoint_folder).encode()).hexdigest()[:16]
    return {CACHE: str(_private_folder() / f"{name}-{shard:05d}"), **ONE_THREAD}


def copy_cache(filled: str | None) -> None:
    """Copy from ``filled`` what the cache of this process lacks. Without such a folder, the process compiles."""
    own = os.environ.get(CACHE)
    if own is None or filled is None or Path(own) == Path(filled):
        return
    for source in Path(filled).glob("**/*"):
        target = Path(own) / source.relative_to(filled)
        if source.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            unfinished = target.with_name(f".{target.name}.{os.getpid()}")
            shutil.copyfile(source, unfinished)
            unfinished.replace(target)


def _private_folder() -> Path:
    """The folder of this user on this machine; a home folder may be shared by machines with other processors."""
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    return Path(tempfile.gettempdir()) / f"iegp-compiled-{user}"
