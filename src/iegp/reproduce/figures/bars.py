"""Running times as bars, in processor seconds on a logarithmic axis."""

from __future__ import annotations

from matplotlib.figure import Figure

from iegp.reproduce.experiment import Experiment
from iegp.reproduce.figures.panels import colour, measured, panels
from iegp.reproduce.results import Cells


def bars(experiment: Experiment, cells: Cells) -> Figure | None:
    """One bar per method and data set."""
    shown = measured(experiment, cells, "seconds")
    if not shown:
        return None
    figure, axes = panels([data.title for data in shown], 2.6)
    for axis, data in zip(axes, shown, strict=True):
        found = {
            method: cell.scores["seconds"]
            for (name, method), cell in cells.items()
            if name == data.name and "seconds" in cell.scores
        }
        names = list(reversed(found))
        axis.barh(names, [found[name] for name in names], color=[colour(name) for name in names])
        axis.set_xscale("log")
        axis.set_xlabel("processor seconds", fontsize=8)
    return figure
