"""A score over the rows so far, one line per method in the band of its seeds."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from iegp_paper.experiment import Experiment
from iegp_paper.figures.panels import colour, label_left, legend, measured, panels, plain_log_ticks, thousands
from iegp_paper.figures.spread import draw_spread, spread_of
from iegp_paper.results import Cells
from iegp_paper.runs.support import base_name


def curves(experiment: Experiment, cells: Cells) -> Figure | None:
    """Draw the first score of the experiment over the rows; models that the paper does not have are dashed."""
    score = experiment.shows[0]
    shown = measured(experiment, cells, score)
    if not shown:
        return None
    figure, axes = panels([data.title for data in shown])
    for axis, data in zip(axes, shown, strict=True):
        ends, warmup = [], 0
        for (name, method), cell in cells.items():
            if name == data.name and score in cell.lines and not _is_variant(experiment, method):
                # The first row that counts comes after those of the warm-up.
                warmup = int(cell.lines[score]["row"][0]) - 1
                rows = [row - warmup for row in cell.lines[score]["row"]]
                spread = spread_of(cell, lambda line: line["value"], score)
                style = "--" if method in experiment.extra else "-"
                draw_spread(axis, rows, spread, colour(method), method, style)
                ends += spread.middle[len(rows) // 10 :].tolist()
        # The first values of a running mean vary widely; the axis is fitted to what follows.
        if ends:
            _limit(axis, ends, is_log=score == "nMSE")
        thousands(axis.xaxis)
        axis.set_xlabel("rows, after the warm-up" if warmup else "rows", fontsize=8)
    label_left(axes, score)
    legend(figure, axes)
    return figure


def _is_variant(experiment: Experiment, method: str) -> bool:
    """Say whether a method is a variant of another one that the paper does not have either: for the table alone."""
    return method in experiment.extra and base_name(method) != method


def _limit(axis: Axes, values: list[float], is_log: bool) -> None:
    low, high = min(values), max(values)
    if is_log and low > 0.0:
        axis.set_yscale("log")
        plain_log_ticks(axis.yaxis)
        axis.set_ylim(low * 0.8, min(high * 1.2, 3.0))
    else:
        margin = 0.05 * (high - low) or 0.1
        axis.set_ylim(low - margin, high + margin)
