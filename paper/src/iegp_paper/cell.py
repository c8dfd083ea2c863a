"""Results of a method on a data set: medians over runs with their intervals, and the runs themselves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from iegp_paper.bootstrap import Interval, median_interval
from iegp_paper.task import Outcome, Task, written


@dataclass(frozen=True)
class Cell:
    """A method on a data set."""

    scores: Mapping[str, float] = field(default_factory=dict)
    """Median of each score over the runs."""
    lines: Mapping[str, Any] = field(default_factory=dict)
    """Of the run with the median of the experiment's metric."""
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    """Of the medians."""
    values: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """Each score by seed; a run that diverged has infinity."""
    runs: tuple[Mapping[str, Any], ...] = ()
    """Lines of all runs that are done."""
    n_done: int = 0
    n_runs: int = 0
    n_failed: int = 0
    """Runs that were made and have no scores: out of time, or an error."""
    rows: int | None = None
    note: str = ""
    run: int | None = None
    """Which run ``lines`` are of, counted from 1."""
    commits: Mapping[str, int] = field(default_factory=dict)
    """Number of runs by the commit that made them."""


def cell_of(tasks: Sequence[Task], outcomes: Sequence[Outcome | None], metric: str) -> Cell:
    """Make a cell from its runs. The median run is the lower of the middle two where their number is even."""
    rows = tasks[0].rows if tasks else None
    done = [
        (task.seed, own) for task, own in zip(tasks, outcomes, strict=True) if own is not None and own.status == "done"
    ]
    note = _note([own for own in outcomes if own is None or own.status != "done"])
    n_failed = sum(own is not None and own.status != "done" for own in outcomes)
    if not done:
        return Cell(n_runs=len(outcomes), n_failed=n_failed, rows=rows, note=note)
    names = dict.fromkeys(name for _, own in done for name in own.scores)
    values = {name: {seed: _value(own, name) for seed, own in done if name in own.scores} for name in names}
    intervals = {name: median_interval(own.values()) for name, own in values.items()}
    seed, middle = sorted(done, key=lambda entry: _value(entry[1], metric))[(len(done) - 1) // 2]
    return Cell(
        scores={name: own.centre for name, own in intervals.items()},
        lines=middle.lines,
        intervals=intervals,
        values=values,
        runs=tuple(own.lines for _, own in done),
        n_done=len(done),
        n_runs=len(outcomes),
        n_failed=n_failed,
        rows=rows,
        note=note,
        run=seed + 1,
        commits=Counter(own.commit or "not recorded" for _, own in done),
    )


def _value(outcome: Outcome, name: str) -> float:
    """Return a score with the digits that are stored; of a diverged run infinity, which is the worst."""
    value = float(written(outcome.scores.get(name, math.inf)))
    return math.inf if math.isnan(value) else value


def _note(others: Sequence[Outcome | None]) -> str:
    """Say why some runs have no scores, each reason once."""
    words = Counter("not run yet" if outcome is None else f"{outcome.status}: {outcome.note}" for outcome in others)
    return "; ".join(f"{count} × {reason}" if count > 1 else reason for reason, count in words.items())
