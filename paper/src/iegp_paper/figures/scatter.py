"""Error against running time, one point per method."""

from __future__ import annotations

from matplotlib.figure import Figure

from iegp_paper.experiment import Experiment
from iegp_paper.figures.panels import colour, label_left, legend, measured, panels
from iegp_paper.results import Cells


def scatter(experiment: Experiment, cells: Cells) -> Figure | None:
    """Draw error against time; lower and further to the left is better."""
    shown = measured(experiment, cells, "error")
    if not shown:
        return None
    figure, axes = panels([data.title for data in shown])
    for axis, data in zip(axes, shown, strict=True):
        for (name, method), cell in cells.items():
            if name == data.name and "error" in cell.scores:
                at = (cell.scores["seconds"], 100.0 * cell.scores["error"])
                # Open, so that a method behind another one is still seen.
                axis.plot(*at, "o", color=colour(method), label=method, markerfacecolor="none", markeredgewidth=1.8)
        axis.set_xscale("log")
        # A little beyond both ends, so that the highest point and one at 0 % are whole.
        highest = max(axis.dataLim.y1, 1.0)
        axis.set_ylim(-0.04 * highest, 1.06 * highest)
        axis.margins(x=0.1)
        axis.set_xlabel("processor seconds", fontsize=8)
    label_left(axes, "nearest-neighbour error (%)")
    legend(figure, axes)
    return figure
