"""Figures of experiments, one file per type; ``draw`` selects the one that an experiment names. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.figure import Figure

from iegp.errors import InputError
from iegp_paper.experiment import Experiment
from iegp_paper.figures.band import band
from iegp_paper.figures.curves import curves
from iegp_paper.figures.maps import maps
from iegp_paper.figures.regret import average, parts, regret
from iegp_paper.figures.scatter import scatter
from iegp_paper.figures.times import times
from iegp_paper.results import Cells

SHAPES: dict[str, Callable[[Experiment, Cells], Figure | None]] = {
    "average": average,
    "band": band,
    "curves": curves,
    "maps": maps,
    "parts": parts,
    "regret": regret,
    "scatter": scatter,
    "times": times,
}
# Of scores alone; the others draw lines that every run stores for them.
OF_SCORES = ("scatter", "times")


def is_whole(experiment: Experiment, cells: Cells) -> bool:
    """Say whether every run has what the figure of the experiment shows of it."""
    return experiment.figure in OF_SCORES or all(lines for cell in cells.values() for lines in cell.runs)


def draw(experiment: Experiment, cells: Cells) -> Figure | None:
    """Draw the figure of an experiment; None where it has none, or nothing was measured."""
    if not experiment.figure:
        return None
    if experiment.figure not in SHAPES:
        raise InputError(
            f"experiment {experiment.name!r}: figure {experiment.figure!r} is not known; use {', '.join(SHAPES)}"
        )
    return SHAPES[experiment.figure](experiment, cells)
