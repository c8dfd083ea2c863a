"""Series, seasons, origins and scores of the forecast benchmark. They were fixed before any method was run.

Every series is forecast from 60 origins, ``first``, ``first + step``, ...: rows up to the origin are known, the next
``horizon`` rows are asked for. Steps share no factor with the season, so that origins fall on all its phases.

Scores are in units of ``scale``: the mean absolute error of the seasonal naive forecast (the shortest season) over the
rows before the first origin. MASE is the mean absolute error of the medians over ``scale``, CRPS twice the mean pinball
loss of the 19 quantiles 5 %, 10 %, ..., 95 % over ``scale``, coverage the share inside the quantiles 2.5 % and 97.5 %;
each is averaged over origins and horizons.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bokeh_sampledata.stocks import MSFT
from bokeh_sampledata.unemployment1948 import data as unemployment
from statsmodels.datasets import co2, elnino, sunspots

from iegp.typing import Float

N_ORIGINS = 60
LEVELS = np.array([0.025, *np.arange(1, 20) / 20, 0.975])


class Series(NamedTuple):
    """What is forecast from where."""

    load: Callable[[], Float]
    season: tuple[int, ...]
    horizon: int
    first: int
    step: int

    @property
    def origins(self) -> Any:
        """Number of known rows at each origin."""
        return self.first + self.step * np.arange(N_ORIGINS)

    def scale(self, y: Float) -> float:
        """Mean absolute error of the seasonal naive forecast before the first origin."""
        known, season = y[: self.first], self.season[0]
        return float(np.mean(np.abs(known[season:] - known[:-season])))


def stored(name: str) -> Any:
    return np.load(Path(os.environ["IEGP_DATA"]) / f"{name}.npz", allow_pickle=False)


def etth1(column: str) -> Float:
    data = stored("etth1")
    values = data["y"] if column == "OT" else data["X"][:, list(data["feature_names"]).index(column)]
    return np.asarray(values, dtype=np.float64)


def air(column: str) -> Float:
    """A column of the Air data on an hourly grid; what is missing is interpolated."""
    data = stored("air_quality")
    values = data["y_raw"] if column == "CO" else data["X_raw"][:, list(data["feature_names"]).index(column)]
    hours = data["timestamp"].astype("datetime64[h]").astype(np.int64)
    there = values > -200.0
    return np.asarray(np.interp(np.arange(hours[0], hours[-1] + 1), hours[there], values[there]))


def sea() -> Float:
    return np.asarray(stored("sea_surface")["X"][:, 0])


def weekly_co2() -> Float:
    return np.asarray(co2.load_pandas().data["co2"].interpolate(), dtype=np.float64)


def monthly_elnino() -> Float:
    return np.asarray(elnino.load_pandas().data.iloc[:, 1:], dtype=np.float64).ravel()


def yearly_sunspots() -> Float:
    return np.asarray(sunspots.load_pandas().data["SUNACTIVITY"], dtype=np.float64)


def monthly_unemployment() -> Float:
    return np.asarray(unemployment.iloc[:, 1:13], dtype=np.float64).ravel()


def daily_stock() -> Float:
    return np.asarray(MSFT["adj_close"], dtype=np.float64)


HOURLY: dict[str, Any] = {"season": (24, 168), "horizon": 24, "first": 3000, "step": 37}
SERIES = {
    "ETTh1 oil": Series(lambda: etth1("OT"), **HOURLY),
    "ETTh1 HUFL": Series(lambda: etth1("HUFL"), **HOURLY),
    "ETTh1 LUFL": Series(lambda: etth1("LUFL"), **HOURLY),
    "Air CO": Series(lambda: air("CO"), **HOURLY),
    "Air T": Series(lambda: air("T"), **HOURLY),
    "Air O3": Series(lambda: air("PT08.S5(O3)"), **HOURLY),
    "sea surface": Series(sea, season=(48,), horizon=24, first=3000, step=37),
    "CO2": Series(weekly_co2, season=(52,), horizon=13, first=1000, step=17),
    "El Nino": Series(monthly_elnino, season=(12,), horizon=12, first=360, step=5),
    "unemployment": Series(monthly_unemployment, season=(12,), horizon=12, first=360, step=7),
    "sunspots": Series(yearly_sunspots, season=(11,), horizon=11, first=150, step=2),
    "share price": Series(daily_stock, season=(5,), horizon=10, first=1000, step=31),
}


class Scores(NamedTuple):
    """Means over origins and horizons, and seconds per origin."""

    mase: float
    crps: float
    coverage: float
    seconds: float


def scored(quantiles: Float, truth: Float, scale: float, seconds: float) -> Scores:
    """Scores of quantiles (origins, levels, horizon) of the true values (origins, horizon)."""
    error = truth[:, None, :] - quantiles
    median = np.searchsorted(LEVELS, 0.5)
    inner = slice(1, -1)
    pinball = np.maximum(LEVELS[inner, None] * error[:, inner], (LEVELS[inner, None] - 1.0) * error[:, inner])
    inside = (quantiles[:, 0] <= truth) & (truth <= quantiles[:, -1])
    mase, crps = np.mean(np.abs(error[:, median])) / scale, 2.0 * np.mean(pinball) / scale
    return Scores(float(mase), float(crps), float(np.mean(inside)), seconds / len(truth))
