"""Regret against the number of rows."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from iegp_paper.experiment import Experiment
from iegp_paper.figures.panels import panels
from iegp_paper.results import Cells


def regret(experiment: Experiment, cells: Cells) -> Figure | None:
    """Draw static regret over log T: against the best parameter under its bound, and against the best function."""
    del experiment
    shown = [cell for cell in cells.values() if cell.lines]
    if not shown:
        return None
    lines = shown[0].lines
    figure, axes = panels(["against the best parameter", "against the best function of the RKHS"])
    axes[0].plot(lines["size"], lines["regret"], "o-", color="#12436d", label="regret")
    axes[0].plot(lines["size"], lines["bound"], "--", color="#f46a25", label="Lemma 1 with its constant")
    axes[1].plot(lines["size to RKHS"], lines["to RKHS"], "o-", color="#12436d", label="regret")
    for axis, sizes in zip(axes, (lines["size"], lines["size to RKHS"]), strict=True):
        _mark_sizes(axis, sizes)
        axis.set_ylabel("regret (nats)", fontsize=8)
        axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]))
        axis.legend(frameon=False, fontsize=8)
    return figure


def average(experiment: Experiment, cells: Cells) -> Figure | None:
    """Draw switching regret over T, against T."""
    del experiment
    shown = [cell for cell in cells.values() if cell.lines]
    if not shown:
        return None
    figure, axes = panels(["average switching regret"])
    axes[0].plot(shown[0].lines["size"], shown[0].lines["average"], "o-", color="#12436d")
    axes[0].axhline(0.0, color="#888888", linewidth=0.6)
    _mark_sizes(axes[0], shown[0].lines["size"])
    axes[0].set_ylabel("regret / T (nats)", fontsize=8)
    return figure


def _mark_sizes(axis: Axes, sizes: Sequence[int]) -> None:
    """Set a logarithmic axis with its ticks at the measured sizes."""
    axis.set_xscale("log", base=2)
    axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axis.set_xticks([], minor=True)
    axis.set_xlabel("rows T (logarithmic)", fontsize=8)
