"""Running count, mean and spread of labels, known before every row of a block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iegp.typing import Float


class Before(NamedTuple):
    """What was known before each row (m,): number, mean, sum of squared deviations."""

    n: Float
    mean: Float
    squares: Float


class Moments:
    """Welford's recursion, a block at a time: deviations are taken from the mean at the block's start."""

    def __init__(self) -> None:
        # count, mean, sum of squared deviations
        self.state: Float = np.zeros(3)

    @property
    def variance(self) -> float:
        """Of all labels so far, divided by their number; NaN without any."""
        return float(self.state[2] / self.state[0]) if self.state[0] else float("nan")

    def advance(self, y: Float) -> Before:
        """Absorb a block and say what was known before each of its rows."""
        count, mean, squares = self.state
        count, centre = count + np.arange(len(y) + 1), mean if count else (y[0] if len(y) else 0.0)
        shifted = np.concatenate([[0.0], y - centre])
        total = np.cumsum(shifted)
        safe = np.maximum(count, 1.0)
        means = centre + total / safe
        # total² / count is never more than the sum of squares but for rounding.
        spread = squares + np.maximum(np.cumsum(shifted**2) - total**2 / safe, 0.0)
        if len(y):
            self.state[:] = count[-1], means[-1], spread[-1]
        return Before(count[:-1], means[:-1], spread[:-1])
