"""Inputs of a forecast: what is known at the origin, and what is known of the target beforehand.

Values are taken relative to the newest known one, and so is what the models learn: a series looks the same
at every level.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iegp.core.compute.tolerances import SEASON_HARMONICS
from iegp.typing import Float, Int

_DAY = 86_400.0
# 1 January 1970 was a Thursday.
_FIRST_WEEKDAY = 3.0


class Lookback(NamedTuple):
    """Which earlier values are inputs: offsets in rows before the origin, and lengths of seasons."""

    lags: tuple[int, ...]
    season: tuple[int, ...]

    @property
    def n_rows(self) -> int:
        """How far before the origin the inputs reach."""
        return max((0, *self.lags, *(2 * length for length in self.season)))


def at_origin(values: Float, origins: Int, lookback: Lookback) -> Float:
    """(n, columns): the newest value, earlier ones, and for each season the value and the mean one season back.

    ``origins`` are places in ``values``; before its beginning the first value is repeated.
    """
    now = values[origins]
    columns = [now] + [_back(values, origins, lag) - now for lag in lookback.lags]
    for length in lookback.season:
        of_season = values[np.maximum(origins[:, None] - np.arange(length), 0)]
        # The mean of differences is exactly zero where values repeat; its rounding error would be a scale.
        columns += [_back(values, origins, length) - now, (of_season - now[:, None]).mean(axis=1)]
    return np.column_stack(columns)


def of_target(values: Float, origins: Int, ahead: int, season: tuple[int, ...]) -> Float:
    """(n, 2 per season): the two newest known values in phase with the row ``ahead`` rows after the origin."""
    now = values[origins]
    columns = [np.empty((len(origins), 0))]
    for length in season:
        newest = length * -(-ahead // length) - ahead
        columns += [(_back(values, origins, back) - now)[:, None] for back in (newest, newest + length)]
    return np.hstack(columns)


def of_season(rows: Int, season: tuple[int, ...]) -> Float:
    """(n, columns): where the rows with these numbers lie in each season, on circles."""
    columns = [np.empty((len(rows), 0))]
    for length in season:
        angle = 2.0 * np.pi * (rows % length) / length
        columns += [f(m * angle)[:, None] for m in range(1, SEASON_HARMONICS + 1) for f in (np.sin, np.cos)]
    # Rounding errors around zero would be standardised like numbers while few rows are known.
    return np.asarray(np.round(np.hstack(columns), 12), dtype=np.float64)


def of_calendar(times: Float) -> Float:
    """(n, 4): time of day and day of week on their circles; times are seconds since 1970."""
    day = times / _DAY
    angles = 2.0 * np.pi * np.column_stack([day % 1.0, (day + _FIRST_WEEKDAY) % 7.0 / 7.0])
    return np.asarray(np.round(np.hstack([np.sin(angles), np.cos(angles)]), 12), dtype=np.float64)


def _back(values: Float, origins: Int, n: int) -> Float:
    return values[np.maximum(origins - n, 0)]
