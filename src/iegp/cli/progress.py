"""Progress on stderr: a live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from iegp.readers import Source
from iegp.stream.counters import Counters
from iegp.stream.job import Job

# How often to look: on a terminal, and elsewhere.
_TERMINAL_SECONDS, _PLAIN_SECONDS = 0.25, 5.0


# Signs of the bar, and of all that stands before the words: bar, percentage, time, three spaces.
_BAR = 24
_BESIDE = _BAR + 5 + 7 + 3


class _Share(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.percentage:3.0f} %" if task.total else "")


class Watcher:
    """Called after every block; shows rows, rows/s, and what ``describe`` says, such as scores."""

    def __init__(
        self, counters: Counters, describe: Callable[[], list[str]], quiet: bool, console: Console | None = None
    ) -> None:
        self._counters = counters
        self._describe = describe
        self._quiet = quiet
        self._console = console or Console(stderr=True, markup=False, emoji=False)
        self._progress: Progress | None = None
        self._begun = self._looked = time.monotonic()
        self._first_row = counters.rows

    def __enter__(self) -> Self:
        if not self._quiet and self._console.is_terminal:
            # What is cut first on a narrow terminal comes last.
            columns = (BarColumn(bar_width=_BAR), _Share(), TimeElapsedColumn(), TextColumn("{task.description}"))
            self._progress = Progress(*columns, console=self._console, transient=True)
            self._progress.start()
            # Before the first block of a new run is answered, settings are fitted several times.
            words = "reading" if self._first_row else "fitting settings to the first rows"
            self._progress.add_task(words, total=None)
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, source: Source) -> None:
        if self._quiet:
            return
        now = time.monotonic()
        wait = _PLAIN_SECONDS if self._progress is None else _TERMINAL_SECONDS
        if now - self._looked < wait:
            return
        self._looked = now
        line = self.line()
        if self._progress is None:
            self._console.print(line, highlight=False, soft_wrap=True)
        else:
            self._progress.update(
                self._progress.task_ids[0], description=self._cut(line), completed=source.bytes_read, total=source.size
            )

    def _cut(self, line: str) -> str:
        """What is left of a line beside bar, percentage and time, without a word that is cut."""
        width = max(self._console.width - _BESIDE, 0)
        return line if len(line) <= width else line[: width + 1].rpartition(", ")[0] or line[:width]

    def line(self) -> str:
        """How far, how fast, how well."""
        rows = self._counters.rows
        seconds = max(time.monotonic() - self._begun, 1e-9)
        speed = (rows - self._first_row) / seconds
        return ", ".join([f"{rows:,} rows", f"{speed:,.0f} rows/s", *self._describe()])


def scores(job: Job) -> list[str]:
    """The running scores in words."""
    results = job.digest.results()
    loss, parts = results.loss.model, []
    if math.isfinite(loss):
        parts.append(f"error {100 * loss:.1f} %" if job.plan.has_classes else f"nMSE {loss:.4f}")
    if math.isfinite(results.coverage):
        parts.append(f"{100 * job.plan.level:g} % covers {100 * results.coverage:.1f} %")
    return parts
