"""Maps side by side, rows coloured by their label."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from iegp.plots.latent_map import plot_map
from iegp_paper.experiment import Experiment
from iegp_paper.figures.panels import panels
from iegp_paper.results import Cells


def maps(experiment: Experiment, cells: Cells) -> Figure | None:
    """Draw the median run of each method."""
    del experiment
    shown = {key: cell for key, cell in cells.items() if cell.lines}
    if not shown:
        return None
    titles = [f"{method}, error {100.0 * cell.scores['error']:.1f} %" for (_, method), cell in shown.items()]
    figure, axes = panels(titles, 3.8)
    for axis, cell in zip(axes, shown.values(), strict=True):
        title = axis.get_title(loc="left")
        positions = np.column_stack([cell.lines["x"], cell.lines["y"]])
        plot_map(positions, cell.lines["label"], ax=axis)
        axis.set(xlabel="", ylabel="", aspect="auto", xticks=[], yticks=[])
        axis.set_title(title, fontsize=10, loc="left")
    return figure
