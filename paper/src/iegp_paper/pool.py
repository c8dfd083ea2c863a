"""Runs in processes of their own, several at a time, each with a time limit.

The pools of the standard library cannot end a run that takes too long. Here a worker that exceeds its limit is killed
and replaced.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from iegp._processes import ONE_THREAD, environment
from iegp_paper.machine import same_rounding
from iegp_paper.task import Outcome, Task
from iegp_paper.worker import work

_LOOK_EVERY = 0.2


@dataclass
class _Worker:
    process: BaseProcess
    connection: Connection
    task: Task | None = None
    started: float = 0.0

    def give(self, task: Task) -> None:
        self.task, self.started = task, time.monotonic()
        self.connection.send(task)

    @property
    def is_late(self) -> bool:
        return self.task is not None and time.monotonic() - self.started > self.task.seconds

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def run_all(
    tasks: Sequence[Task],
    jobs: int,
    started: Callable[[Task], None] = lambda _: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Generator[tuple[Task, Outcome], None, None]:
    """Yield every task with its outcome, as they finish, until ``stopped``. Stopping ends the workers."""
    waiting = list(reversed(tasks))
    workers: list[_Worker] = []
    # Runs are timed on one core: every library that would use more is limited.
    with environment({**ONE_THREAD, **same_rounding()}):
        try:
            while (waiting or any(worker.task for worker in workers)) and not stopped():
                _hand_out(waiting, workers, jobs, started)
                yield from _collect(workers)
        finally:
            for worker in workers:
                worker.end()


def _hand_out(waiting: list[Task], workers: list[_Worker], jobs: int, started: Callable[[Task], None]) -> None:
    while waiting and len(workers) < jobs:
        workers.append(_new_worker())
    for worker in workers:
        if waiting and worker.task is None:
            task = waiting.pop()
            worker.give(task)
            started(task)


def _collect(workers: list[_Worker]) -> Iterator[tuple[Task, Outcome]]:
    busy = {worker.connection: worker for worker in workers if worker.task is not None}
    for connection in wait(list(busy), _LOOK_EVERY):
        worker = busy[connection]  # type: ignore[index]
        task = worker.task
        assert task is not None
        try:
            outcome = worker.connection.recv()
            worker.task = None
        except (EOFError, ConnectionResetError):
            worker.process.join()
            outcome = Outcome("failed", note=f"its process died (exit code {worker.process.exitcode}); out of memory?")
            workers.remove(worker)
            worker.end()
        yield task, outcome
    for worker in [worker for worker in workers if worker.is_late]:
        task = worker.task
        assert task is not None
        workers.remove(worker)
        worker.end()
        yield task, Outcome("timeout", note=f"not done after {task.seconds:g} s", limit=task.seconds)


def _new_worker() -> _Worker:
    # A fresh interpreter: a fork would inherit threads and compiled state of the caller.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=work, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)
