"""Figure of a run: predictions and labels above, a score of all rows so far below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from matplotlib.axes import Axes

from iegp._docstrings import fill_docstrings
from iegp.errors import InputError
from iegp.evaluate.classification import running_error
from iegp.evaluate.metrics import running_nmse
from iegp.evaluate.runs import ClassificationRun, PrequentialRun
from iegp.plots.display import DOCS, Panels, Run, RunDisplay, output_column
from iegp.plots.stream import BAND, INK, dot_style, draw_band, finish_rows, label_times, visible
from iegp.typing import Float, Int

_NAMES = {"nmse": "nMSE", "pnll": "−log score (nats)", "log_loss": "log loss (nats)"}


@fill_docstrings(DOCS)
class PrequentialDisplay(RunDisplay):
    """Predictions of a run, each made before its label was used, and below them a score of all rows so far.

    For numbers and counts the upper panel shows labels, predicted means and intervals. For classes it shows the share
    of wrong predictions so far, over faint dots: the probability that the prediction gave to each row's true class.
    Rows of a data frame with a ``DatetimeIndex`` have their times at the ticks.

    Parameters
    ----------
    {run}

    {example_run}
    >>> from iegp.plots import PrequentialDisplay
    >>> display = PrequentialDisplay.from_run(run, target=stream.target_name)
    >>> display.figure_.savefig("run.png")  # doctest: +SKIP
    """

    def plot(
        self,
        ax: Panels = None,
        *,
        score: str | None = None,
        output: int = 0,
        target: str | None = None,
        title: str = "",
        first_row: int = 0,
        changes: Sequence[int] | None = None,
        zoom: tuple[int, int] | None = None,
    ) -> Self:
        """Draw predictions and running score.

        Parameters
        ----------
        {ax}
        score : {"nmse", "pnll", "log_loss"}, optional
            Score of the lower panel: ``"nmse"`` or ``"pnll"``, the mean negative log score (of all outputs together),
            for numbers and counts; ``"log_loss"`` for classes. ``None`` is nMSE where the labels vary, else the log
            score.
        output : int, default=0
            Column to show of a y that has several.
        target : str, optional
            Name and unit of the label; by default the name of the pandas Series, or else "y".
        {title}
        first_row, changes, zoom : int, sequence of int, pair of int
            As in :func:`draw_run`: number of the run's first row, rows to mark, and the range of rows to show. Without
            ``changes`` those that the model noticed are marked.

        {returns_display}
        """
        rows, shown = visible(len(self.run), first_row, zoom)
        so_far, name = _running_score(self.run, score, output)
        self._take(ax, (2.2, 1))
        if isinstance(self.run, PrequentialRun):
            _draw_numbers(self.ax_, rows, shown, self.run, output, target)
        else:
            _draw_errors(self.ax_, rows, shown, self.run)
        if self.lower_ax_ is not None:
            last = so_far[shown][-1]
            self.lower_ax_.plot(rows, so_far[shown], color=INK, lw=1.4, label=f"{last:#.3g} after row {rows[-1]}")
            self.lower_ax_.set_ylabel(f"{name}\nof rows so far")
            _limit(self.lower_ax_, so_far[shown], from_zero=name != _NAMES["pnll"])
        if changes is None:
            finish_rows(self._panels, rows, _noticed(self.run, first_row), title, "change noticed")
        else:
            finish_rows(self._panels, rows, changes, title)
        label_times(self._panels[-1], rows, self.run.index, first_row)
        for panel in self._panels:
            self._legend(panel, "upper right")
        return self


def _running_score(run: Run, score: str | None, output: int) -> tuple[Float, str]:
    """Return the score of all rows so far after every row, NaN where there is nothing to score, and its name."""
    choices = ("nmse", "pnll") if isinstance(run, PrequentialRun) else ("log_loss",)
    if score is not None and score not in choices:
        raise InputError(f"score={score!r} is not one of a {type(run).__name__}; use {' or '.join(map(repr, choices))}")
    chosen, n_blind = score or choices[0], 0
    if isinstance(run, PrequentialRun):
        y, mean, n_blind = output_column(run.y, output), output_column(run.mean, output), run.n_blind
        # Labels all alike have no variance to compare with.
        if score is None and np.ptp(y[n_blind:]) == 0.0:
            chosen = "pnll"
    so_far: Float
    if chosen == "nmse":
        so_far = running_nmse(y[n_blind:], mean[n_blind:])
    else:
        so_far = np.cumsum(-run.log_score[n_blind:]) / np.arange(1, len(run) - n_blind + 1)
    return np.concatenate([np.full(n_blind, np.nan), so_far]), _NAMES[chosen]


def _noticed(run: Run, first_row: int) -> list[int]:
    """Rows where a change was noticed; classes have none."""
    found = run.changes if isinstance(run, PrequentialRun) else ()
    return [change.row - run.n_before + first_row for change in found]


def _draw_numbers(axes: Axes, rows: Int, shown: slice, run: PrequentialRun, output: int, target: str | None) -> None:
    y, mean, lower, upper = (output_column(part, output)[shown] for part in (run.y, run.mean, run.lower, run.upper))
    name = run.targets[output] if target is None and output < len(run.targets) else target
    draw_band(axes, rows, y, mean, lower, upper, "y" if name is None else name, run.level)


def _draw_errors(axes: Axes, rows: Int, shown: slice, run: ClassificationRun) -> None:
    truth = np.exp(run.log_score[shown])
    size, alpha = dot_style(len(rows))
    axes.plot(rows, truth, ".", color=BAND, ms=size, alpha=alpha, mew=0, label="probability of\nthe true class")
    wrong = running_error(run.y, run.predicted)[shown]
    axes.plot(rows, wrong, color=INK, lw=1.4, label=f"error rate so far:\n{100 * wrong[-1]:.1f} % after row {rows[-1]}")
    axes.set_ylabel("error rate, probability")
    axes.set_ylim(-0.02, 1.02)


def _limit(axes: Axes, values: Float, from_zero: bool) -> None:
    """Set limits by most values: a few rows at the start of a stream would flatten everything else."""
    usable = values[np.isfinite(values)]
    if len(usable) == 0:
        return
    low, high = np.percentile(usable, [0.0, 95.0])
    low, high = min(low, usable[-1]), max(high, usable[-1])
    margin = 0.2 * (high - (0.0 if from_zero else low)) or 1.0
    axes.set_ylim(0.0 if from_zero else low - margin, high + margin)
