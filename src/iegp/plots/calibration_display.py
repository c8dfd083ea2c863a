"""Figure of calibration: coverage of intervals by window of the stream, or reliability of class probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from matplotlib.ticker import MaxNLocator, PercentFormatter
from scipy import stats

from iegp._docstrings import fill_docstrings
from iegp.core.settings import check_whole
from iegp.errors import InputError
from iegp.evaluate.classification import reliability
from iegp.evaluate.runs import PrequentialRun
from iegp.plots.display import DOCS, GREY, Panels, Run, RunDisplay, output_column
from iegp.plots.stream import BAND, INK, MARK, TRUTH, finish_rows
from iegp.typing import Float, Int

# Share of calibrated windows, or groups of rows, that fall into the grey band.
CHANCE = 0.95
ROWS_PER_WINDOW, MOST_WINDOWS = 50, 20
# A group of fewer rows is too small for a share to mean anything.
GROUPS, FEWEST_ROWS = 10, 10


class Calibration(NamedTuple):
    """Nominal and observed shares: of labels in their interval, by window; or of right predictions, by confidence."""

    expected: Float
    observed: Float
    rows: Int
    """Number of rows in each window or group."""
    low: Float
    high: Float
    """Range of 95 % of the observed shares, by chance, if predictions are calibrated."""


@fill_docstrings(DOCS)
class CalibrationDisplay(RunDisplay):
    """Calibration of a run: nominal against observed shares, and how far apart the two may be by chance.

    For numbers and counts: the share of labels inside their interval, window after window of the stream, against the
    level of the interval; below it, the width of the intervals. An interval of a count covers *at least* its level,
    because counts are discrete: small counts lie above.

    For classes: a reliability diagram, the share of right predictions against their predicted probability, in groups of
    rows by that probability; below it, the number of rows of each group. Groups of fewer than 10 rows are only counted.

    The grey band holds 95 % of the points if predictions are calibrated, so one in twenty may lie outside; those are
    red.

    Parameters
    ----------
    {run}
    bins : int, default=None
        Number of windows (``None``: of some 50 rows, at most 20), or of groups (``None``: 10).
    output : int, default=0
        The column to look at of a y that has several.

    Attributes
    ----------
    calibration : Calibration
        The numbers that are drawn.

    {example_run}
    >>> from iegp.plots import CalibrationDisplay
    >>> display = CalibrationDisplay.from_run(run, bins=4, target=stream.target_name)
    >>> display.calibration.rows
    array([50, 50, 50, 50])
    """

    def __init__(self, run: Run, *, bins: int | None = None, output: int = 0) -> None:
        super().__init__(run)
        self.output = output
        if bins is not None:
            check_whole("bins", bins, 1)
        if isinstance(run, PrequentialRun):
            self._windows = window_edges(len(run), run.n_blind, bins)
            self.calibration = coverage_of_windows(run, output, self._windows)
        else:
            self._n_groups = bins or GROUPS
            groups = reliability(run.y, run.proba, run.classes, self._n_groups)
            self.calibration = with_chance(groups.confidence, groups.accuracy, groups.rows)

    @classmethod
    def from_run(cls, run: Run, *, bins: int | None = None, output: int = 0, ax: Panels = None, **kwargs: Any) -> Self:
        """Draw the calibration of a run.

        Parameters
        ----------
        run, bins, output : PrequentialRun or ClassificationRun, int, int
            The run, the number of windows or groups, and the column of y, as for the class.
        {ax}
        {plot_arguments}

        {returns_display}
        """
        return cls(run, bins=bins, output=output).plot(ax, **kwargs)

    def plot(
        self,
        ax: Panels = None,
        *,
        target: str = "y",
        title: str = "",
        first_row: int = 0,
        changes: Sequence[int] = (),
    ) -> Self:
        """Draw the calibration.

        Parameters
        ----------
        {ax}
        target : str, default="y"
            Name and unit of the label; used for intervals only, as are ``first_row`` and ``changes``.
        {title}
        first_row, changes : int, sequence of int
            As in :func:`draw_run`: number of the run's first row, and rows to mark.

        {returns_display}
        """
        if isinstance(self.run, PrequentialRun):
            self._take(ax, (2.2, 1))
            self._draw_windows(self.run, first_row, changes, target, title)
        else:
            self._take(ax, (2.2, 1), (7, 5.6))
            self._draw_groups(title)
        self._legend(self.ax_, "lower right")
        return self

    def _draw_windows(
        self, run: PrequentialRun, first_row: int, changes: Sequence[int], target: str, title: str
    ) -> None:
        edges, found = self._windows + first_row, self.calibration
        middle = np.asarray(0.5 * (edges[:-1] + edges[1:] - 1))
        self.ax_.stairs(found.high, edges, baseline=found.low, fill=True, color=GREY, label=_calibrated("windows"))
        self.ax_.axhline(run.level, color=TRUTH, lw=1.0, ls="--", label=f"nominal: {100 * run.level:g} %")
        overall = 100 * np.average(found.observed, weights=found.rows)
        self._points(middle, found, f"observed: {overall:.1f} % in all")
        self.ax_.set_ylabel("labels inside the interval")
        if self.lower_ax_ is not None:
            width = mean_of_windows(
                output_column(run.upper, self.output) - output_column(run.lower, self.output), self._windows
            )
            self.lower_ax_.stairs(width, edges, color=INK, lw=1.4, baseline=None)
            self.lower_ax_.set_ylabel(f"width of interval,\n{target}")
            # Intervals may be very wide at the start of a stream and after a change.
            self.lower_ax_.set_ylim(0.0, 1.1 * min(width.max(), 4.0 * np.median(width)) or 1.0)
        finish_rows(self._panels, np.arange(edges[0], edges[-1]), changes, title)

    def _draw_groups(self, title: str) -> None:
        every, width = self.calibration, 1.0 / self._n_groups
        # A group includes its upper end.
        left = width * np.searchsorted(width * np.arange(1, self._n_groups), every.expected - 1e-12, side="left")
        begin = float(left[0])
        large = every.rows >= min(FEWEST_ROWS, every.rows.max())
        found = Calibration(*(part[large] for part in every))
        heights = found.high - found.low
        self.ax_.bar(left[large], heights, width, found.low, align="edge", color=GREY, label=_calibrated("groups"))
        self.ax_.plot([begin, 1.0], [begin, 1.0], color=TRUTH, lw=1.0, ls="--", label="nominal")
        gap = np.average(np.abs(every.observed - every.expected), weights=every.rows)
        self._points(found.expected, found, f"observed:\ncalibration error {gap:.3f}")
        self.ax_.set_ylabel("right predictions")
        self.ax_.set_title(title, loc="left", fontsize=11)
        if self.lower_ax_ is not None:
            bars = self.lower_ax_.bar(left, every.rows, 0.92 * width, align="edge", color=BAND)
            self.lower_ax_.bar_label(bars, fontsize=8, padding=1)
            self.lower_ax_.set_ylim(0.0, 1.2 * every.rows.max())
            self.lower_ax_.yaxis.set_major_locator(MaxNLocator(3, integer=True))
            self.lower_ax_.set_ylabel("rows")
        for panel in self._panels:
            panel.set_xlim(begin - 0.01, 1.01)
            panel.spines[["top", "right"]].set_visible(False)
        self._panels[-1].set_xlabel("probability of the predicted class")
        self._panels[-1].xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))

    def _points(self, where: Float, found: Calibration, label: str) -> None:
        """Draw observed shares, red outside the band, and set limits that show all."""
        self.ax_.plot(where, found.observed, "o-", color=INK, lw=1.2, ms=5, label=label)
        outside = (found.observed < found.low - 1e-12) | (found.observed > found.high + 1e-12)
        if outside.any():
            self.ax_.plot(where[outside], found.observed[outside], "o", color=MARK, ms=6, label="outside the grey band")
        lowest = min(found.observed.min(), found.low.min(), found.expected.min())
        self.ax_.set_ylim(lowest - 0.05 * (1.0 - lowest) - 0.005, 1.0 + 0.05 * (1.0 - lowest) + 0.005)
        self.ax_.yaxis.set_major_locator(MaxNLocator(9, steps=(1, 2, 5, 10)))  # whole per cent, in even steps
        self.ax_.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))


def _calibrated(parts: str) -> str:
    return f"{100 * CHANCE:g} % of calibrated {parts}"


def window_edges(n: int, n_blind: int, bins: int | None) -> Int:
    """Return the first rows of windows of nearly equal length, and the end."""
    scored = n - n_blind
    wanted = min(max(scored // ROWS_PER_WINDOW, 1), MOST_WINDOWS) if bins is None else bins
    if wanted > scored:
        raise InputError(f"bins={bins} windows cannot be made of {scored} rows; ask for fewer, or None")
    return np.asarray(n_blind + np.arange(wanted + 1) * scored // wanted, dtype=np.int64)


def mean_of_windows(values: Float, edges: Int) -> Float:
    """Compute the mean of the values of every window."""
    return np.add.reduceat(values[: edges[-1]], edges[:-1]) / np.diff(edges)


def coverage_of_windows(run: PrequentialRun, output: int, edges: Int) -> Calibration:
    """Compute the shares of labels inside their interval, against the level of the interval."""
    y, lower, upper = (output_column(part, output) for part in (run.y, run.lower, run.upper))
    inside = ((lower <= y) & (y <= upper)).astype(np.float64)
    return with_chance(np.full(len(edges) - 1, run.level), mean_of_windows(inside, edges), np.diff(edges))


def with_chance(expected: Float, observed: Float, rows: Int) -> Calibration:
    """Add the range in which the observed shares fall by chance."""
    # A mean of probabilities of one may be above one by a rounding error.
    nominal = np.minimum(expected, 1.0)
    low, high = (stats.binom.ppf(0.5 + 0.5 * sign * CHANCE, rows, nominal) / rows for sign in (-1, 1))
    return Calibration(expected, observed, rows, low, high)
