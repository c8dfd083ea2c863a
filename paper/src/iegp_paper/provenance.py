"""Per-seed results of an experiment as a table of text, with the commit that made each run."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from io import StringIO

from iegp_paper.experiment import Experiment
from iegp_paper.plan import Scale, tasks_of
from iegp_paper.task import Outcome

HEADS = ("data", "method", "rows", "seed", "status")


def per_seed_csv(experiment: Experiment, scale: Scale, outcomes: Mapping[str, Outcome]) -> str:
    """Write one line per run; scores with six significant digits, empty where a run has none."""
    tasks = [task for own in tasks_of(experiment, scale).values() for task in own if task.digest in outcomes]
    scores = list(dict.fromkeys(name for task in tasks for name in outcomes[task.digest].scores))
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*HEADS, *scores, "commit"])
    for task in tasks:
        outcome = outcomes[task.digest]
        values = [f"{outcome.scores[name]:.6g}" if name in outcome.scores else "" for name in scores]
        known = [task.data, task.method, task.rows or "all", task.seed, outcome.status]
        writer.writerow([*known, *values, outcome.commit])
    return text.getvalue()


def files_of(experiments: list[Experiment]) -> dict[str, str]:
    """Name the file of each experiment; experiments with the same runs share that of the first."""
    first: dict[frozenset[str], str] = {}
    names = {}
    for own in experiments:
        runs = frozenset(task.digest for tasks in tasks_of(own, Scale()).values() for task in tasks)
        names[own.name] = first.setdefault(runs, f"{own.name}.csv")
    return names
