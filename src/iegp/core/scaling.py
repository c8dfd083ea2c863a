"""Standardisation: the affine map between the user's units and those the experts work in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iegp.core.numerics import CONSTANT_SPREAD
from iegp.typing import Float


class Scaling(NamedTuple):
    """``standardised = (value - mean) / scale``, column by column."""

    x_mean: Float
    x_scale: Float
    y_mean: Float
    y_scale: Float

    def standardise_x(self, x: Float) -> Float:
        return np.ascontiguousarray((x - self.x_mean) / self.x_scale)

    def standardise_y(self, y: Float) -> Float:
        return np.ascontiguousarray((y - self.y_mean) / self.y_scale)


def identity(n_columns: int, n_outputs: int) -> Scaling:
    """No scaling."""
    return Scaling(np.zeros(n_columns), np.ones(n_columns), np.zeros(n_outputs), np.ones(n_outputs))


def from_rows(x: Float, y: Float) -> Scaling:
    """Mean zero and variance one on these rows. Constant columns are centred and keep their scale."""
    return Scaling(*_moments(x), *_moments(y))


def _moments(values: Float) -> tuple[Float, Float]:
    # Divided by the largest magnitude first, so that neither sums nor squares overflow.
    size = np.maximum(np.abs(values).max(axis=0), np.finfo(np.float64).tiny)
    unit = values / size
    mean, spread = unit.mean(axis=0), unit.std(axis=0)
    constant = spread <= CONSTANT_SPREAD
    return mean * size, np.where(constant, 1.0, spread * size)
