"""Statistics over seeds with 95 % intervals, found by resampling the seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from iegp.typing import Float

RESAMPLES = 2000
# Of fewer values not even the range from least to largest covers the median with 95 %: 1 - 2^(1-n) is 94 % for five.
FEWEST = 6


@dataclass(frozen=True)
class Interval:
    """A statistic of n seeds and its interval: 95 %, or the range of the seeds where there are fewer than six."""

    centre: float
    low: float
    high: float
    n: int

    @property
    def is_range(self) -> bool:
        return self.n < FEWEST


def median_interval(values: Iterable[float]) -> Interval:
    """Compute the median of some runs with its interval."""
    rows = np.array(list(values), dtype=np.float64)[:, None]
    return interval(rows, lambda stack: np.median(stack[..., 0], axis=-1))


def interval(rows: Float, statistic: Callable[[Float], Float]) -> Interval:
    """Compute a statistic of n runs with its interval.

    ``rows`` are (n, k), one run each; ``statistic`` turns (..., n, k) into (...). The resampling is the same at every
    call, so that a page written twice has the same numbers.
    """
    n = len(rows)
    centre = float(statistic(rows))
    if n < FEWEST:
        alone = statistic(rows[:, None, :])
        return Interval(centre, float(alone.min()), float(alone.max()), n)
    drawn = np.random.default_rng(0).integers(n, size=(RESAMPLES, n))
    found = statistic(rows[drawn])
    # Without interpolation, which infinite values of diverged runs do not allow.
    low, high = np.quantile(found, 0.025, method="lower"), np.quantile(found, 0.975, method="higher")
    return Interval(centre, float(low), float(high), n)
