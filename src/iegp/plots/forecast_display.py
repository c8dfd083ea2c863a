"""Figure of forecasts: labels with the forecasts of one row ahead above, the error by row ahead below."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from matplotlib.ticker import MaxNLocator

from iegp._docstrings import fill_docstrings
from iegp.errors import InputError
from iegp.evaluate.forecasts import ForecastRun
from iegp.plots.display import DOCS, Display, Panels
from iegp.plots.stream import INK, MARK, draw_band, finish_rows, visible

# Of naive forecasts: the last value, the last one in phase.
_NAIVE = ("#8a949c", MARK)
# Up to this many rows ahead each has a dot.
_MOST_DOTS = 50


@fill_docstrings(DOCS)
class ForecastDisplay(Display):
    """Forecasts that were made a fixed number of rows before, and below them the error by row ahead.

    Parameters
    ----------
    run : ForecastRun
        What :meth:`iegp.IEGPForecaster.prequential` returned.

    Examples
    --------
    >>> import numpy as np
    >>> from iegp import IEGPForecaster
    >>> from iegp.plots import ForecastDisplay
    >>> t = np.arange(200)
    >>> y = np.sin(2 * np.pi * t / 12) + 0.1 * np.random.default_rng(0).standard_normal(200)
    >>> run = IEGPForecaster(horizon=3, season=12, random_state=0).prequential(y)
    >>> display = ForecastDisplay.from_run(run, season=12, target="level (m)")
    >>> display.figure_.savefig("forecasts.png")  # doctest: +SKIP
    """

    def __init__(self, run: ForecastRun) -> None:
        if not isinstance(run, ForecastRun):
            raise InputError(f"run={run!r:.80} is not a ForecastRun; give what IEGPForecaster.prequential returned")
        if not np.any(run.is_scored):
            needed = 2 * run.horizon + 1
            raise InputError(f"none of the {len(run)} origins is scored; a figure needs a series of {needed} rows")
        self.run = run

    @classmethod
    def from_run(cls, run: ForecastRun, *, ax: Panels = None, **kwargs: Any) -> Self:
        """Draw the forecasts of a run.

        Parameters
        ----------
        run : ForecastRun
            Run of :meth:`iegp.IEGPForecaster.prequential`, with at least one scored origin.
        {ax}
        {plot_arguments}

        {returns_display}
        """
        return cls(run).plot(ax, **kwargs)

    def plot(
        self,
        ax: Panels = None,
        *,
        step: int | None = None,
        season: int = 1,
        target: str = "y",
        title: str | None = None,
        zoom: tuple[int, int] | None = None,
    ) -> Self:
        """Draw forecasts and errors.

        Parameters
        ----------
        {ax}
        step : int, optional
            Rows ahead of the forecasts in the upper panel, from 1 on; by default the horizon.
        season : int, default=1
            Length of the season in rows; above 1, the error of repeating the value a season ago is drawn too.
        target : str, default="y"
            Name and unit of the series.
        title : str, optional
            Title of the figure; by default it says how many rows ahead the forecasts are.
        zoom : pair of int, optional
            First row of the series to show and the one after the last.

        {returns_display}
        """
        ahead = self.run.horizon if step is None else step
        if ahead not in range(1, self.run.horizon + 1):
            raise InputError(f"step={step!r} must be a whole number from 1 to {self.run.horizon}, a row ahead")
        run, column = self.run, ahead - 1
        # The first origins were forecast from nothing, and would stretch the axis.
        scored = run.is_scored
        rows, shown = visible(int(scored.sum()), int(run.origin[scored][0]) + ahead, zoom)
        y, mean, lower, upper = (part[scored, column][shown] for part in (run.y, run.mean, run.lower, run.upper))
        self._take(ax, (2.2, 1), share_x=False)
        draw_band(self.ax_, rows, y, mean, lower, upper, target, run.level)
        plural = "" if ahead == 1 else "s"
        finish_rows([self.ax_], rows, (), f"Forecasts {ahead} row{plural} ahead" if title is None else title)
        self.ax_.set_xlabel("row of the series")
        if self.lower_ax_ is not None:
            self._draw_errors(season, target)
        for panel in self._panels:
            self._legend(panel, "upper left")
        return self

    def _draw_errors(self, season: int, target: str) -> None:
        """Draw the mean absolute error by row ahead, beside those of naive forecasts."""
        assert self.lower_ax_ is not None
        panel, ahead = self.lower_ax_, np.arange(1, self.run.horizon + 1)
        mark = "o" if self.run.horizon <= _MOST_DOTS else None
        naive = {"repeating the last value": self.run.naive_mae()}
        if season > 1:
            naive["repeating the value\na season ago"] = self.run.naive_mae(season)
        panel.plot(ahead, self.run.mae, color=INK, lw=1.4, marker=mark, ms=4, label="forecast")
        for (name, error), colour in zip(naive.items(), _NAIVE, strict=False):
            panel.plot(ahead, error, color=colour, lw=1.2, marker=mark, ms=3, label=name)
        panel.set_ylim(bottom=0.0)
        panel.set_xlabel("rows ahead")
        panel.set_ylabel("mean absolute error" + ("" if target == "y" else f"\n{target}"))
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.spines[["top", "right"]].set_visible(False)
