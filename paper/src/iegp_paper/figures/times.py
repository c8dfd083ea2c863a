"""Running times in processor seconds on a logarithmic axis, which has no zero: dots, with the spread of the seeds."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from iegp_paper.cell import Cell
from iegp_paper.experiment import Experiment
from iegp_paper.figures.panels import colour, measured, panels, plain_log_ticks
from iegp_paper.figures.spread import ends_of
from iegp_paper.results import Cells


def times(experiment: Experiment, cells: Cells) -> Figure | None:
    """Draw one dot per method and data set, with its seconds beside it."""
    shown = measured(experiment, cells, "seconds")
    if not shown:
        return None
    figure, axes = panels([data.title for data in shown], 2.6)
    for axis, data in zip(axes, shown, strict=True):
        found = {
            method: cell for (name, method), cell in cells.items() if name == data.name and "seconds" in cell.scores
        }
        _draw(axis, found)
    return figure


def _draw(axis: Axes, cells: dict[str, Cell]) -> None:
    seconds = {method: cell.scores["seconds"] for method, cell in cells.items()}
    for place, (method, value) in enumerate(reversed(seconds.items())):
        axis.plot(value, place, "o", color=colour(method))
        ends = ends_of(cells[method], "seconds")
        axis.plot(ends, (place, place), color=colour(method), linewidth=2.5, alpha=0.5)
        axis.annotate(
            in_words(value),
            (max(value, ends[1]), place),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color="#3d3d3d",
        )
    axis.set_yticks(range(len(seconds)), list(reversed(seconds)))
    axis.set_ylim(-0.6, len(seconds) - 0.4)
    axis.grid(axis="y", color="#e4e7ea", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.set_xscale("log")
    every = [end for cell in cells.values() for end in ends_of(cell, "seconds")]
    low, high = min(every), max(every)
    # The numbers stand to the right of their dots and need space there.
    ratio = max(high / low, 10.0)
    axis.set_xlim(low / ratio**0.08, high * ratio**0.3)
    # Labels of more than three powers of ten overlap if there are some between the powers.
    plain_log_ticks(axis.xaxis, (1.0,) if ratio**1.38 > 1e3 else (1.0, 2.0, 5.0))
    axis.set_xlabel("processor seconds", fontsize=8)


def in_words(seconds: float) -> str:
    """Format seconds with two significant digits, whole seconds from ten on: 0.012, 3.0, 1,830."""
    return f"{seconds:,.0f}" if seconds >= 9.95 else f"{seconds:#.2g}"
