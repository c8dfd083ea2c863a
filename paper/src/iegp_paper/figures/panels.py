"""Panels beside each other, one per data set, and a colour for each method that is the same in all figures."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from iegp_paper.experiment import Data, Experiment
from iegp_paper.results import Cells

COLOURS = {
    "IE-GP": "#12436d",
    "IE-GPLVM": "#12436d",
    "DIE-GP": "#28a197",
    "SIE-GP": "#5694ca",
    "iegp default": "#f46a25",
    "iegp light": "#f9b27a",
    "iegp default (exponentiated gradients)": "#f46a25",
    "DOEBE": "#0e7c3a",
    "DOEBE (exponentiated gradients)": "#0e7c3a",
    "HSGP": "#66b584",
    "Raker": "#b8a9d9",
    "AdaRaker": "#801650",
    "I-SSGPR": "#3d3d3d",
    "SSGP": "#7a8b2f",
    "SSGP batch 20": "#b9c98a",
    "onGPLVM": "#801650",
    "GPLVM": "#7a8b2f",
    "varGPLVM": "#3d3d3d",
    "online PCA": "#b8a9d9",
    "kernel PCA": "#a67c00",
}


def colour(method: str) -> str:
    return COLOURS.get(method, "#59646e")


def measured(experiment: Experiment, cells: Cells, score: str) -> list[Data]:
    """List the data sets on which any method has this score."""
    return [
        data
        for data in experiment.data
        if any(key[0] == data.name and score in cell.scores for key, cell in cells.items())
    ]


def panels(titles: Sequence[str], height: float = 3.1) -> tuple[Figure, list[Axes]]:
    """Make a row of panels, at most three beside each other."""
    across = min(len(titles), 3 if len(titles) != 4 else 2)
    down = -(-len(titles) // across)
    figure = Figure(figsize=(3.4 * across + 1.2, height * down), layout="constrained")
    axes = list(figure.subplots(down, across, squeeze=False).ravel())
    for spare in axes[len(titles) :]:
        spare.set_axis_off()
    for axis, title in zip(axes, titles, strict=False):
        axis.set_title(title, fontsize=10, loc="left")
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(which="both", labelsize=8)
    return figure, axes[: len(titles)]


def plain_log_ticks(axis: Axis, steps: Sequence[float] = (1.0, 2.0, 5.0)) -> None:
    """Mark a logarithmic axis at these multiples of the powers of ten, in plain decimals."""
    axis.set_major_locator(LogLocator(subs=steps, numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def thousands(axis: Axis) -> None:
    """Write the numbers of an axis with a comma between thousands, as tables do."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}" if abs(value) < 1e6 else f"{value:g}"))


def label_left(axes: Sequence[Axes], words: str) -> None:
    """Label the vertical axis at the first panel of every row."""
    for axis in axes:
        place = axis.get_subplotspec()
        if place is not None and place.is_first_col():
            axis.set_ylabel(words, fontsize=9)


def legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """Add one legend for all panels, below them."""
    found: dict[str, Artist] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=4, frameon=False, fontsize=8)
