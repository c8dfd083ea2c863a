"""Parallel over experts, never inside a matrix product.

An expert's products are small: two BLAS threads make them several times slower. So BLAS is held to one thread while
experts are spread over Python threads (compiled code releases the GIL). Results do not depend on the number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from iegp.errors import InputError

_lock = threading.Lock()
_depth = 0
_limit: Any = None
_keeper: ThreadPoolExecutor | None = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread; nested and concurrent uses share one limit, and the last to leave lifts it.

    The limit belongs to the process, but threadpoolctl lets only the thread that set it lift it: one thread of our own
    does both, whoever asks.
    """
    global _depth  # the limit is a property of the process, so its count is one too
    with _lock:
        _depth += 1
        if _depth == 1:
            _in_keeper(_set_limit)
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                _in_keeper(_lift_limit)


def _in_keeper(action: Callable[[], None]) -> None:
    global _keeper
    if _keeper is None:
        _keeper = ThreadPoolExecutor(1, thread_name_prefix="iegp-blas")
    _keeper.submit(action).result()


def _set_limit() -> None:
    global _limit
    _limit = ThreadpoolController().limit(limits=1, user_api="blas").__enter__()


def _lift_limit() -> None:
    _limit.__exit__(None, None, None)


def _forget_keeper() -> None:
    """A forked child has none of our threads."""
    global _lock, _depth, _keeper
    _lock, _depth, _keeper = threading.Lock(), 0, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_keeper)


def n_threads_from(n_jobs: int | None) -> int:
    """scikit-learn's convention: ``None`` is one, -1 is every core this process may use."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, int | np.integer) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise InputError(f"n_jobs={n_jobs!r} must be a whole number other than 0, or None; -1 uses all cores")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return max(1, int(n_jobs) if n_jobs > 0 else cores + 1 + int(n_jobs))


def run_all(tasks: Sequence[Callable[[], None]], n_threads: int) -> None:
    """Run independent tasks, in this thread or in several. The first failure is raised."""
    if n_threads <= 1 or len(tasks) <= 1:
        for task in tasks:
            task()
        return
    with ThreadPoolExecutor(min(n_threads, len(tasks))) as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()
