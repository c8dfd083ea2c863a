"""Worker process: receive a task, run it, send its outcome."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from importlib import import_module
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

from iegp.errors import DatasetError, InputError
from iegp_paper.task import Outcome, Task

# One module per kind of run, each with ``run(task) -> Outcome``; imported by the workers that need it.
KINDS = ("statistics", "regression", "classification", "embedding", "uncertainty", "static_regret", "switching_regret")


def work(connection: Connection) -> None:
    """Perform tasks until the connection is closed."""
    # Ctrl-C is handled by the parent, which then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    while True:
        try:
            task = connection.recv()
            connection.send(perform(task))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return


def _leave_with_parent() -> None:
    """End this process when the parent has died: a killed parent cannot end it."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def perform(task: Task) -> Outcome:
    """Run a task; any error becomes its outcome."""
    try:
        return runner_of(task.kind)(task)
    except (ImportError, DatasetError) as error:
        return Outcome("missing", note=str(error))
    except Exception as error:  # a competitor may fail in any way; the others go on
        return Outcome("failed", note=f"{type(error).__name__}: {error}")


def runner_of(kind: str) -> Callable[[Task], Outcome]:
    if kind not in KINDS:
        raise InputError(f"kind {kind!r} is not known; use one of {', '.join(KINDS)}")
    module: Any = import_module(f"iegp_paper.runs.{kind}")
    return module.run  # type: ignore[no-any-return]
