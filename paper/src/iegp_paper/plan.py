"""Runs of experiments: how many, on how many rows, with what limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iegp_paper.experiment import Data, Experiment
from iegp_paper.task import Task


@dataclass(frozen=True)
class Scale:
    """Size of a reproduction: ``runs`` None is each experiment's own number."""

    quick: bool = False
    runs: int | None = None


def runs_of(experiment: Experiment, data: Data, method: str, scale: Scale) -> int:
    """Return the number of seeds of a method on a data set. A number that was requested holds for all methods."""
    if scale.runs is not None:
        return scale.runs
    usual = experiment.quick_runs if scale.quick else experiment.runs
    return min(usual, data.runs_of.get(method, experiment.runs_of.get(method, usual)))


def rows_of(data: Data, scale: Scale) -> int | None:
    return data.quick_rows if scale.quick and data.quick_rows is not None else data.rows


def methods_of(experiment: Experiment, data: Data, scale: Scale) -> tuple[str, ...]:
    """List the methods that run on a data set."""
    chosen = data.quick_methods if scale.quick and data.quick_methods is not None else data.methods
    return experiment.methods if chosen is None else chosen


def tasks_of(experiment: Experiment, scale: Scale) -> dict[tuple[str, str], list[Task]]:
    """List the runs of an experiment, by data set and method."""
    options = _chosen(experiment.options, experiment.quick_options, scale)
    tasks: dict[tuple[str, str], list[Task]] = {}
    for data in experiment.data:
        for method in methods_of(experiment, data, scale):
            settings = experiment.settings.get(method, {})
            settings = _chosen(settings, experiment.quick_settings.get(method, {}), scale)
            tasks[data.name, method] = [
                Task(
                    kind=experiment.kind,
                    data=data.name,
                    method=method,
                    seed=seed,
                    rows=rows_of(data, scale),
                    settings=settings,
                    options=options,
                    seconds=experiment.quick_seconds if scale.quick else experiment.seconds,
                )
                for seed in range(runs_of(experiment, data, method, scale))
            ]
    return tasks


def all_tasks(experiments: Sequence[Experiment], scale: Scale) -> list[Task]:
    """List every run once, though several experiments may need it; first seeds first, so all have a result soon."""
    found: dict[str, Task] = {}
    for experiment in experiments:
        for tasks in tasks_of(experiment, scale).values():
            for task in tasks:
                found.setdefault(task.digest, task)
    return sorted(found.values(), key=lambda task: task.seed)


def _chosen(usual: Mapping[str, Any], quick: Mapping[str, Any], scale: Scale) -> dict[str, Any]:
    return dict(usual) | (dict(quick) if scale.quick else {})
