"""Per-seed results of an experiment as a table of text, with the commit that made each run, and back from the text."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

from iegp.errors import InputError
from iegp_paper.experiment import Experiment
from iegp_paper.plan import Scale, tasks_of
from iegp_paper.task import Outcome, Task, written

HEADS = ("data", "method", "rows", "seed", "status")
COMMIT, RUN = LAST = ("commit", "run")
# Kinds of runs that are judged by short lines over the number of rows T; their columns have one number per T.
JUDGED_BY_LINES = ("static_regret", "switching_regret")
BY_ROWS = " by T"


def per_seed_csv(experiment: Experiment, scale: Scale, outcomes: Mapping[str, Outcome]) -> str:
    """Write one line per run; scores with six significant digits, empty where a run has none.

    Lines over the number of rows that decide verdicts follow the scores, their numbers separated by spaces. The last
    column is the digest of everything that decides the run's outcome, by which it is found again.
    """
    tasks = [task for own in tasks_of(experiment, scale).values() for task in own if task.digest in outcomes]
    scores = list(dict.fromkeys(name for task in tasks for name in outcomes[task.digest].scores))
    lines = list(dict.fromkeys(name for task in tasks for name in _judged_lines(task, outcomes[task.digest])))
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*HEADS, *scores, *(f"{name}{BY_ROWS}" for name in lines), *LAST])
    for task in tasks:
        outcome = outcomes[task.digest]
        values = [written(outcome.scores[name]) if name in outcome.scores else "" for name in scores]
        values += [" ".join(written(value) for value in outcome.lines.get(name, ())) for name in lines]
        known = [task.data, task.method, task.rows or "all", task.seed, outcome.status]
        writer.writerow([*known, *values, outcome.commit, task.digest])
    return text.getvalue()


def stored_runs(folder: Path) -> dict[str, Outcome]:
    """Read the runs of all tables in a folder, by the digests of their tasks.

    They have scores, and no lines but those that decide verdicts.
    """
    paths = sorted(folder.glob("*.csv"))
    if not paths:
        raise InputError(f"{folder} has no CSV files of runs; name the folder that --publish wrote, paper/results")
    return {digest: outcome for path in paths for digest, outcome in _runs_in(path)}


def _runs_in(path: Path) -> list[tuple[str, Outcome]]:
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file, strict=True))
    try:
        return [(line[RUN], _outcome(line)) for line in lines if line["status"] == "done"]
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"{path} is not a table of runs as --publish writes it ({error!r}); leave it out") from error


def _judged_lines(task: Task, outcome: Outcome) -> list[str]:
    return list(outcome.lines) if task.kind in JUDGED_BY_LINES else []


def _outcome(line: Mapping[str, str]) -> Outcome:
    found = {name: value for name, value in line.items() if name not in (*HEADS, *LAST) and value}
    scores = {name: float(value) for name, value in found.items() if not name.endswith(BY_ROWS)}
    lines = {
        name.removesuffix(BY_ROWS): [float(entry) for entry in value.split()]
        for name, value in found.items()
        if name.endswith(BY_ROWS)
    }
    return Outcome("done", scores, lines, commit=line[COMMIT])


def files_of(experiments: list[Experiment]) -> dict[str, str]:
    """Name the file of each experiment; experiments with the same runs share that of the first."""
    first: dict[frozenset[str], str] = {}
    names = {}
    for own in experiments:
        runs = frozenset(task.digest for tasks in tasks_of(own, Scale()).values() for task in tasks)
        names[own.name] = first.setdefault(runs, f"{own.name}.csv")
    return names
