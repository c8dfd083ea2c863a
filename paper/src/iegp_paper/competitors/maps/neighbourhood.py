"""The GPLVM's negative log-likelihood of a few rows, and its gradient."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from iegp.typing import Float


class Slope(NamedTuple):
    """Value and gradient; everything per column of the data, so that steps do not depend on how many there are."""

    value: float
    positions: Float
    """(R, q)."""
    hyper: Float
    """(3,): of the logs of signal variance, length scale and noise variance."""


def negative_log_likelihood(positions: Float, gram: Float, n_columns: int, hyper: Float) -> Slope:
    """``(log|K| + tr(K^-1 Y Y') / D) / 2 + |X|² / (2 D)`` of rows Y (R, D) at positions X (R, q), constants left out.

    ``gram`` is Y Y' (R, R); ``K = signal exp(-|x - x'|² / (2 length²)) + noise I``; the last term is the prior N(0, I)
    of the positions. O(R³).
    """
    signal, length, noise = np.exp(hyper)
    difference = positions[:, None, :] - positions[None, :, :]
    squared = np.sum(difference**2, axis=2)
    smooth = signal * np.exp(-0.5 * squared / length**2)
    factor = cho_factor(smooth + noise * np.eye(len(positions)), lower=True)
    inverse = cho_solve(factor, np.eye(len(positions)))
    pulled = inverse @ gram
    value = float(np.log(np.diagonal(factor[0])).sum() + 0.5 * np.trace(pulled) / n_columns)
    # dL/dK
    slope = 0.5 * (inverse - pulled @ inverse / n_columns)
    through = slope * smooth
    along = -2.0 * (through[:, :, None] * difference).sum(axis=1) / length**2
    hyper_slope = np.array([through.sum(), (through * squared).sum() / length**2, noise * np.trace(slope)])
    value += 0.5 * float(np.sum(positions**2)) / n_columns
    return Slope(value, along + positions / n_columns, hyper_slope)
