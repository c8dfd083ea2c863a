"""Results of an experiment: a cell for every data set and method."""

from __future__ import annotations

from collections.abc import Mapping

from iegp_paper.cell import Cell, cell_of
from iegp_paper.experiment import Experiment
from iegp_paper.plan import Scale, tasks_of
from iegp_paper.task import Outcome

Cells = dict[tuple[str, str], Cell]


def collect(experiment: Experiment, scale: Scale, outcomes: Mapping[str, Outcome]) -> Cells:
    """Collect the cells of an experiment, by data set and method; ``outcomes`` are by the digests of their tasks."""
    return {
        key: cell_of(tasks, [outcomes.get(task.digest) for task in tasks], experiment.metric)
        for key, tasks in tasks_of(experiment, scale).items()
    }
