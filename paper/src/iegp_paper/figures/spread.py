"""Middle and spread of lines and scores over the runs of a method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from iegp.typing import Float
from iegp_paper.bootstrap import interval
from iegp_paper.cell import Cell

# What a band or a bar of a figure covers.
QUANTILES = (0.05, 0.95)


class Spread(NamedTuple):
    """Middle, lower and upper ends along a line."""

    middle: Float
    low: Float
    high: Float


def spread_of(cell: Cell, lines: Callable[[Any], Sequence[float]], name: str) -> Spread:
    """Compute the median and the central 90 % of a line over the runs, point by point."""
    runs = [lines(run[name]) for run in (cell.runs or (cell.lines,)) if name in run]
    rows = np.array(runs, dtype=np.float64)
    low, high = np.quantile(rows, QUANTILES, axis=0)
    return Spread(np.median(rows, axis=0), low, high)


def mean_of(cell: Cell, name: str) -> Spread:
    """Compute the mean of a line over the runs with its 95 % interval, point by point."""
    rows = np.array([run[name] for run in (cell.runs or (cell.lines,)) if name in run], dtype=np.float64)
    ends = [interval(column[:, None], lambda stack: stack[..., 0].mean(axis=-1)) for column in rows.T]
    return Spread(rows.mean(axis=0), np.array([own.low for own in ends]), np.array([own.high for own in ends]))


def ends_of(cell: Cell, score: str) -> tuple[float, float]:
    """Return the ends of the central 90 % of a score over the runs."""
    values = list(cell.values.get(score, {}).values()) or [cell.scores[score]]
    low, high = np.quantile(values, QUANTILES)
    return float(low), float(high)


def draw_spread(axis: Axes, at: Sequence[float], spread: Spread, colour: str, label: str, style: str = "-") -> None:
    """Draw a line in its band."""
    axis.fill_between(at, spread.low, spread.high, color=colour, alpha=0.2, linewidth=0.0)
    axis.plot(at, spread.middle, style, color=colour, label=label, linewidth=1.3, markersize=4)
