"""The kernel dictionary of the online multi-kernel methods: random features of every kernel, kernel by kernel."""

from __future__ import annotations

import numpy as np

from iegp.core.features import fourier_rows
from iegp.core.frequencies import draw_frequencies
from iegp.core.kernels import RBF, Stationary
from iegp.typing import Float

# RBF kernels with variances 10^k, k = -4..6: the dictionary of the IE-GP paper.
PAPER_KERNELS: tuple[Stationary, ...] = tuple(RBF(10.0 ** (k / 2)) for k in range(-4, 7))


def draw_dictionary(
    kernels: tuple[Stationary, ...], n_frequencies: int, n_columns: int, method: str, seed: int
) -> Float:
    """Frequencies (P, n_frequencies, d) of every kernel, independent of each other."""
    drawn = [
        draw_frequencies(kernel, n_frequencies, n_columns, method, (seed, p)) / kernel.scales(n_columns)
        for p, kernel in enumerate(kernels)
    ]
    return np.ascontiguousarray(np.stack(drawn))


def dictionary_rows(x: Float, frequencies: Float) -> Float:
    """Features (n, P, F) of every row under every kernel."""
    return np.ascontiguousarray(np.stack([fourier_rows(x, own) for own in frequencies], axis=1))
