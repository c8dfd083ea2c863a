"""Result of forecasting a series from every origin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from iegp._imports import on_demand, optional
from iegp.evaluate.metrics import normal_crps
from iegp.typing import Float, Int

# Lines of a printed summary; of longer horizons the first and last rows ahead are shown.
_MOST_LINES = 24


class ForecastSummary(dict[str, Float]):
    """Scores by name, each an array with one entry per row ahead; printed as a table."""

    @property
    def overall(self) -> dict[str, float]:
        """Scores of all rows ahead together."""
        # Every row ahead has the same number of labels.
        return {
            name: float(np.sqrt(np.mean(values**2)) if name == "rmse" else np.mean(values))
            for name, values in self.items()
        }

    def __repr__(self) -> str:
        ahead = range(len(self["mae"]))
        cells = [[str(k + 1), *(f"{values[k]:.4g}" for values in self.values())] for k in ahead]
        if len(cells) > _MOST_LINES:
            half = _MOST_LINES // 2
            cells = [*cells[:half], ["..."] * len(cells[0]), *cells[-half:]]
        lines = [["step", *self], *cells, ["all", *(f"{value:.4g}" for value in self.overall.values())]]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines
        )


@dataclass(frozen=True, repr=False)
class ForecastRun:
    """Forecasts of a series from consecutive origins, each made from the rows up to its origin.

    Parameters
    ----------
    origin : ndarray (n,)
        Number of the last row that was known, from 0 on.
    mean, lower, upper : ndarray (n, horizon)
        Predictive mean and ends of the interval of the rows after the origin.
    y : ndarray (n, horizon)
        Their labels.
    level : float, default=0.95
        Probability of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from iegp import IEGPForecaster
    >>> t = np.arange(200)
    >>> y = np.sin(2 * np.pi * t / 12) + 0.1 * np.random.default_rng(0).standard_normal(200)
    >>> run = IEGPForecaster(horizon=2, season=12, random_state=0).prequential(y)
    >>> print(run.summary())
    step     mae    rmse     crps  coverage   width
       1  0.1...  0.1...  0.0...    0.9...  0...
       2  0.1...  0.2...  0.1...    0.9...  0...
     all  0.1...  0.1...  0.0...    0.9...  0...
    >>> run.to_frame().columns.to_list()
    ['origin', 'step', 'y', 'mean', 'lower', 'upper']
    >>> display = run.plot(season=12)
    >>> display.figure_.savefig("forecasts.png")  # doctest: +SKIP
    """

    origin: Int
    mean: Float
    lower: Float
    upper: Float
    y: Float
    level: float = 0.95

    @property
    def horizon(self) -> int:
        """Rows that are forecast from each origin."""
        return int(self.y.shape[1])

    @property
    def is_scored(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """(n,): whether scores count an origin: at the first ones no label of a forecast was known."""
        return np.asarray(self.origin >= self.horizon)

    @property
    def mae(self) -> Float:
        """(horizon,): mean absolute error."""
        return self._mean(np.abs(self.y - self.mean))

    @property
    def coverage(self) -> Float:
        """(horizon,): share of labels inside their interval."""
        return self._mean(((self.lower <= self.y) & (self.y <= self.upper)).astype(np.float64))

    @property
    def interval_score(self) -> Float:
        """(horizon,): width of the interval plus 2 / (1 - level) times the distance of labels outside; proper."""
        outside = np.maximum(self.lower - self.y, 0.0) + np.maximum(self.y - self.upper, 0.0)
        return self._mean(self.upper - self.lower + 2.0 / (1.0 - self.level) * outside)

    @property
    def rmse(self) -> Float:
        """(horizon,): square root of the mean squared error."""
        return np.sqrt(self._mean((self.y - self.mean) ** 2))

    @property
    def crps(self) -> Float:
        """(horizon,): mean continuous ranked probability score of normal distributions with these means and widths."""
        std = (self.upper - self.lower) / (2.0 * ndtri(0.5 + 0.5 * self.level))
        return self._mean(normal_crps(self.y, self.mean, std) if len(self) else self.y)

    @property
    def width(self) -> Float:
        """(horizon,): mean width of the intervals."""
        return self._mean(self.upper - self.lower)

    def summary(self) -> ForecastSummary:
        """Return the scores by row ahead, without the origins at which no label of a forecast was known.

        Returns
        -------
        ForecastSummary
            A dictionary of arrays (horizon,) that prints as a table: ``mae``, ``rmse``, ``crps`` and the mean ``width``
            of the intervals in the units of y, and the share ``coverage`` of labels inside them. ``overall`` has the
            scores of all rows ahead together.
        """
        names = ("mae", "rmse", "crps", "coverage", "width")
        return ForecastSummary({name: getattr(self, name) for name in names})

    def to_frame(self) -> Any:
        """Return the forecasts and labels as a pandas data frame, a row for each origin and row ahead.

        Returns
        -------
        pandas.DataFrame
            With the columns ``origin`` (number of the last known row), ``step`` (rows ahead, from 1 on), ``y``,
            ``mean``, ``lower`` and ``upper``; the label is that of row ``origin + step``. Scores leave out origins
            below ``horizon``.
        """
        columns: dict[str, Any] = {"origin": np.repeat(self.origin, self.horizon)}
        columns["step"] = np.tile(np.arange(1, self.horizon + 1), len(self))
        columns |= {name: getattr(self, name).ravel() for name in ("y", "mean", "lower", "upper")}
        return optional("pandas", "to_frame").DataFrame(columns)

    def plot(self, **options: Any) -> Any:
        """Draw labels with the forecasts of one row ahead, and the error of all rows ahead.

        Parameters
        ----------
        **options : object
            As in :meth:`iegp.plots.ForecastDisplay.plot`.

        Returns
        -------
        ForecastDisplay
            With ``figure_``.
        """
        # Figures lie above runs; they are imported where one is asked for.
        return on_demand("iegp.plots").ForecastDisplay.from_run(self, **options)

    def naive_mae(self, season: int = 1) -> Float:
        """Compute the error of repeating the newest value, or the newest one in phase, over the same labels.

        Parameters
        ----------
        season : int, default=1
            Length of the season in rows; 1 repeats the last value.

        Returns
        -------
        ndarray (horizon,)
            Mean absolute error; NaN if the run is too short.
        """
        # Label 0 of an origin is the row after it, so labels 0 of earlier origins are the rows before.
        series, found = self.y[:, 0], np.full(self.horizon, np.nan)
        for k in range(self.horizon):
            back = season * -(-(k + 1) // season) - k
            if len(series) - back > 0:
                errors = np.abs(self.y[back:, k] - series[: len(series) - back])[self.is_scored[back:]]
                found[k] = np.mean(errors) if len(errors) else np.nan
        return found

    @classmethod
    def concatenate(cls, runs: Sequence[ForecastRun]) -> ForecastRun:
        """Join the runs of consecutive parts of a series.

        Parameters
        ----------
        runs : sequence of ForecastRun
            At least one, of one forecaster.

        Returns
        -------
        ForecastRun
            With all origins.
        """
        names = ("origin", "mean", "lower", "upper", "y")
        joined = {name: np.concatenate([getattr(run, name) for run in runs]) for name in names}
        return cls(**joined, level=runs[0].level)

    def __len__(self) -> int:
        return len(self.origin)

    def __repr__(self) -> str:
        if not np.any(self.is_scored):
            return f"ForecastRun({len(self)} origins, made before anything was known)"
        covered = f"{100 * self.level:g} % coverage {100 * np.mean(self.coverage):.1f} %"
        return f"ForecastRun({len(self)} origins, {self.horizon} rows ahead: MAE {np.mean(self.mae):.4g}, {covered})"

    def _mean(self, values: Float) -> Float:
        scored = values[self.is_scored]
        return np.asarray(scored.mean(axis=0) if len(scored) else np.full(self.horizon, np.nan))
