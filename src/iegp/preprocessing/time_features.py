"""Time stamps as features: time of day and day of week on their circles, and a trend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from iegp.errors import InputError
from iegp.typing import Float

PARTS = ("time of day, sine", "time of day, cosine", "day of week, sine", "day of week, cosine", "days since the start")
TREND = len(PARTS) - 1
"""Place of the trend among the parts, and so among the columns of a model: those of the time are the first."""
DAY = 86_400.0
# Seconds since 1970 stay below this until the year 5138; larger numbers are milliseconds, microseconds or nanoseconds.
_LARGEST_SECONDS = 1e11


def read_time(text: str) -> datetime | None:
    """An ISO 8601 time stamp, or seconds (milli-, micro-, nanoseconds) since 1970; None if it is neither.

    >>> read_time("2024-03-01 12:00"), read_time("1700000000").year, read_time("noon")
    (datetime.datetime(2024, 3, 1, 12, 0), 2023, None)
    """
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        pass
    # Python also reads 1_000 and the digits of every script.
    if not text.isascii() or "_" in text:
        return None
    try:
        seconds = float(text)
        while abs(seconds) > _LARGEST_SECONDS and math.isfinite(seconds):
            seconds /= 1000.0
        return datetime.fromtimestamp(seconds, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None


# Ways to write a day, those with the day first first, and the time of day after it.
_DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%y", "%m/%d/%y")
_HOURS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")


def forms_of(texts: Sequence[str]) -> list[str]:
    """Common ways to write times, as ``strptime`` names them, that read all of these texts.

    >>> forms_of(["31.12.2024 07:30"]), forms_of(["3/4/2024"]), forms_of(["pump 7"]), forms_of([])
    (['%d.%m.%Y %H:%M'], ['%d/%m/%Y', '%m/%d/%Y'], [], [])
    """
    forms = [day + hour for day in _DAYS for hour in _HOURS]
    return [form for form in forms if texts and all(_reads(form, text) for text in texts)]


def _reads(form: str, text: str) -> bool:
    try:
        datetime.strptime(text.strip(), form)
    except ValueError:
        return False
    return True


def how_to_write(text: str | None) -> str:
    """Advice for text that is not read as a time.

    >>> how_to_write("31.12.2024 07:30")
    "write it as 2024-03-01T12:00:00 or as seconds since 1970; --time-format '%d.%m.%Y %H:%M' reads it"
    """
    forms = forms_of([text] if text else [])
    way = f"--time-format '{forms[0]}' reads it" if forms else "--time-format says how times are written"
    return f"write it as 2024-03-01T12:00:00 or as seconds since 1970; {way}"


def check_time_format(form: str | None, time: str | None) -> None:
    """Refuse a format without a column of times, and one that ``strptime`` does not understand."""
    if form is None:
        return
    if time is None:
        raise InputError(f"--time-format {form}: there is no column of times; name it with --time")
    try:
        datetime.strptime(datetime(2001, 2, 3).strftime(form), form)
    except ValueError as error:
        raise InputError(f"--time-format {form} is not understood ({error}); write it as %d.%m.%Y %H:%M") from error


def as_iso(value: Any, form: str) -> str | None:
    """A time in ISO 8601; text that is not written in the format is none, whatever else it may be."""
    if value is None:
        return None
    try:
        return datetime.strptime(str(value).strip(), form).isoformat()
    except ValueError:
        return f"{value} is not {form}"


def seconds_since_1970(time: datetime) -> float:
    """The moment itself: a time without a zone counts as UTC."""
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)


def time_features(time: datetime, origin: float) -> tuple[float, float, float, float, float]:
    """The five :data:`PARTS`. Hours and days are those on the clock that wrote the stamp; the trend is in real time."""
    of_day = (time.hour * 3600 + time.minute * 60 + time.second + time.microsecond * 1e-6) / DAY
    of_week = (time.weekday() + of_day) / 7.0
    day, week = 2.0 * math.pi * of_day, 2.0 * math.pi * of_week
    trend = (seconds_since_1970(time) - origin) / DAY
    return math.sin(day), math.cos(day), math.sin(week), math.cos(week), trend


def time_columns(times: list[datetime], origin: float) -> Float:
    """(n, 5)"""
    return np.array([time_features(time, origin) for time in times], dtype=np.float64).reshape(-1, len(PARTS))
