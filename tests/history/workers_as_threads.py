"""Workers of an ensemble as threads of this process: the same code and the same pipes, started in no time."""

from __future__ import annotations

import threading
from multiprocessing import Pipe
from typing import Any

import numpy as np

from iegp.parallel import team
from iegp.parallel.worker import serve


class ThreadWithExitCode(threading.Thread):
    """What a team wants to know of a process."""

    pid = 0

    @property
    def exitcode(self) -> int | None:
        return None if self.is_alive() else 0


def use_threads(monkeypatch: Any) -> None:
    monkeypatch.setattr(team, "_started", _started)


def _started(ensemble: Any, number: int, n_workers: int) -> team.Worker:
    # Dealt otherwise than in processes, in neighbours: which worker keeps which kernel must not matter.
    kernels = np.array_split(np.arange(ensemble.n_kernels), n_workers)[number]
    beliefs = (kernels[:, None] * ensemble.n_drifts + np.arange(ensemble.n_drifts)).ravel()
    here, there = Pipe()
    thread = ThreadWithExitCode(target=serve, args=(there, ensemble.part(kernels)), daemon=True)
    thread.start()
    return team.Worker(thread, here, beliefs)  # type: ignore[arg-type]
