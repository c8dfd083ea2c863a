"""Peers of the forecast benchmark: each gives quantiles (origins, levels, horizon) of a series.

Last value and seasonal naive: quantiles of their own last 1,000 errors at that horizon. AutoETS, AutoARIMA and MSTL of
statsforecast: the last 1,000 rows; models are selected and fitted at every 20th origin and applied to the newer rows in
between (``forward``); quantiles are those of the normal distribution with their 95 % interval. LightGBM: one model per
horizon, fitted at every 20th origin on all known rows; the inputs are the last six values, the values one and two
seasons before the target, the mean of the last season, all relative to the last value, and the phase of the target in
each season; the target is the difference to the last value. Its quantiles are those of its errors on the last fifth of
the rows, after a fit on the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from forecast_series import LEVELS, Series
from lightgbm import LGBMRegressor
from scipy.special import ndtri
from statsforecast.models import MSTL, AutoARIMA, AutoETS

from iegp.typing import Float

WINDOW = 1000
REFIT = 20
N_LAGS = 6


def repeated(origin: int, ahead: int, season: int) -> int:
    """Row whose value is the naive forecast: the newest known one in phase with the target."""
    return origin - 1 + ahead - season * -(-ahead // season)


def naive(series: Series, y: Float, season: int) -> Float:
    found = np.empty((len(series.origins), len(LEVELS), series.horizon))
    for i, origin in enumerate(series.origins):
        for k in range(1, series.horizon + 1):
            back = k + (origin - 1 - repeated(origin, k, season))
            errors = (y[back:origin] - y[: origin - back])[-WINDOW:]
            found[i, :, k - 1] = y[repeated(origin, k, season)] + np.quantile(errors, LEVELS)
    return found


def last_value(series: Series, y: Float) -> Float:
    return naive(series, y, 1)


def seasonal_naive(series: Series, y: Float) -> Float:
    return naive(series, y, series.season[0])


def statistical(series: Series, y: Float, make: Callable[[], object]) -> Float:
    found = np.empty((len(series.origins), len(LEVELS), series.horizon))
    for i, origin in enumerate(series.origins):
        known = np.ascontiguousarray(y[max(0, origin - WINDOW) : origin])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if i % REFIT == 0:
                model = make().fit(known)  # type: ignore[attr-defined]
            answer = model.forward(known, h=series.horizon, level=[95])
        # Some of them are pandas series.
        mean, low, high = (np.asarray(answer[name]) for name in ("mean", "lo-95", "hi-95"))
        found[i] = mean + ndtri(LEVELS)[:, None] * (high - low) / (2.0 * ndtri(0.975))
    return found


def auto_ets(series: Series, y: Float) -> Float:
    return statistical(series, y, lambda: AutoETS(season_length=series.season[0]))


def auto_arima(series: Series, y: Float) -> Float:
    return statistical(series, y, lambda: AutoARIMA(season_length=series.season[0]))


def mstl(series: Series, y: Float) -> Float:
    return statistical(series, y, lambda: MSTL(season_length=list(series.season)))


def inputs(series: Series, y: Float, ahead: int) -> tuple[Float, int]:
    """Inputs (rows, columns) of forecasts ``ahead`` rows after rows ``start``, ``start + 1``, ...; and ``start``."""
    start = 2 * max(series.season)
    rows = np.arange(start, len(y))
    now = y[rows]
    columns = [y[rows - j] - now for j in range(1, N_LAGS)]
    sums = np.concatenate([[0.0], np.cumsum(y)])
    for season in series.season:
        seasons = -(-ahead // season)
        columns += [y[rows + ahead - season * (seasons + m)] - now for m in (0, 1) if seasons + m <= 2]
        columns.append((sums[rows + 1] - sums[rows + 1 - season]) / season - now)
        phase = 2.0 * np.pi * (rows + ahead) / season
        columns += [np.sin(phase), np.cos(phase)]
    return np.column_stack([now, *columns]), start


def lightgbm(series: Series, y: Float) -> Float:
    found = np.empty((len(series.origins), len(LEVELS), series.horizon))
    for k in range(1, series.horizon + 1):
        X, start = inputs(series, y, k)
        change = y[start + k :] - y[start:-k]
        for i, origin in enumerate(series.origins):
            known = origin - start - k
            if i % REFIT == 0:
                errors = held_out_errors(X[:known], change[:known])
                model = booster().fit(X[:known], change[:known])
            at = origin - 1
            centre = y[at] + model.predict(X[at - start : at - start + 1])[0]
            found[i, :, k - 1] = centre + np.quantile(errors, LEVELS)
    return found


def booster() -> LGBMRegressor:
    return LGBMRegressor(n_estimators=100, learning_rate=0.05, n_jobs=1, verbose=-1, random_state=0)


def held_out_errors(X: Float, y: Float) -> Float:
    first = len(X) * 4 // 5
    return np.asarray(y[first:] - booster().fit(X[:first], y[:first]).predict(X[first:]))


PEERS: dict[str, Callable[[Series, Float], Float]] = {
    "last value": last_value,
    "seasonal naive": seasonal_naive,
    "AutoETS": auto_ets,
    "AutoARIMA": auto_arima,
    "MSTL": mstl,
    "LightGBM": lightgbm,
}
