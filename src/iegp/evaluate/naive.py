"""The least a model must beat: a forecast from the mean and spread of all labels so far."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iegp.typing import Float


class NaiveRun(NamedTuple):
    """Predictions of each row from the rows before it; Gaussian."""

    mean: Float
    std: Float
    log_score: Float

    @property
    def lower(self) -> Float:
        return self.mean - 1.959964 * self.std

    @property
    def upper(self) -> Float:
        return self.mean + 1.959964 * self.std


def running_mean(y: Float, skip: int) -> NaiveRun:
    """Mean and standard deviation of all labels before each row, for rows ``skip`` (at least 2) onwards.

    >>> running_mean(np.array([1.0, 3.0, 2.0, 2.0]), 2).mean
    array([2., 2.])
    """
    count = np.arange(1, len(y) + 1)
    # Centred first: running sums of squares lose their digits when the mean is large.
    centre = float(y[:skip].mean())
    shifted = y - centre
    mean = np.cumsum(shifted) / count
    variance = np.maximum(np.cumsum(shifted**2) / count - mean**2, np.finfo(np.float64).tiny)
    before = slice(skip - 1, len(y) - 1)
    mean, std, residual = mean[before], np.sqrt(variance[before]), shifted[skip:] - mean[before]
    log_score = -0.5 * np.log(2.0 * np.pi) - np.log(std) - 0.5 * (residual / std) ** 2
    return NaiveRun(mean + centre, std, log_score)
