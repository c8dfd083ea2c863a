"""The features of a row under a kernel: waves (sines and cosines of angles), and functions of single columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.linalg import matmul_transposed
from iegp.core.compute.sincos import sincos
from iegp.core.compute.tolerances import FARTHEST_LINEAR
from iegp.typing import Float, Int


class Basis(NamedTuple):
    """What makes the features of one kernel. In this order: all sines, all cosines, what depends on one column.

    Features of one column are affine, or sines of it.
    """

    frequencies: Float
    """(n_waves, d)"""
    amplitudes: Float
    """(n_waves,): factor of the sine and the cosine of each frequency."""
    columns: Int
    """(n_affine,): column of each affine feature; -1 is a constant."""
    slopes: Float
    """(n_affine,): factor of the column, or the constant itself."""
    curves: Float
    """(n_affine, 3): where the column is clipped, then frequency and phase of its sine; frequency 0 is no sine."""


def waves(frequencies: Float) -> Basis:
    """Random Fourier features (eq:phi_x): of norm one, so that their products approximate the kernel (kern_est)."""
    n = len(frequencies)
    return affine(np.empty(0, dtype=np.int64), np.empty(0), frequencies.shape[1])._replace(
        frequencies=frequencies, amplitudes=np.full(n, 1.0 / math.sqrt(n))
    )


def affine(columns: Int, slopes: Float, n_columns: int) -> Basis:
    """Columns, or constants where the column is -1."""
    # Farther out, squares of features would overflow.
    curves = np.tile([FARTHEST_LINEAR, 0.0, 0.0], (len(slopes), 1))
    return Basis(np.empty((0, n_columns)), np.empty(0), columns.astype(np.int64), slopes, curves)


def placed(basis: Basis, places: Int, n_columns: int) -> Basis:
    """The basis of a term that sees some columns, as one of rows with all of them."""
    frequencies = np.zeros((len(basis.frequencies), n_columns))
    frequencies[:, places] = basis.frequencies
    columns = np.where(basis.columns < 0, -1, places[basis.columns]) if len(places) else basis.columns
    return basis._replace(frequencies=frequencies, columns=columns)


def joined(bases: Sequence[Basis]) -> Basis:
    """The basis of a sum of terms."""
    return Basis(*(np.concatenate(arrays) for arrays in zip(*bases, strict=True)))


def term_of_features(bases: Sequence[Basis]) -> Int:
    """(F,): to which of the terms each feature of their sum belongs."""
    of_waves = np.repeat(np.arange(len(bases)), [len(basis.amplitudes) for basis in bases])
    of_affine = np.repeat(np.arange(len(bases)), [len(basis.slopes) for basis in bases])
    return np.concatenate([of_waves, of_waves, of_affine])


@compiled
def feature_rows(x: Float, basis: Basis) -> Float:
    """Features (n, F) of every row of ``x`` (n, d)."""
    n, n_waves, n_affine = x.shape[0], basis.amplitudes.size, basis.slopes.size
    phi = np.empty((n, 2 * n_waves + n_affine))
    if n_waves > 0:
        angles, sines, cosines = np.empty((n, n_waves)), np.empty((n, n_waves)), np.empty((n, n_waves))
        matmul_transposed(x, basis.frequencies, angles)
        sincos(angles.ravel(), sines.ravel(), cosines.ravel())
        for t in range(n):
            for i in range(n_waves):
                phi[t, i] = basis.amplitudes[i] * sines[t, i]
                phi[t, n_waves + i] = basis.amplitudes[i] * cosines[t, i]
    for t in range(n):
        for i in range(n_affine):
            c, bound, turn = basis.columns[i], basis.curves[i, 0], basis.curves[i, 1]
            value = 1.0 if c < 0 else min(max(x[t, c], -bound), bound)
            if turn > 0.0:
                value = math.sin(turn * value + basis.curves[i, 2])
            phi[t, 2 * n_waves + i] = basis.slopes[i] * value
    return phi


@compiled
def fourier_rows(x: Float, frequencies: Float) -> Float:
    """Random Fourier features (n, 2 n_frequencies) of norm one."""
    n = frequencies.shape[0]
    nothing = np.empty(0)
    amplitudes = np.full(n, 1.0 / math.sqrt(n))
    return feature_rows(x, Basis(frequencies, amplitudes, nothing.astype(np.int64), nothing, np.empty((0, 3))))
