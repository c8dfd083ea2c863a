"""Regret against the number of rows: means over seeds with their 95 % intervals."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from iegp_paper.cell import Cell
from iegp_paper.experiment import Experiment
from iegp_paper.figures.panels import label_left, legend, panels, thousands
from iegp_paper.figures.spread import draw_spread, mean_of
from iegp_paper.results import Cells

BLUE, ORANGE, TEAL = "#12436d", "#f46a25", "#28a197"


def regret(experiment: Experiment, cells: Cells) -> Figure | None:
    """Draw static regret over log T: against the best parameter under its bound, and against the best function."""
    del experiment
    shown = [cell for cell in cells.values() if cell.lines]
    if not shown:
        return None
    cell = shown[0]
    figure, axes = panels(["against the best parameter (Lemma 1)", "against the best function (Theorem 1)"])
    draw_spread(axes[0], cell.lines["size"], mean_of(cell, "regret"), BLUE, "regret", "o-")
    # A line alone: its band would cover that of the regret, which follows it closely.
    bound = mean_of(cell, "bound").middle
    axes[0].plot(cell.lines["size"], bound, "--", color=ORANGE, linewidth=1.3, label="Lemma 1 with its constant")
    _draw_parts(axes[1], cell)
    for axis, sizes in zip(axes, (cell.lines["size"], cell.lines["size to RKHS"]), strict=True):
        _mark_sizes(axis, sizes)
        axis.set_ylabel("regret (nats)", fontsize=8)
        axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]))
        axis.legend(frameon=False, fontsize=8)
    return figure


def parts(experiment: Experiment, cells: Cells) -> Figure | None:
    """Draw static regret to the best function and its two parts, one panel per method."""
    del experiment
    shown = {method: cell for (_, method), cell in cells.items() if cell.lines}
    if not shown:
        return None
    figure, axes = panels(list(shown))
    for axis, cell in zip(axes, shown.values(), strict=True):
        _draw_parts(axis, cell)
        _mark_sizes(axis, cell.lines["size to RKHS"])
        axis.axhline(0.0, color="#888888", linewidth=0.6)
    label_left(axes, "regret (nats)")
    legend(figure, axes)
    return figure


def _draw_parts(axis: Axes, cell: Cell) -> None:
    sizes = cell.lines["size to RKHS"]
    draw_spread(axis, sizes, mean_of(cell, "to RKHS"), BLUE, "regret", "o-")
    for name, colour, label in (
        ("features", ORANGE, "lost by random features"),
        ("comparator", TEAL, "lost by exact GPs"),
    ):
        if name in cell.lines:
            draw_spread(axis, sizes, mean_of(cell, name), colour, label, "s--")


def average(experiment: Experiment, cells: Cells) -> Figure | None:
    """Draw switching regret over T, against T."""
    del experiment
    shown = [cell for cell in cells.values() if cell.lines]
    if not shown:
        return None
    figure, axes = panels(["average switching regret"])
    for name, colour, label in (
        ("average", BLUE, "functions of all rows (definition)"),
        ("average to own rows", ORANGE, "functions of their own half (proof)"),
    ):
        if name in shown[0].lines:
            draw_spread(axes[0], shown[0].lines["size"], mean_of(shown[0], name), colour, label, "o-")
    axes[0].axhline(0.0, color="#888888", linewidth=0.6)
    _mark_sizes(axes[0], shown[0].lines["size"])
    axes[0].set_ylabel("regret / T (nats)", fontsize=8)
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def _mark_sizes(axis: Axes, sizes: Sequence[float]) -> None:
    """Set a logarithmic axis with its ticks at the measured sizes."""
    axis.set_xscale("log", base=2)
    axis.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
    axis.set_xticks([], minor=True)
    axis.set_xlabel("rows T (logarithmic)", fontsize=8)
    thousands(axis.yaxis)
