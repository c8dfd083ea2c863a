"""Axes: positions of values on a panel of 1,000 by 1,000, and round tick labels."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from iegp.report.clock import Clock, clock_of, date_and_time, time_ticks
from iegp.report.text import minus, power_of_ten
from iegp.stream.digest import Results
from iegp.typing import Float

SIZE = 1000.0
# Below this number of rows each one is visible.
FEW = 100
# Far enough outside the panel to be invisible, near enough for any browser to draw.
_OUTSIDE = 2.0 * SIZE


@dataclass(frozen=True)
class Axis:
    """A range, its title, and ticks with their labels."""

    low: float
    high: float
    title: str
    ticks: tuple[tuple[float, str], ...]
    log: bool = False
    power: int = 0
    """Power of ten that was taken out of the labels."""

    def at(self, values: Float) -> Float:
        """Return the position of values, 0 at ``low`` and 1,000 at ``high``; NaN stays NaN."""
        low, high = (math.log10(end) if self.log else end for end in (self.low, self.high))
        with np.errstate(all="ignore"):
            scaled = np.log10(values) if self.log else np.asarray(values, dtype=np.float64)
            # Divided before subtracted: the ends of a range of 1e308 may not be subtracted from each other.
            span = max(abs(low), abs(high)) or 1.0
            place = (scaled / span - low / span) / (high / span - low / span)
        return np.clip(SIZE * place, -_OUTSIDE, SIZE + _OUTSIDE)


def linear(low: float, high: float, title: str, *, most: int = 6, from_zero: bool = False) -> Axis:
    """Make an axis that begins and ends at round numbers."""
    low, high = (min(low, 0.0), max(high, 0.0)) if from_zero else (low, high)
    low, high = _apart(low, high)
    step = nice_step(low, high, most)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    values = [i * step for i in range(first, last + 1)]
    labels, power = tick_labels(values, step)
    return Axis(values[0], values[-1], _with_power(title, power), tuple(zip(values, labels, strict=True)), power=power)


def fitted(low: float, high: float, title: str, *, most: int = 6) -> Axis:
    """Make an axis that ends where the data end, with round ticks inside."""
    low, high = _apart(low, high)
    step = nice_step(low, high, most)
    values = [i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    labels, power = tick_labels(values, step)
    return Axis(low, high, _with_power(title, power), tuple(zip(values, labels, strict=True)), power=power)


def last_row(results: Results) -> int:
    """Return the end of row axes: for a long run the number of rows, which is rounder than that of the last row."""
    last = int(results.predictions.row[-1]) if len(results.predictions.row) else 0
    return max(last, results.n_rows if results.n_rows > FEW else 0)


def row_axis(last: float, first: float = 0.0) -> Axis:
    """Make an axis of row numbers, with whole ticks only."""
    low, high = float(first), float(max(last, first + 1))
    step = max(nice_step(low, high, 6), 1.0)
    values = [i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    return Axis(low, high, "row", tuple((value, row_label(value, high)) for value in values))


def run_axis(results: Results, first: float = 0.0) -> Axis:
    """Make an axis of the rows from ``first`` to the last; its ticks are times, where rows have times."""
    return with_times(row_axis(last_row(results), first), clock_of(results))


def with_times(rows: Axis, clock: Clock | None) -> Axis:
    """Put times at the ticks of an axis of rows, where rows have times."""
    if clock is None:
        return rows
    low, high = clock.time_at(rows.low), clock.time_at(rows.high)
    if high <= low:
        return rows
    times = time_ticks(low, high)
    places = clock.rows_at(np.array([at for at, _ in times]))
    ticks = _with_room(tuple(zip(places.tolist(), (label for _, label in times), strict=True)), rows)
    return replace(rows, title=f"{date_and_time(low)} to {date_and_time(high)}", ticks=ticks)


def _with_room(ticks: tuple[tuple[float, str], ...], axis: Axis) -> tuple[tuple[float, str], ...]:
    """Leave out ticks that are too close to the one before: the rows between them came after a gap."""
    kept: list[tuple[float, str]] = []
    for place, label in ticks:
        if not kept or place - kept[-1][0] > 0.08 * (axis.high - axis.low):
            kept.append((place, label))
    return tuple(kept)


def row_label(value: float, high: float) -> str:
    """Format a row number: 12,000 below a hundred thousand rows, then 250k and 1.5M."""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if high >= 100 * unit or (letter == "M" and high >= 2 * unit):
            return f"{value / unit:g}{letter}" if value else "0"
    return f"{value:,.0f}"


def shares(title: str, margin: float = 0.0) -> Axis:
    """Make an axis from 0 to 100 %, with a margin for dots at the ends."""
    return Axis(-margin, 1.0 + margin, title, tuple((i / 4, f"{25 * i} %") for i in range(5)))


def percentages(low: float, high: float, title: str) -> Axis:
    """Make an axis for part of 0 to 100 %, in round steps."""
    axis = linear(100.0 * max(low, 0.0), 100.0 * min(high, 1.0), title, most=5)
    ticks = tuple((value / 100.0, f"{value:g} %") for value, _ in axis.ticks if -1e-9 <= value <= 100.0 + 1e-9)
    return Axis(max(axis.low / 100.0, 0.0), min(axis.high / 100.0, 1.0), title, ticks)


def logarithmic(low: float, high: float, title: str) -> Axis:
    """Make a logarithmic axis: ticks at 1, 2 and 5, or at decades if there are many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = last - first
    steps = (1, 2, 5) if decades <= 2 else (1, 3) if decades == 3 else (1,)
    every = max(1, -(-decades // 6))
    values = [m * 10.0**e for e in range(first, last + 1, every) for m in steps]
    inside = [value for value in values if low * 0.999 <= value <= high * 1.001]
    return Axis(low, high, title, tuple((value, _decimal(value)) for value in inside), log=True)


def nice_step(low: float, high: float, most: int) -> float:
    """Return 1, 2 or 5 times a power of ten, so that about ``most`` steps fill the range."""
    raw = high / most - low / most
    power = 10.0 ** math.floor(math.log10(raw))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if raw <= m * power * (1.0 + 1e-9))


def tick_labels(values: list[float], step: float) -> tuple[list[str], int]:
    """Return labels with as many decimals as the step needs, and the power of ten taken out of them."""
    largest = max((abs(value) for value in values), default=0.0)
    power = _power_taken_out(largest)
    scale = 10.0**power
    places = max(0, -math.floor(math.log10(step / scale) + 1e-9))
    return [minus(f"{value / scale:,.{places}f}").replace("−0.0", "0.0") for value in values], power


def _power_taken_out(largest: float) -> int:
    if largest == 0.0 or 1e-3 <= largest < 1e5:
        return 0
    return 3 * math.floor(math.log10(largest) / 3 + 1e-9)


def _with_power(title: str, power: int) -> str:
    return f"{title} (× {power_of_ten(power)})" if power else title


# Parts of smaller numbers are no longer numbers.
_SMALLEST = 1e-300


def _apart(low: float, high: float) -> tuple[float, float]:
    """Return ends far enough apart to put numbers between them."""
    size = max(abs(low), abs(high))
    if size < _SMALLEST:
        return -1.0, 1.0
    if high - low > 1e-9 * size and high > low:
        return low, high
    return low - 0.5 * size, high + 0.5 * size


def _decimal(value: float) -> str:
    exponent = math.floor(math.log10(value) + 1e-9)
    return power_of_ten(exponent) if not -4 <= exponent < 5 else f"{value:,.{max(0, -exponent)}f}"
