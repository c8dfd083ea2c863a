"""Which rows of a call belong to which key, and how the keys are shared among threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import FEW_ROWS
from iegp.fleet.checks import Key
from iegp.typing import Int

AnyKey = TypeVar("AnyKey", bound=Key)
# Each thread gets several tasks, so that one that is done early finds more.
TASKS_PER_THREAD = 4


class Task(NamedTuple):
    """Some keys of one page, and where their rows lie among the sorted ones."""

    page: int
    slots: Int
    """(k,): places in the page."""
    edges: Int
    """(k + 1,): key i has rows ``edges[i]`` to ``edges[i + 1]``."""


class Routed(NamedTuple):
    """Rows sorted by key, each key's rows in the order they came."""

    order: Int
    """(n,): number of the row, as it came, of each sorted row."""
    tasks: list[Task]


def sorted_by_key(slots: Int) -> tuple[Int, Int, Int]:
    """Sort rows by the key that each is of, ``slots`` (n,): their order (n,), the keys (k,), and the edges (k + 1,)."""
    order = np.argsort(slots, kind="stable")
    ordered = slots[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(slots) else np.empty(0, dtype=np.int64)
    return order, ordered[starts], np.append(starts, len(slots))


def rows_by_key(names: Iterable[AnyKey]) -> list[tuple[AnyKey, list[int]]]:
    """Keys in order of appearance, each with its rows."""
    rows_of: dict[AnyKey, list[int]] = {}
    for row, name in enumerate(names):
        rows_of.setdefault(name, []).append(row)
    return list(rows_of.items())


def route(slots: Int, keys_per_page: int, n_threads: int) -> Routed:
    """Divide rows of keys ``slots`` (n,) into tasks."""
    order, keys, edges = sorted_by_key(slots)
    starts = edges[:-1]
    pages = keys // keys_per_page
    # Cuts between tasks: where pages end, and where a thread has enough rows.
    share = max(1.0, len(slots) / (n_threads * TASKS_PER_THREAD)) if n_threads > 1 else np.inf
    parts = starts // share
    cuts = np.flatnonzero((pages[1:] != pages[:-1]) | (parts[1:] != parts[:-1])) + 1
    tasks = []
    bounds = [0, *cuts.tolist(), len(keys)] if len(keys) else []
    for a, b in pairwise(bounds):
        tasks.append(Task(int(pages[a]), keys[a:b] % keys_per_page, edges[a : b + 1]))
    return Routed(order, tasks)


def run_tasks(work: Callable[[Task], None], tasks: Sequence[Task], n_threads: int) -> None:
    """Do all tasks, in threads; the first failure is raised when all have ended."""
    if len(tasks) == 1 and tasks[0].edges[-1] <= FEW_ROWS:
        # A handful of rows has no product that BLAS would spread, and holding it back takes longer than they do.
        work(tasks[0])
        return
    with one_blas_thread():
        if n_threads == 1 or len(tasks) < 2:
            for task in tasks:
                work(task)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            for future in [pool.submit(work, task) for task in tasks]:
                future.result()
