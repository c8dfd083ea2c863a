"""A function of one input, the points it was learned from, and the 95 % interval of the prediction."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from iegp_paper.experiment import Experiment
from iegp_paper.figures.panels import colour, label_left, legend, panels
from iegp_paper.results import Cells
from iegp_paper.runs.uncertainty import truth


def band(experiment: Experiment, cells: Cells) -> Figure | None:
    """Draw one panel per method: its median run, which has points of its own."""
    del experiment
    shown = {method: cell for (_, method), cell in cells.items() if cell.lines}
    if not shown:
        return None
    figure, axes = panels([f"{method}, run {cell.run}" for method, cell in shown.items()])
    for axis, (method, cell) in zip(axes, shown.items(), strict=True):
        lines = cell.lines
        axis.fill_between(
            lines["grid"], lines["lower"], lines["upper"], color=colour(method), alpha=0.25, label="95 % interval"
        )
        axis.plot(lines["grid"], lines["mean"], color=colour(method), label="mean")
        axis.plot(lines["grid"], truth(np.array(lines["grid"])), color="#888888", linestyle="--", label="truth")
        axis.plot(lines["x"], lines["y"], "k.", markersize=5, label="points")
        axis.set_ylim(-6.0, 6.0)
        axis.set_xlabel("x", fontsize=8)
    label_left(axes, "y")
    legend(figure, axes[:1])
    return figure
