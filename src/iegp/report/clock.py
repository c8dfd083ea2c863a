"""Times of the rows on axes: round times in place of row numbers, where rows have times that do not go backwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

from iegp.stream.digest import Results
from iegp.typing import Float

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAY = 86_400
# Seconds between ticks, up to a week; then months.
_CLOCK = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
_SECONDS = (*_CLOCK, DAY, 2 * DAY, 3 * DAY, 7 * DAY)
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# 1970 began on a Thursday, and weeks begin on Mondays.
_MONDAY = 4 * DAY
_LATEST = (datetime.max.replace(tzinfo=UTC) - _EPOCH).total_seconds() - 1.0
_EARLIEST = (datetime.min.replace(tzinfo=UTC) - _EPOCH).total_seconds() + 1.0


class Clock(NamedTuple):
    """Rows and their times, both increasing."""

    row: Float
    time: Float

    def rows_at(self, times: Float) -> Float:
        return np.interp(times, self.time, self.row)

    def time_at(self, row: float) -> float:
        return float(np.interp(row, self.row, self.time))


def clock_of(results: Results) -> Clock | None:
    """Times of the rows that are kept; None if there are none, or if they go backwards."""
    row = np.concatenate([results.predictions.row, results.recent.row])
    time = np.concatenate([results.predictions.columns["time"], results.recent.columns["time"]])
    known = np.isfinite(time) & (np.abs(time) < _LATEST) & (time > _EARLIEST)
    row, first = np.unique(row[known], return_index=True)
    time = time[known][first]
    if len(row) < 2 or np.any(np.diff(time) < 0.0) or time[-1] <= time[0]:
        return None
    return Clock(row.astype(np.float64), time)


def moment(seconds: float) -> datetime:
    return _EPOCH + timedelta(seconds=float(np.clip(seconds, _EARLIEST, _LATEST)))


def date(seconds: float) -> str:
    """Format a day, such as 3 Mar 2024."""
    day = moment(seconds)
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def date_and_time(seconds: float) -> str:
    """Format a time, such as 3 Mar 2024 14:00; with seconds where they are not zero."""
    at = moment(seconds)
    return f"{date(seconds)} {at:%H:%M:%S}" if at.second else f"{date(seconds)} {at:%H:%M}"


def time_ticks(low: float, high: float, most: int = 6) -> list[tuple[float, str]]:
    """Round times from ``low`` to ``high`` with their labels, about ``most`` of them."""
    for step in _SECONDS:
        if (high - low) / step <= most:
            return [(at, _label(at, step)) for at in _multiples(low, high, step)]
    months = next((n for n in _MONTHS if (high - low) / (30.4 * DAY * n) <= most), _MONTHS[-1])
    return _month_ticks(low, high, months)


def _multiples(low: float, high: float, step: int) -> list[float]:
    origin = _MONDAY if step == 7 * DAY else 0
    first, last = np.ceil((low - origin) / step), np.floor((high - origin) / step)
    return [origin + i * step for i in range(int(first), int(last) + 1)]


def _label(at: float, step: int) -> str:
    """Time of day, and the day at midnight."""
    time = moment(at)
    if time.hour == time.minute == time.second == 0:
        return f"{time.day} {MONTHS[time.month - 1]}"
    return f"{time:%H:%M:%S}" if step < 60 else f"{time:%H:%M}"


def _month_ticks(low: float, high: float, step: int) -> list[tuple[float, str]]:
    """First days of months; the year in January."""
    begin, found = moment(low), []
    number = begin.year * 12 + begin.month - 1
    number -= number % step
    while number // 12 <= datetime.max.year:
        at = (datetime(max(number // 12, 1), number % 12 + 1, 1, tzinfo=UTC) - _EPOCH).total_seconds()
        if at > high:
            break
        if at >= low:
            found.append((at, str(number // 12) if number % 12 == 0 else MONTHS[number % 12]))
        number += step
    return found
