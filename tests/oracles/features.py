"""Random features (eq:phi_x) and the kernels they approximate, written out literally."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import integrate

Array = NDArray[np.float64]
LengthScale = float | Array


def features(X: Array, frequencies: Array) -> Array:
    """Rows phi_v(x) of eq:phi_x. `frequencies` is (n_frequencies, d): one vector v_j per row.

    The paper interleaves (sin v_1'x, cos v_1'x, sin v_2'x, ...). Here all sines come first, then all cosines: a
    permutation of theta's coordinates, which changes no prediction. Every row has norm exactly 1.
    """
    n, n_frequencies = len(X), len(frequencies)
    Phi = np.empty((n, 2 * n_frequencies))
    for t in range(n):
        for j in range(n_frequencies):
            angle = float(frequencies[j] @ X[t])
            Phi[t, j] = math.sin(angle) / math.sqrt(n_frequencies)
            Phi[t, n_frequencies + j] = math.cos(angle) / math.sqrt(n_frequencies)
    return Phi


def _gram(X: Array, Z: Array, length_scale: LengthScale, kernel: Callable[[Array], float]) -> Array:
    """Apply `kernel` to every scaled difference (x - z) / length_scale; the scale may differ by dimension."""
    scale = np.broadcast_to(np.asarray(length_scale, dtype=float), (X.shape[1],))
    K = np.empty((len(X), len(Z)))
    for s in range(len(X)):
        for t in range(len(Z)):
            K[s, t] = kernel((X[s] - Z[t]) / scale)
    return K


def rbf(X: Array, Z: Array, length_scale: LengthScale) -> Array:
    """exp(-|u|^2 / 2), u = (x - z) / length_scale. The paper's kernel variance is length_scale^2."""
    return _gram(X, Z, length_scale, lambda u: math.exp(-0.5 * float(u @ u)))


def matern(X: Array, Z: Array, length_scale: LengthScale, nu: float) -> Array:
    """Matern with r = sqrt(2 nu) |u|: nu = 1/2, 3/2 or 5/2 (no other order has so short a formula)."""

    def kernel(u: Array) -> float:
        r = math.sqrt(2.0 * nu) * math.sqrt(float(u @ u))
        if nu == 0.5:
            return math.exp(-r)
        if nu == 1.5:
            return (1.0 + r) * math.exp(-r)
        if nu == 2.5:
            return (1.0 + r + r**2 / 3.0) * math.exp(-r)
        raise ValueError(f"nu must be 0.5, 1.5 or 2.5, got {nu}")

    return _gram(X, Z, length_scale, kernel)


def laplace(X: Array, Z: Array, length_scale: LengthScale) -> Array:
    """Product form: prod_i exp(-|u_i|) = exp(-sum_i |x_i - z_i| / l_i)."""
    return _gram(X, Z, length_scale, lambda u: math.exp(-float(np.sum(np.abs(u)))))


def cauchy(X: Array, Z: Array, length_scale: LengthScale) -> Array:
    """Product form: prod_i 1 / (1 + u_i^2)."""
    return _gram(X, Z, length_scale, lambda u: float(np.prod(1.0 / (1.0 + u**2))))


def hilbert(X: Array, half_widths: Array, n_functions: int, boundary: float, kernel: Callable[[float], float]) -> Array:
    """Features of an additive Hilbert-space Gaussian process, function by function.

    ``kernel`` is that of one column as a function of the distance; its spectral density is found by quadrature, and the
    kernel of the features is the mean over columns.
    """
    n, d = X.shape
    Phi = np.empty((n, d * n_functions))
    for c, L in enumerate(half_widths):
        for j in range(1, n_functions + 1):
            root = math.pi * j / (2.0 * L)  # of the eigenvalue
            density = 2.0 * integrate.quad(kernel, 0.0, np.inf, weight="cos", wvar=root)[0]
            for t in range(n):
                x = min(max(X[t, c], -boundary), boundary)
                eigenfunction = math.sin(root * (x + L)) / math.sqrt(L)
                Phi[t, c * n_functions + j - 1] = math.sqrt(density / d) * eigenfunction
    return Phi
