"""Hourly demand for shared bikes in a city: simulated, because every reader knows what should matter for it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np

from iegp.datasets.stream import Stream
from iegp.errors import InputError
from iegp.typing import Float

START = datetime(2024, 1, 1)
"""Time of the first row, a Monday; one hour per row."""
NAMES = ("hour", "weekday", "working day", "temperature", "rain", "wind")
# Days on which offices are closed, as month and day.
_HOLIDAYS = {(1, 1), (3, 29), (4, 1), (5, 1), (5, 9), (5, 20), (10, 3), (12, 25), (12, 26)}
# Gamma-distributed factor of each hour's demand: what no input explains, a standard deviation of 10 %.
_SHAPE = 100.0


class _Weather(NamedTuple):
    temperature: Float
    """Degrees Celsius."""
    rain: Float
    """Millimetres per hour."""
    wind: Float
    """Metres per second."""


def bike_rentals(n: int = 8_784, *, random_state: int = 0) -> Stream:
    """Simulate the number of bikes rented per hour, from one January on.

    Commuters ride in the morning and late afternoon of working days, others on warm afternoons and at weekends; rain,
    wind, cold and heat keep people away. Demand grows by a fifth in a year. At 60 % of the rows a new lane opens, and
    commuters take a third more bikes from one hour to the next.

    Parameters
    ----------
    n : int, default=8784
        Number of hours, at least 1; the default is the year 2024.
    random_state : int, default=0
        Seed; the same seed gives the same bits.

    Returns
    -------
    Stream
        Hour of the day, day of the week (0 is Monday), working day (0 or 1), temperature (°C), rain (mm/h), wind (m/s);
        bikes rented. Row i is i hours after the first of January 2024.

    Examples
    --------
    >>> stream = bike_rentals(n=500)
    >>> stream.feature_names[3:], stream.change_points
    (('temperature', 'rain', 'wind'), (300,))
    """
    if n < 1:
        raise InputError(f"n={n}: at least 1 hour is needed; try n=8_784, a year.")
    rng = np.random.default_rng(random_state)
    times = hours(n)
    hour, weekday = (np.array([own(t) for t in times], dtype=np.float64) for own in (_hour, datetime.weekday))
    working = np.array([t.weekday() < 5 and (t.month, t.day) not in _HOLIDAYS for t in times], dtype=np.float64)
    weather = _weather(n, hour, rng)
    change = 3 * n // 5
    lane = np.where(np.arange(n) >= change, 1.35, 1.0)
    growth = 1.0 + 0.2 * np.arange(n) / 8_784
    demand = (lane * _commuters(hour, working) + _others(hour, working)) * growth * _weather_factor(weather)
    y = rng.poisson(demand * rng.gamma(_SHAPE, 1.0 / _SHAPE, n)).astype(np.float64)
    X = np.column_stack([hour, weekday, working, *weather])
    about = "simulated hourly demand for shared bikes in a city: commuters, leisure, weather, a new lane"
    return Stream("bike_rentals", X, y, NAMES, "bikes", about, (change,))


def hours(n: int) -> list[datetime]:
    """Return the times of the first n rows of :func:`bike_rentals`."""
    return [START + timedelta(hours=i) for i in range(n)]


def _hour(time: datetime) -> int:
    return time.hour


def _peak(hour: Float, at: float, width: float) -> Float:
    apart = np.abs(hour - at)
    return np.asarray(np.exp(-0.5 * (np.minimum(apart, 24.0 - apart) / width) ** 2))


def _commuters(hour: Float, working: Float) -> Float:
    return np.asarray(working * (230.0 * _peak(hour, 8.0, 1.1) + 260.0 * _peak(hour, 17.5, 1.7)))


def _others(hour: Float, working: Float) -> Float:
    return np.asarray(5.0 + (120.0 - 50.0 * working) * _peak(hour, 14.5, 4.0) + 25.0 * _peak(hour, 21.5, 2.0))


def _weather(n: int, hour: Float, rng: np.random.Generator) -> _Weather:
    """Weather that persists for days; values as a station would report them."""
    day = np.arange(n) / 24.0
    season: Float = 11.0 - 9.0 * np.cos(2 * np.pi * (day - 20.0) / 365.0)
    warmth = season + 3.5 * np.cos(2 * np.pi * (hour - 15.0) / 24.0) + 3.5 * _persistent(n, 60.0, rng)
    front = _persistent(n, 12.0, rng)
    rain = np.where(front > 1.1, rng.gamma(1.5, 1.0, n), 0.0)
    wind = 3.5 * np.exp(0.45 * _persistent(n, 18.0, rng))
    return _Weather(*(np.asarray(np.round(own, 1)) for own in (warmth - 2.0 * (rain > 0.0), rain, wind)))


def _persistent(n: int, memory: float, rng: np.random.Generator) -> Float:
    """Draw an autoregressive process of variance one that forgets within ``memory`` hours."""
    keep, values = np.exp(-1.0 / memory), rng.standard_normal(n)
    values[1:] *= np.sqrt(1.0 - keep**2)
    for i in range(1, n):
        values[i] += keep * values[i - 1]
    return values


def _weather_factor(weather: _Weather) -> Float:
    warm = (
        1.0 / (1.0 + np.exp(-(weather.temperature - 9.0) / 5.0)) - 0.25 * np.clip(weather.temperature - 28.0, 0, 8) / 8
    )
    dry = 0.4 + 0.6 * np.exp(-0.8 * weather.rain)
    calm = 1.0 / (1.0 + (weather.wind / 12.0) ** 2)
    return np.asarray((0.25 + 0.75 * warm) * dry * calm)
