"""Random Fourier features: the map from a row to its F = 2 n_frequencies sines and cosines."""

from __future__ import annotations

import math

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.linalg import matmul_transposed
from iegp.core.compute.sincos import sincos
from iegp.typing import Float


@compiled
def feature_rows(x: Float, frequencies: Float) -> Float:
    """Compute ``phi_v`` of every row (eq:phi_x), shape (n, 2 n_frequencies): all sines, then all cosines.

    Every row has norm one, so that ``phi(x)·phi(x')`` approximates the standardised kernel (eq:kern_est).
    """
    n, n_frequencies = x.shape[0], frequencies.shape[0]
    angles = np.empty((n, n_frequencies))
    matmul_transposed(x, frequencies, angles)
    phi = np.empty((n, 2 * n_frequencies))
    scale = 1.0 / math.sqrt(n_frequencies)
    for t in range(n):
        sincos(angles[t], scale, phi[t, :n_frequencies], phi[t, n_frequencies:])
    return phi
