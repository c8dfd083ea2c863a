"""A score over the rows so far, one line per method."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from iegp_paper.experiment import Experiment
from iegp_paper.figures.panels import colour, label_left, legend, measured, panels
from iegp_paper.results import Cells


def curves(experiment: Experiment, cells: Cells) -> Figure | None:
    """Draw the first score of the experiment over the rows: the median run of each method."""
    score = experiment.shows[0]
    shown = measured(experiment, cells, score)
    if not shown:
        return None
    figure, axes = panels([data.title for data in shown])
    for axis, data in zip(axes, shown, strict=True):
        ends, warmup = [], 0
        for (name, method), cell in cells.items():
            if name == data.name and score in cell.lines:
                line: dict[str, list[float]] = cell.lines[score]
                # The first row that counts comes after those of the warm-up.
                warmup = int(line["row"][0]) - 1
                rows = [row - warmup for row in line["row"]]
                axis.plot(rows, line["value"], color=colour(method), label=method, linewidth=1.3)
                ends += line["value"][len(line["value"]) // 10 :]
        # The first values of a running mean vary widely; the axis is fitted to what follows.
        if ends:
            _limit(axis, ends, is_log=score == "nMSE")
        axis.set_xlabel("rows, after the warm-up" if warmup else "rows", fontsize=8)
    label_left(axes, score)
    legend(figure, axes)
    return figure


def _limit(axis: Axes, values: list[float], is_log: bool) -> None:
    low, high = min(values), max(values)
    if is_log and low > 0.0:
        axis.set_yscale("log")
        axis.set_ylim(low * 0.8, min(high * 1.2, 3.0))
    else:
        margin = 0.05 * (high - low) or 0.1
        axis.set_ylim(low - margin, high + margin)
