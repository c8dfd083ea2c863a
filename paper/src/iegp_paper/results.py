"""Results of a method on a data set: the median run, and the spread of the others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from iegp_paper.experiment import Experiment
from iegp_paper.plan import Scale, tasks_of
from iegp_paper.task import Outcome, Task


@dataclass(frozen=True)
class Cell:
    """A method on a data set: scores and lines of the median run; seconds are the median of all runs."""

    scores: Mapping[str, float] = field(default_factory=dict)
    lines: Mapping[str, Any] = field(default_factory=dict)
    lowest: float = float("nan")
    highest: float = float("nan")
    """Of the experiment's metric, over the runs."""
    n_done: int = 0
    n_runs: int = 0
    rows: int | None = None
    note: str = ""
    run: int | None = None
    """Which run is the median one, counted from 1."""


Cells = dict[tuple[str, str], Cell]


def collect(experiment: Experiment, scale: Scale, outcomes: Mapping[str, Outcome]) -> Cells:
    """Collect the cells of an experiment, by data set and method; ``outcomes`` are by the digests of their tasks."""
    return {
        key: cell_of(tasks, [outcomes.get(task.digest) for task in tasks], experiment.metric)
        for key, tasks in tasks_of(experiment, scale).items()
    }


def cell_of(tasks: Sequence[Task], outcomes: Sequence[Outcome | None], metric: str) -> Cell:
    """Make a cell from its runs. The median run is the lower of the middle two where their number is even."""
    rows = tasks[0].rows if tasks else None
    done = [outcome for outcome in outcomes if outcome is not None and outcome.status == "done"]
    note = _note([outcome for outcome in outcomes if outcome is None or outcome.status != "done"])
    if not done:
        return Cell(n_runs=len(outcomes), rows=rows, note=note)
    ranked = sorted(done, key=lambda outcome: _rank(outcome, metric))
    middle = ranked[(len(ranked) - 1) // 2]
    run = next(task.seed for task, outcome in zip(tasks, outcomes, strict=True) if outcome is middle) + 1
    scores = dict(middle.scores)
    if "seconds" in scores:
        scores["seconds"] = float(np.median([outcome.scores["seconds"] for outcome in done]))
    values = [_rank(outcome, metric) for outcome in ranked if metric in outcome.scores]
    ends = (values[0], values[-1]) if values else (float("nan"), float("nan"))
    return Cell(scores, middle.lines, *ends, len(done), len(outcomes), rows, note, run)


def _rank(outcome: Outcome, metric: str) -> float:
    """Sort key that puts a diverged run last."""
    value = float(outcome.scores.get(metric, math.inf))
    return math.inf if math.isnan(value) else value


def _note(others: Sequence[Outcome | None]) -> str:
    """Say why some runs have no scores, each reason once."""
    words = Counter("not run yet" if outcome is None else f"{outcome.status}: {outcome.note}" for outcome in others)
    return "; ".join(f"{count} × {reason}" if count > 1 else reason for reason, count in words.items())
