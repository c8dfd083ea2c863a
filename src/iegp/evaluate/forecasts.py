"""Result of forecasting a series from every origin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from iegp.typing import Float, Int


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
