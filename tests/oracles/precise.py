"""The recursion of one expert in mpmath, 60 digits: what exact arithmetic would have said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PreciseRun:
    mean: Array  # (n, D) one-step-ahead means
    variance: Array  # (n,)   normalised: phi' Sigma phi + 1
    cumulative: Array  # (n,)   sum of the log predictive densities up to and including row t, rounded once at the end
    theta: Array  # (F, D) posterior mean after the last row
    covariance: Array  # (F, F) posterior covariance after the last row, normalised

    @property
    def total(self) -> float:
        return float(self.cumulative[-1])


def _mpf(value: Any) -> Any:
    """A float is taken at its exact binary value; an mpf stays as it is."""
    return value if isinstance(value, mpmath.mpf) else mpmath.mpf(float(value))


def features(X: Array, frequencies: Array, digits: int = 60) -> list[list[Any]]:
    """eq:phi_x with exact sines and cosines: rows of mpf, sines first, as in `oracles.features.features`."""
    with mpmath.workdps(digits):
        root = mpmath.sqrt(len(frequencies))
        rows = []
        for x in X:
            angles = [mpmath.fsum(_mpf(a) * _mpf(b) for a, b in zip(v, x, strict=True)) for v in frequencies]
            rows.append([mpmath.sin(a) / root for a in angles] + [mpmath.cos(a) / root for a in angles])
        return rows


def run(
    Phi: Array | Sequence[Sequence[Any]],
    Y: Array,
    prior_ratio: float,
    drift_ratio: float,
    noise_var: Array,
    digits: int = 60,
) -> PreciseRun:
    """Walk, predict, correct (eq:p_theta_pre, eq:26, eq:posterior_update_1), row by row.

    `Phi` (n, F) of floats or of mpf, `Y` (n, D), `noise_var` (D,). Static: drift_ratio = 0.
    """
    with mpmath.workdps(digits):
        n, F, D = len(Y), len(Phi[0]), Y.shape[1]
        s = [_mpf(value) for value in noise_var]
        drift = _mpf(drift_ratio)
        theta = [[mpmath.mpf(0)] * D for _ in range(F)]
        Sigma = [[_mpf(prior_ratio) if i == j else mpmath.mpf(0) for j in range(F)] for i in range(F)]
        total = mpmath.mpf(0)
        means, variances, cumulative = np.empty((n, D)), np.empty(n), np.empty(n)
        for t in range(n):
            phi = [_mpf(value) for value in Phi[t]]
            y = [_mpf(value) for value in Y[t]]
            for i in range(F):  # eq:p_theta_pre
                Sigma[i][i] += drift
            mean = [mpmath.fsum(phi[i] * theta[i][d] for i in range(F)) for d in range(D)]  # eq:26 a
            Sigma_phi = [mpmath.fsum(Sigma[i][j] * phi[j] for j in range(F)) for i in range(F)]
            variance = mpmath.fsum(phi[i] * Sigma_phi[i] for i in range(F)) + 1  # eq:26 b
            for d in range(D):  # eq:p_y_pre_GPR
                spread = s[d] * variance
                total -= mpmath.log(2 * mpmath.pi * spread) / 2 + (y[d] - mean[d]) ** 2 / (2 * spread)
            for i in range(F):  # eq:posterior_update_1
                for d in range(D):
                    theta[i][d] += Sigma_phi[i] * (y[d] - mean[d]) / variance
                for j in range(F):
                    Sigma[i][j] -= Sigma_phi[i] * Sigma_phi[j] / variance
            means[t], variances[t], cumulative[t] = [float(m) for m in mean], float(variance), float(total)
        return PreciseRun(
            means,
            variances,
            cumulative,
            np.array([[float(value) for value in row] for row in theta]),
            np.array([[float(value) for value in row] for row in Sigma]),
        )
