"""Standardisation: the affine map between the user's units and those of the experts."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.tolerances import (
    CONSTANT_SCALE,
    CONSTANT_SPREAD,
    FARTHEST_INPUT,
    FARTHEST_OF_FEW,
    FARTHEST_USUAL,
    FARTHEST_VALUE,
    FIRST_FIT,
    MANY_ROWS,
    QUARTILES,
)
from iegp.core.unusual import are_few
from iegp.errors import InputError
from iegp.typing import Bool, Float


class Scaling(NamedTuple):
    """``standardised = (value - mean) / scale``, column by column."""

    x_mean: Float
    x_scale: Float
    y_mean: Float
    y_scale: Float

    def standardise_x(self, x: Float, fills_gaps: bool = False) -> Float:
        """Standardise inputs. With ``fills_gaps`` a NaN becomes the centre of its column: zero."""
        standardised = np.empty(x.shape)
        if not _standardise_rows(
            np.ascontiguousarray(x), self.x_mean, self.x_scale, fills_gaps, FARTHEST_INPUT, standardised
        ):
            _refuse("X", x, standardised, self.x_scale, FARTHEST_INPUT)
        return standardised

    def standardise_y(self, y: Float) -> Float:
        standardised = np.empty(y.shape)
        if not _standardise_rows(
            np.ascontiguousarray(y), self.y_mean, self.y_scale, False, FARTHEST_VALUE, standardised
        ):
            _refuse("y", y, standardised, self.y_scale, FARTHEST_VALUE)
        return standardised


def _refuse(name: str, values: Float, standardised: Float, scale: Float, farthest: float) -> None:
    row, column = (int(i) for i in np.argwhere(~(np.abs(standardised) <= farthest))[0])
    raise InputError(
        f"{name} has {values[row, column]:g} at row {row}, column {column}: more than {farthest:g} times the "
        f"spread of the rows before ({scale[column]:g}). Remove or clip such values; the model is unchanged."
    )


@compiled
def _standardise_rows(
    values: Float, mean: Float, scale: Float, fills_gaps: bool, farthest: float, standardised: Float
) -> bool:
    """Fill ``standardised`` and return whether all of it can be used. Compiled, so that a row costs very little."""
    usable = True
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            value = (values[i, j] - mean[j]) / scale[j]
            if fills_gaps and math.isnan(values[i, j]):
                value = 0.0
            standardised[i, j] = value
            # Written so that a NaN fails.
            usable = usable and abs(value) <= farthest
    return usable


def identity(n_columns: int, n_outputs: int) -> Scaling:
    """Return a scaling that changes nothing."""
    return Scaling(np.zeros(n_columns), np.ones(n_columns), np.zeros(n_outputs), np.ones(n_outputs))


def from_rows(x: Float, y: Float, robust: bool = False, weights: Float | None = None) -> Scaling:
    """Return the scaling to mean zero and variance one on these rows; if ``robust``, on those that are no glitches.

    Constant columns are centred and keep their scale. A single row has no spread: the magnitude of its values is used
    as their scale. A NaN in ``x`` is a missing value; a column without any value keeps its units. Rows count with
    their ``weights`` (n,), unless all of these are zero.
    """
    if weights is not None:
        counts = weights > 0.0
        x, y, weights = (x[counts], y[counts], weights[counts]) if counts.any() else (x, y, None)
    if robust:
        x, y = _without_glitches(x), _without_glitches(y)
    return Scaling(*_moments_of_columns(x, weights), *_moments_of_columns(y, weights))


def _moments_of_columns(values: Float, weights: Float | None) -> tuple[Float, Float]:
    return _moments_of_present(values, weights) if np.isnan(values).any() else _moments_of_rows(values, weights)


def _without_glitches(values: Float) -> Float:
    """Put NaN in place of a few values far from all others; in no column that mostly has one value."""
    if len(values) < FIRST_FIT or np.isnan(values).all(axis=0).any():
        return values
    limit = FARTHEST_USUAL if len(values) >= MANY_ROWS else FARTHEST_OF_FEW
    low, middle, high = np.nanquantile(values, (0.25, 0.5, 0.75), axis=0)
    spread = (high - low) / QUARTILES
    far = np.abs(values - middle) > limit * spread
    far &= (spread > 0.0) & are_few(far.sum(axis=0), len(values))
    return np.where(far, np.nan, values) if far.any() else values


def magnitude(values: Float) -> Float:
    """Return the scale of values that were seen once: their absolute value, 1 for zeros."""
    return np.where(values == 0.0, 1.0, np.abs(values))


def _moments_of_rows(values: Float, weights: Float | None = None) -> tuple[Float, Float]:
    return (values[0].copy(), magnitude(values[0])) if len(values) == 1 else _moments(values, weights)


def _moments_of_present(values: Float, weights: Float | None = None) -> tuple[Float, Float]:
    """Compute moments column by column, each over the rows in which it has a value."""
    mean, scale = np.zeros(values.shape[1]), np.ones(values.shape[1])
    for j, column in enumerate(values.T):
        is_there = ~np.isnan(column)
        present = column[is_there, None]
        if len(present):
            own = None if weights is None else weights[is_there]
            mean[j : j + 1], scale[j : j + 1] = _moments_of_rows(present, own)
    return mean, scale


def _moments(values: Float, weights: Float | None) -> tuple[Float, Float]:
    # Divided by the largest magnitude first, so that neither sums nor squares overflow.
    size = np.maximum(np.abs(values).max(axis=0), np.finfo(np.float64).tiny)
    first = values[0] / size
    # Relative to the first row: a large offset costs no digits, and constant columns come out as exact zeros.
    unit = values / size - first
    if weights is None:
        mean, spread = unit.mean(axis=0), unit.std(axis=0)
    else:
        # Divided by the largest first, so that their sum does not overflow.
        shares = weights / weights.max()
        mean = np.average(unit, axis=0, weights=shares)
        spread = np.sqrt(np.average((unit - mean) ** 2, axis=0, weights=shares))
    constant, scale = spread <= CONSTANT_SPREAD, spread * size
    # A scale of exactly one says that a column is constant: see :func:`varies`.
    scale[scale == CONSTANT_SCALE] = np.nextafter(CONSTANT_SCALE, 2.0)
    return (first + mean) * size, np.where(constant, CONSTANT_SCALE, scale)


def varies(scale: Float) -> Bool:
    """Return which columns had more than one value in the rows that a scaling was found from."""
    return np.asarray(scale != CONSTANT_SCALE)
