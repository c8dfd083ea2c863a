"""Error against running time, one point per method with bars over its seeds."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from iegp_paper.cell import Cell
from iegp_paper.experiment import Experiment
from iegp_paper.figures.panels import colour, label_left, legend, measured, panels, plain_log_ticks
from iegp_paper.figures.spread import ends_of
from iegp_paper.results import Cells


def scatter(experiment: Experiment, cells: Cells) -> Figure | None:
    """Draw error against time; lower and further to the left is better."""
    shown = measured(experiment, cells, "error")
    if not shown:
        return None
    figure, axes = panels([data.title for data in shown])
    for axis, data in zip(axes, shown, strict=True):
        for (name, method), cell in cells.items():
            if name == data.name and {"error", "seconds"} <= set(cell.scores):
                _draw_point(axis, method, cell)
        axis.set_xscale("log")
        # Where methods are several powers of ten apart there is space for these alone.
        low, high = axis.dataLim.intervalx
        plain_log_ticks(axis.xaxis, (1.0,) if high > 30.0 * low else (1.0, 2.0, 5.0))
        # A little beyond both ends, so that the highest point and one at 0 % are whole.
        highest = max(axis.dataLim.y1, 1.0)
        axis.set_ylim(-0.04 * highest, 1.06 * highest)
        axis.margins(x=0.1)
        axis.set_xlabel("processor seconds", fontsize=8)
    label_left(axes, "nearest-neighbour error (%)")
    legend(figure, axes)
    return figure


def _draw_point(axis: Axes, method: str, cell: Cell) -> None:
    """Draw the medians, with bars over the central 90 % of the seeds."""
    x, y = cell.scores["seconds"], 100.0 * cell.scores["error"]
    # Open, so that a method behind another one is still seen.
    axis.plot(x, y, "o", color=colour(method), label=method, markerfacecolor="none", markeredgewidth=1.8)
    fast, slow = ends_of(cell, "seconds")
    low, high = ends_of(cell, "error")
    axis.hlines(y, fast, slow, colors=colour(method), linewidth=1.0)
    axis.vlines(x, 100.0 * low, 100.0 * high, colors=colour(method), linewidth=1.0)
