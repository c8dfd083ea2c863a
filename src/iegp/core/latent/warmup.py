"""Preparation of the warm-up rows: their scale, missing entries, an initial map, a common frame."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp.core.compute.tolerances import CONSTANT_SPREAD, FARTHEST_IN_FLOAT32, GAP_DONORS
from iegp.errors import InputError
from iegp.typing import Float


class RowScaling(NamedTuple):
    """``scaled = (row - mean) / scale``: one mean per column, one scale for all."""

    mean: Float
    """(D,)"""
    scale: Float
    """(1,). One number: columns that vary little stay small, as in principal components."""

    def scaled(self, rows: Float) -> Float:
        """Return rows (n, D) in the experts' units; NaN stays."""
        self.check(rows)
        return np.ascontiguousarray((rows - self.mean) / self.scale[0])

    def check(self, rows: Float, first: int = 0) -> None:
        """Raise for values with squares that would overflow; ``first`` is the number of the first row in the error."""
        with np.errstate(over="ignore", invalid="ignore"):
            largest = FARTHEST_IN_FLOAT32 * self.scale[0]
            # Written so that a NaN, which marks a gap, passes.
            is_far = np.abs(rows - self.mean) > largest
        if is_far.any():
            row, column = (int(i) for i in np.argwhere(is_far)[0])
            raise InputError(
                f"X has {rows[row, column]:g} at row {first + row}, column {column}: its square, in units of the "
                f"spread of the first rows ({self.scale[0]:g}), overflows. Remove or clip such values; the model "
                "is unchanged."
            )


def fit_scaling(rows: Float) -> RowScaling:
    """Compute means of the observed entries, and the root of the average variance of a column."""
    observed = ~np.isnan(rows)
    counts = np.maximum(observed.sum(axis=0), 1)
    filled = np.where(observed, rows, 0.0)
    # Halved before they are summed, so that no sum of finite numbers overflows.
    mean = (filled / counts).sum(axis=0)
    deviations = np.where(observed, rows - mean, 0.0)
    largest = float(np.abs(deviations).max(initial=0.0))
    if largest <= CONSTANT_SPREAD * float(np.abs(mean).max(initial=0.0)) or largest == 0.0:
        return RowScaling(mean, np.ones(1))
    spread = largest * math.sqrt(float(np.sum((deviations / largest) ** 2)) / max(int(observed.sum()), 1))
    return RowScaling(mean, np.array([spread]))


def filled_rows(scaled: Float) -> Float:
    """Fill each gap of the first rows with the mean of the nearest rows that have the entry, O(n D) for a row.

    Distances use the entries that both rows have. Filling with column means instead would put rows with gaps into
    clusters of their own.
    """
    is_missing = np.isnan(scaled)
    rows = np.where(is_missing, 0.0, scaled)
    for t in np.flatnonzero(is_missing.any(axis=1)):
        shared = ~is_missing & ~is_missing[t]
        distances = np.sum(np.where(shared, scaled - scaled[t], 0.0) ** 2, axis=1) / np.maximum(shared.sum(axis=1), 1)
        distances[~shared.any(axis=1)] = np.inf
        order = np.argsort(distances, kind="stable")
        for column in np.flatnonzero(is_missing[t]):
            donors = order[~is_missing[order, column]][:GAP_DONORS]
            rows[t, column] = scaled[donors, column].mean() if len(donors) else 0.0
    return rows


def principal_positions(columns: Float, n_components: int) -> Float:
    """Compute the probabilistic PCA start: leading columns of rows in their principal axes, each of spread one."""
    leading = columns[:, :n_components]
    positions = np.zeros((len(columns), n_components))
    for c in range(leading.shape[1]):
        spread = leading[:, c].std()
        # The sign of an eigenvector is arbitrary: make the largest entry positive.
        sign = np.sign(leading[np.argmax(np.abs(leading[:, c])), c])
        if spread > 0.0:
            positions[:, c] = sign * (leading[:, c] - leading[:, c].mean()) / spread
    return positions


def standardised_positions(positions: Float) -> Float:
    """Centre a given initial map and scale it to average spread one; its shape is kept."""
    centred = positions - positions.mean(axis=0)
    spread = math.sqrt(float(np.mean(centred**2)))
    result: Float = centred / spread if spread > 0.0 else centred
    return result


def rotation_onto(positions: Float, target: Float) -> Float:
    """Return the rotation or reflection (d, d) that brings ``positions`` closest to ``target`` (orthogonal Procrustes).

    Rotating the frequencies of an expert as well leaves its features, and so its predictions, as they were.
    """
    left, _, right = np.linalg.svd(positions.T @ target)
    rotation: Float = left @ right
    return rotation


def search_axes(rows: Float, most: int) -> Float:
    """Return axes (D, q) of the neighbour search: the columns themselves, or the ``most`` leading principal axes.

    Distances in the leading axes of the first rows find nearly the same neighbours for a fraction of time and memory.
    """
    n_columns = rows.shape[1]
    if n_columns <= most:
        return np.eye(n_columns)
    return np.ascontiguousarray(np.linalg.eigh(rows.T @ rows)[1][:, : -most - 1 : -1])
