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

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_depth = 0
_limiter = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread; nested and concurrent uses share one limit, and the last to leave lifts it."""
    global _depth, _limiter
    with _lock:
        if _depth == 0:
            _limiter = ThreadpoolController().limit(limits=1, user_api="blas")
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0 and _limiter is not None:
                _limiter.restore_original_limits()
                _limiter = None


def n_threads_from(n_jobs: int | None) -> int:
    """scikit-learn's convention: ``None`` is one, -1 is every core this process may use."""
    if n_jobs is None:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return max(1, n_jobs if n_jobs > 0 else cores + 1 + n_jobs)


def run_all(tasks: Sequence[Callable[[], None]], n_threads: int) -> None:
    """Run independent tasks, in this thread or in several. The first failure is raised."""
    if n_threads <= 1 or len(tasks) <= 1:
        for task in tasks:
            task()
        return
    with ThreadPoolExecutor(min(n_threads, len(tasks))) as pool:
        for future in [pool.submit(task) for task in tasks]:
            future.result()
