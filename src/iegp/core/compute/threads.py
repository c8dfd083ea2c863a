"""Parallelism over experts, not inside matrix products.

An expert's products are small: two BLAS threads make them several times slower. So BLAS is limited to one thread while
experts are spread over Python threads (compiled code releases the GIL). Results do not depend on the number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from iegp.core.compute.tolerances import PLAN_SLACK
from iegp.errors import InputError


class _Limit:
    """Number of active requests to limit BLAS to one thread; changed by the limiting thread alone."""

    def __init__(self) -> None:
        self.wanted = 0
        self.held: Any = None
        self.lock = threading.Lock()
        # Scanning the process for its BLAS libraries takes milliseconds; all are loaded by now, so it is done once.
        self.controller = ThreadpoolController().select(user_api="blas")

    def enter(self) -> None:
        with self.lock:
            self.wanted += 1
            if self.wanted == 1:
                self.held = self.controller.limit(limits=1, user_api="blas").__enter__()

    def leave(self) -> None:
        with self.lock:
            self.wanted -= 1
            if self.wanted == 0:
                self.held.__exit__(None, None, None)

    def is_needless(self) -> bool:
        """Whether BLAS has one thread anyway, by a setting of the user and not by a limit that is lifted soon."""
        with self.lock:
            return self.wanted == 0 and all(library.num_threads == 1 for library in self.controller.lib_controllers)


@lru_cache(maxsize=1)
def _keeper() -> tuple[ThreadPoolExecutor, _Limit]:
    return ThreadPoolExecutor(1, thread_name_prefix="iegp-blas"), _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; nested and concurrent uses share one limit, and the last to end lifts it.

    The limit belongs to the process, but threadpoolctl lets only the thread that set it lift it. One dedicated thread
    does both, in the order of the requests, so that it works from any thread and after any interrupt. Waiting for that
    thread takes a fraction of a millisecond, more where all cores are busy, so no request is made without need.
    """
    thread, limit = _keeper()
    if limit.is_needless():
        yield
        return
    entered = thread.submit(limit.enter)
    try:
        entered.result()
        yield
    finally:
        thread.submit(limit.leave).result()


if hasattr(os, "register_at_fork"):
    # A forked child does not inherit threads.
    os.register_at_fork(after_in_child=_keeper.cache_clear)


def n_threads_from(n_jobs: int | None) -> int:
    """Return a number of threads by scikit-learn's convention: ``None`` is one, -1 every core of this process."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, int | np.integer) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise InputError(f"n_jobs={n_jobs!r} must be a whole number other than 0, or None; -1 uses all cores")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return max(1, int(n_jobs) if n_jobs > 0 else cores + 1 + int(n_jobs))


class Piece(NamedTuple):
    """Some consecutive rows of one task."""

    task: int
    begin: int
    stop: int


def wrap_around(costs: Sequence[float], n_rows: int, blocks: Sequence[int], n_threads: int) -> list[list[Piece]]:
    """Share tasks of ``n_rows`` rows each among threads so that all finish together (McNaughton's rule).

    The tasks are laid end to end and cut into equal lengths. A task that is cut gives its first rows to the start of
    one thread and its later rows to the end of the thread before, so neither has to wait. Cuts fall between the
    ``blocks`` of rows in which a task is worked on.

    >>> wrap_around([1, 1, 1], 100, [10, 10, 10], 2)
    [[Piece(task=0, begin=0, stop=100), Piece(task=1, begin=50, stop=100)], [Piece(task=1, begin=0, stop=50), \
Piece(task=2, begin=0, stop=100)]]
    """
    length = max(sum(costs) / n_threads, *costs)
    plan: list[list[Piece]] = [[]]
    space = length
    for task, (cost, block) in enumerate(zip(costs, blocks, strict=True)):
        # Rows that still fit into this thread, counted from the task's end.
        later = n_rows if cost <= space * (1.0 + PLAN_SLACK) else int(space / cost * n_rows)
        cut = -(-(n_rows - later) // block) * block
        if cut < n_rows:
            plan[-1].append(Piece(task, max(cut, 0), n_rows))
        if cut > 0:
            plan.append([Piece(task, 0, min(cut, n_rows))])
            space += length
        space -= cost
    return plan


def run_in_pieces(work: Callable[[Piece], None], plan: list[list[Piece]]) -> None:
    """Carry out a plan: one thread for each list, in order; later rows of a task wait for its first ones.

    The first failure is raised when all have ended.
    """
    if len(plan) == 1:
        for piece in plan[0]:
            work(piece)
        return
    begun = {piece.task: threading.Event() for pieces in plan for piece in pieces if piece.begin == 0}

    def run(pieces: list[Piece]) -> None:
        try:
            for piece in pieces:
                if piece.begin > 0:
                    begun[piece.task].wait()
                work(piece)
                begun[piece.task].set()
        finally:
            # After a failure no thread may be left waiting.
            for piece in pieces:
                begun[piece.task].set()

    with ThreadPoolExecutor(len(plan)) as pool:
        try:
            for future in [pool.submit(run, pieces) for pieces in plan]:
                future.result()
        finally:
            # If not every list could be started, no thread may wait for the others.
            for event in begun.values():
                event.set()
