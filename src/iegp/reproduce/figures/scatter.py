"""Error against running time, one point per method."""

from __future__ import annotations

from matplotlib.figure import Figure

from iegp.reproduce.experiment import Experiment
from iegp.reproduce.figures.panels import colour, legend, measured, panels
from iegp.reproduce.results import Cells


def scatter(experiment: Experiment, cells: Cells) -> Figure | None:
    """The lower and the further to the left, the better."""
    shown = measured(experiment, cells, "error")
    if not shown:
        return None
    figure, axes = panels([data.title for data in shown])
    for axis, data in zip(axes, shown, strict=True):
        for (name, method), cell in cells.items():
            if name == data.name and "error" in cell.scores:
                axis.plot(cell.scores["seconds"], 100.0 * cell.scores["error"], "o", color=colour(method), label=method)
        axis.set_xscale("log")
        axis.set_ylim(bottom=0.0)
        axis.set_xlabel("processor seconds", fontsize=8)
    axes[0].set_ylabel("nearest-neighbour error (%)", fontsize=9)
    legend(figure, axes)
    return figure
