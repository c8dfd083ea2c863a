"""Progress of a reproduction on standard error."""

from __future__ import annotations

from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from iegp_paper.task import Outcome, Task


class Watch:
    """A bar with the runs in progress; where standard error is no terminal, a line for each run."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._running: list[str] = []
        self._reasons: set[str] = set()
        columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._total, self._done = total, 0
        self._task = self._bar.add_task("starting", total=total)

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.__exit__(None, None, None)

    def started(self, task: Task) -> None:
        self._running.append(task.title)
        self._show()

    def finished(self, task: Task, outcome: Outcome) -> None:
        if task.title in self._running:
            self._running.remove(task.title)
        self._done += 1
        scores = ", ".join(f"{name} {value:.3g}" for name, value in list(outcome.scores.items())[:2])
        words = scores if outcome.status == "done" else f"{outcome.status}: {self._said_once(outcome.note)}"
        self._console.print(f"{self._done}/{self._total} {task.title}: {words}", markup=False, highlight=False)
        self._bar.advance(self._task)
        self._show()

    def _said_once(self, reason: str) -> str:
        """Return a reason the first time; a data set that is missing fails hundreds of runs by the same one."""
        if reason in self._reasons:
            return "as above"
        self._reasons.add(reason)
        return reason

    def _show(self) -> None:
        self._bar.update(self._task, description="; ".join(self._running)[:70])
