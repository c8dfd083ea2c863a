"""Numbers of a calibration figure: nominal and observed shares, and the range of the observed ones by chance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from iegp.errors import InputError
from iegp.evaluate.runs import PrequentialRun
from iegp.plots.display import output_column
from iegp.typing import Float, Int

# Share of calibrated windows, or groups of rows, that fall into the grey band.
CHANCE = 0.95
ROWS_PER_WINDOW, MOST_WINDOWS = 50, 20


class Calibration(NamedTuple):
    """Nominal and observed shares: of labels in their interval, by window; or of right predictions, by confidence."""

    expected: Float
    observed: Float
    rows: Int
    """Number of rows in each window or group."""
    low: Float
    high: Float
    """Range of 95 % of the observed shares, by chance, if predictions are calibrated."""


def window_edges(n: int, n_blind: int, bins: int | None) -> Int:
    """Return the first rows of windows of nearly equal length, and the end."""
    scored = n - n_blind
    wanted = min(max(scored // ROWS_PER_WINDOW, 1), MOST_WINDOWS) if bins is None else bins
    if wanted > scored:
        raise InputError(f"bins={bins} windows cannot be made of {scored} rows; ask for fewer, or None")
    return np.asarray(n_blind + np.arange(wanted + 1) * scored // wanted, dtype=np.int64)


def mean_of_windows(values: Float, edges: Int) -> Float:
    """Compute the mean of the values of every window."""
    return np.add.reduceat(values[: edges[-1]], edges[:-1]) / np.diff(edges)


def coverage_of_windows(run: PrequentialRun, output: int, edges: Int) -> Calibration:
    """Compute the shares of labels inside their interval, against the level of the interval."""
    y, lower, upper = (output_column(part, output) for part in (run.y, run.lower, run.upper))
    inside = ((lower <= y) & (y <= upper)).astype(np.float64)
    return with_chance(np.full(len(edges) - 1, run.level), mean_of_windows(inside, edges), np.diff(edges))


def with_chance(expected: Float, observed: Float, rows: Int) -> Calibration:
    """Add the range in which the observed shares fall by chance."""
    # A mean of probabilities of one may be above one by a rounding error.
    nominal = np.minimum(expected, 1.0)
    low, high = (stats.binom.ppf(0.5 + 0.5 * sign * CHANCE, rows, nominal) / rows for sign in (-1, 1))
    return Calibration(expected, observed, rows, low, high)
