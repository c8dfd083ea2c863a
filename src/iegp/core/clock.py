"""Time that elapses between rows, where drift is per unit of time in place of per row.

A *step* is the unit of time: the median positive gap between the rows of the warm-up, so that rows at equal distances
are one step apart, as they are where time does not matter. Without a warm-up times are steps as they are given.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp.core.compute.tolerances import LONGEST_GAP, TIME_ROUNDING
from iegp.errors import InputError
from iegp.typing import Float


class Clock(NamedTuple):
    """What a model knows of time, in the user's units."""

    first: float
    """Time of the first row that was learned; NaN before it."""
    last: float
    """Time of the last one."""
    unit: float
    """Length of a step; NaN while no positive gap is known, and each such gap counts as one step."""
    held: Float
    """(k,): times of the rows that the model holds: those kept for the warm-up, then those that wait for labels."""

    @property
    def newest(self) -> float:
        """Time of the last row given, learned or not."""
        return float(self.held[-1]) if len(self.held) else self.last

    def after(self, times: Float, n_waiting: int) -> Clock:
        """The clock after rows with these times, of which so many wait; all of them are held."""
        held = np.concatenate([self.held, times])
        n_learned = len(held) - n_waiting
        if n_learned <= 0:
            return self._replace(held=held)
        first = float(held[0]) if math.isnan(self.first) else self.first
        return self._replace(first=first, last=float(held[n_learned - 1]), held=held)

    def after_learned(self, times: Float) -> Clock:
        """The clock after rows that were learned, where none is held."""
        if not len(times):
            return self
        first = float(times[0]) if math.isnan(self.first) else self.first
        return Clock(first, float(times[-1]), self.unit, self.held)

    def holding(self, n_rows: int) -> Clock:
        """The clock with the times of the last so many rows."""
        return self._replace(held=self.held[len(self.held) - n_rows :].copy())

    def fitted(self, times: Float) -> Clock:
        """The clock with the unit that these rows of the warm-up give."""
        gaps = np.diff(times)
        positive = gaps[gaps > 0.0]
        return self._replace(unit=float(np.median(positive)) if len(positive) else math.nan)

    def steps(self, times: Float, previous: float) -> Float:
        """(n,): steps between each row and the one before it; one before the first row of all."""
        if len(times) == 1:
            return np.array([self._steps_between(previous, float(times[0]))])
        return self.steps_since(np.concatenate([[previous], times[:-1]]), times)

    def steps_to(self, times: Float) -> Float:
        """(n,): steps from the last row given to each of these."""
        if len(times) == 1:
            return self.steps(times, self.newest)
        return self.steps_since(np.full(len(times), self.newest), times)

    def steps_since(self, before: Float, times: Float) -> Float:
        """(n,): steps from the times ``before``, NaN for none, to ``times``."""
        with np.errstate(over="ignore"):
            gaps = times - before
        if math.isnan(self.unit):
            steps = (gaps > 0.0).astype(np.float64)
        else:
            with np.errstate(over="ignore"):
                steps = np.minimum(gaps / self.unit, LONGEST_GAP)
                # Times are rounded, and a gap no less: where it may be whole, it is.
                slack = TIME_ROUNDING * np.maximum(np.spacing(np.abs(times)), np.spacing(np.abs(before))) / self.unit
                whole = np.rint(steps)
                steps = np.where(np.abs(steps - whole) <= slack * (1.0 + steps), whole, steps)
        return np.where(np.isnan(before), 1.0, np.minimum(steps, LONGEST_GAP))

    def _steps_between(self, before: float, time: float) -> float:
        """As :meth:`steps_since` for a single row, without arrays: a row that comes alone is to be quick."""
        gap = time - before
        if math.isnan(before):
            return 1.0
        if math.isnan(self.unit):
            return 1.0 if gap > 0.0 else 0.0
        steps = min(gap / self.unit, LONGEST_GAP)
        slack = TIME_ROUNDING * max(math.ulp(time), math.ulp(before)) / self.unit
        whole = float(round(steps))
        return min(whole if abs(steps - whole) <= slack * (1.0 + steps) else steps, LONGEST_GAP)


def new_clock(warms_up: bool) -> Clock:
    """Before any row."""
    return Clock(math.nan, math.nan, math.nan if warms_up else 1.0, np.empty(0))


def checked_times(clock: Clock | None, time: Float | None, n_rows: int) -> Float | None:
    """Times of rows that are to be learned next; an error names the first that is wrong."""
    if clock is not None and time is None:
        raise InputError(
            "drift_per='time' needs the time of every row: pass time=..., or name its column with time_column"
        )
    if time is None:
        return None
    times = times_to_predict(clock, time, n_rows)
    assert clock is not None
    wrong = np.flatnonzero(np.diff(times) < 0.0) if n_rows > 1 else times[:0]
    if len(wrong):
        row = int(wrong[0])
        raise _backwards(row + 1, times, float(times[row]))
    return times


def times_to_predict(clock: Clock | None, time: Float, n_rows: int) -> Float:
    """Times of rows that are to be predicted, in any order, but none before what the model has learned."""
    if clock is None:
        raise InputError("time is given, but drift is per row: set drift_per='time', or leave time out")
    times = np.asarray(time, dtype=np.float64)
    if n_rows == 1 and times.shape == (1,) and clock.newest <= times[0] < math.inf:
        return times
    if times.shape != (n_rows,):
        raise InputError(f"time has shape {times.shape}, but {n_rows} rows need one time each; the model is unchanged")
    if not np.isfinite(times).all():
        row = int(np.flatnonzero(~np.isfinite(times))[0])
        raise InputError(f"time is {times[row]} at row {row}; drop the row, or fill it in. The model is unchanged")
    wrong = np.flatnonzero(times < clock.newest)
    if len(wrong):
        raise _backwards(int(wrong[0]), times, clock.newest)
    return times


def _backwards(row: int, times: Float, before: float) -> InputError:
    return InputError(
        f"time goes backwards at row {row}: {float(times[row])!r} comes after {before!r}. Sort the rows by time, or "
        "drop this one; the model is unchanged"
    )
