"""Figure of a run: labels with the predictive interval above, weights of the experts below, on one time axis."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from iegp.errors import InputError
from iegp.evaluate.label_range import label_range, outside
from iegp.evaluate.runs import LEVEL, PrequentialRun
from iegp.typing import Float, Int

INK, BAND, TRUTH, MARK = "#12436d", "#9cc3e6", "#1a1a1a", "#c0392b"
SIZE = (10, 5.6)
# Up to this number of rows dots are large; above the second one they are translucent.
FEW, MANY = 300, 1000
# Sum of the widths of all passages of a line from bottom to top, in points, of the 500 or so that a panel has.
MOST_INK = 40.0
# Over longer stretches the time of day is not written at the ticks.
_MANY_DAYS = timedelta(days=30)
# Static experts grey, then warmer the faster they drift.
DRIFT_COLOURS = ("#b8bec4", "#7fb3d5", "#f5b041", "#cb4335", "#76448a", "#1e8449")


def plot_run(
    run: PrequentialRun, experts: Sequence[Any], *, title: str = "", target: str = "y", **options: Any
) -> Figure:
    """Draw a run of one output: the interval with the labels, and the weights of the experts by drift.

    Parameters
    ----------
    run : PrequentialRun
        Run of a regressor. A run of a classifier raises ``InputError``.
    experts : sequence
        ``model.experts_`` of the model that made the run; weights are summed over experts with the same drift.
    title : str, default=""
        Title of the figure.
    target : str, default="y"
        Name and unit of the label.
    **options : object
        ``changes``, ``zoom`` and ``first_row`` of :func:`draw_run`.

    Returns
    -------
    matplotlib.figure.Figure
        Figure with two panels.

    Examples
    --------
    >>> from iegp import IEGPRegressor
    >>> from iegp.datasets import robot_arm
    >>> stream = robot_arm(200, random_state=0)
    >>> model = IEGPRegressor(n_frequencies=10, random_state=0)
    >>> figure = plot_run(model.prequential(stream.X, stream.y), model.experts_, target=stream.target_name)
    >>> figure.savefig("run.png")  # doctest: +SKIP
    """
    if not hasattr(run, "mean"):
        raise InputError(f"plot_run draws numbers, not {run!r}; use iegp.plots.PrequentialDisplay.from_run(run)")
    groups = ["0 (static)" if expert.drift == 0.0 else expert.speed for expert in experts]
    shown = run.y, run.mean, run.lower, run.upper, run.weights
    return draw_run(*shown, groups, title=title, target=target, level=run.level, **options)


def draw_run(
    y: Float,
    mean: Float,
    lower: Float,
    upper: Float,
    weights: Float,
    groups: Sequence[str],
    *,
    title: str,
    target: str,
    level: float = LEVEL,
    first_row: int = 0,
    changes: Sequence[int] = (),
    zoom: tuple[int, int] | None = None,
) -> Figure:
    """Draw predictions and weights of a stream from plain arrays.

    Parameters
    ----------
    y, mean, lower, upper : ndarray (n,)
        Labels, predicted means, and the ends of the intervals.
    weights : ndarray (n, M)
        Weights of the experts at every row.
    groups : sequence of str
        Group of every expert (column of ``weights``); weights are summed within a group.
    title : str
        Title of the figure.
    target : str
        Name and unit of the label.
    level : float, default=0.95
        Level of the interval, for the legend.
    first_row : int, default=0
        Number of the first of these rows, counted from the start of the stream.
    changes : sequence of int, default=()
        Rows where the stream is known to change, counted from its start; marked by lines.
    zoom : tuple of int, optional
        First row to show and the one after the last, counted from the start of the stream.

    Returns
    -------
    matplotlib.figure.Figure
        Figure with two panels.
    """
    rows, shown = visible(len(y), first_row, zoom)
    figure = Figure(figsize=SIZE, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(2.2, 1))
    draw_band(above, rows, y[shown], mean[shown], lower[shown], upper[shown], target, level)
    draw_weights(below, rows, weights[shown], groups, DRIFT_COLOURS)
    finish_rows([above, below], rows, changes, title)
    legend(above)
    legend(below, "drift_var", upside_down=True)
    return figure


# -- parts that other figures share ----------------------------------------------------------------------------------


def visible(n: int, first_row: int, zoom: tuple[int, int] | None) -> tuple[Int, slice]:
    """Return the numbers of the rows to show, counted from the stream's start, and their slice of the run."""
    begin, end = (first_row, first_row + n) if zoom is None else zoom
    shown = slice(max(begin - first_row, 0), min(max(end - first_row, 0), n))
    if shown.stop <= shown.start:
        raise InputError(
            f"zoom={zoom!r} shows none of the rows {first_row} to {first_row + n - 1}; give (first, last + 1) of these"
        )
    return np.arange(first_row + shown.start, first_row + shown.stop), shown


def draw_band(
    axes: Axes, rows: Int, y: Float, mean: Float, lower: Float, upper: Float, target: str, level: float
) -> None:
    """Draw interval, mean and labels."""
    axes.fill_between(rows, lower, upper, color=BAND, lw=0, label=f"{100 * level:g} % interval")
    low, high = label_range(y, mean, lower, upper)
    low, high = (low, high) if high > low else (low - 1.0, high + 1.0)
    axes.plot(rows, mean, color=INK, lw=_line_width(mean, high - low), label="predicted mean")
    size, alpha = dot_style(len(rows))
    # Between band and mean where there are many: dots that touch would hide the mean.
    layer = 2.0 if len(rows) <= MANY else 1.5
    name = "label, seen afterwards"
    axes.plot(rows, y, ".", color=TRUTH, ms=size, alpha=alpha, mew=0, zorder=layer, label=name)
    axes.set_ylabel(target)
    axes.set_ylim(low, high)
    _draw_edges(axes, rows, y)


def dot_style(n: int) -> tuple[float, float]:
    """Return size and opacity of ``n`` dots: small and translucent where there are many."""
    if n <= FEW:
        return 5.0, 1.0
    return (3.0, 1.0) if n <= MANY else (3.0, max(0.3, MANY / n))


def _line_width(values: Float, height: float) -> float:
    """Return the width of a line, thin if it goes up and down so often that it would fill the panel."""
    crossings = float(np.nansum(np.abs(np.diff(values)))) / height
    return min(1.2, max(0.2, MOST_INK / max(crossings, 1.0)))


def _draw_edges(axes: Axes, rows: Int, y: Float) -> None:
    """Draw triangles at the edge for labels outside the axis, and count them in the legend."""
    low, high = axes.get_ylim()
    below, above = outside(y, low, high)
    n = int(below.sum() + above.sum())
    names = iter([f"{n:,} label{'' if n == 1 else 's'}\noutside the axis"])
    for which, edge, mark in ((above, 0.985, "^"), (below, 0.015, "v")):
        if which.any():
            place, heights = axes.get_xaxis_transform(), np.full(int(which.sum()), edge)
            axes.plot(rows[which], heights, mark, color=TRUTH, ms=5.0, mew=0, transform=place, label=next(names, None))


def draw_weights(axes: Axes, rows: Int, weights: Float, groups: Sequence[str], colours: Sequence[str]) -> None:
    """Draw weights stacked up to one, summed within groups, the first at the bottom."""
    names = list(dict.fromkeys(groups))
    totals = [weights[:, [i for i, group in enumerate(groups) if group == name]].sum(axis=1) for name in names]
    axes.stackplot(rows, totals, labels=names, colors=colours[: len(names)], lw=0)
    axes.set_ylim(0.0, 1.0)
    axes.set_ylabel("weight of experts")


def finish_rows(
    panels: Sequence[Axes], rows: Int, changes: Sequence[int], title: str, name: str = "the stream changes"
) -> None:
    """Add changes under ``name``, title and time axis to panels one below the other over the same rows."""
    marked = [change for change in changes if rows[0] <= change <= rows[-1]]
    for panel in panels:
        for change in marked:
            # Named once: in the legend of the first panel.
            named = panel is panels[0] and change == marked[0]
            panel.axvline(change, color=MARK, lw=1.2, ls="--", label=name if named else None)
        panel.spines[["top", "right"]].set_visible(False)
        if len(rows) > 1:
            panel.set_xlim(rows[0], rows[-1])
    panels[0].set_title(title, loc="left", fontsize=11)
    panels[-1].set_xlabel("row of the stream")


def label_times(axes: Axes, rows: Int, index: Any, first_row: int) -> None:
    """Label the ticks with the times of their rows, where the index of a run has times; rows keep equal distances."""
    if not hasattr(index, "strftime"):
        return
    times = index[rows - first_row]
    # Dates alone where the day says enough; a PeriodIndex counts by its starts.
    starts = times.to_timestamp() if hasattr(times, "to_timestamp") else times
    texts = times.strftime("%Y-%m-%d" if abs(starts[-1] - starts[0]) > _MANY_DAYS else "%Y-%m-%d\n%H:%M")

    def text_of(row: float, _: Any) -> str:
        place = round(row) - int(rows[0])
        return str(texts[place]) if 0 <= place < len(texts) and row == round(row) else ""

    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(text_of))
    axes.set_xlabel("time of the row")


def legend(axes: Axes, title: str | None = None, upside_down: bool = False, inside: str | None = None) -> None:
    """Add a legend to the right of the panel, where it hides nothing; or in a corner of axes that the caller gave."""
    handles, labels = axes.get_legend_handles_labels()
    if upside_down:
        handles, labels = handles[::-1], labels[::-1]
    place: dict[str, Any] = {"loc": inside, "framealpha": 0.8}
    if inside is None:
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
    shown = axes.legend(handles, labels, fontsize=9, title=title, title_fontsize=9, alignment="left", **place)
    for handle in shown.legend_handles:
        if isinstance(handle, Line2D):
            # Thin lines and small translucent dots are hardly seen one at a time.
            handle.set(
                alpha=1.0, linewidth=max(handle.get_linewidth(), 1.2), markersize=max(handle.get_markersize(), 5.0)
            )
