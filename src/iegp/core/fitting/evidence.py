"""Maximum-evidence ``prior_var`` and ``noise_var`` of one expert from its warm-up rows.

With ``ratio = prior_var / noise_var`` the evidence of rows y under ``prior_var Phi Phi' + noise_var I`` needs only the
eigenvalues of ``Phi'Phi`` and the projections of ``Phi'y`` on its eigenvectors. One eigendecomposition, then O(F) per
evaluation. Given the ratio the best noise is known in closed form, so one bounded search over log ratio finds
the global maximum: a grid first, because the evidence can have two humps (signal or noise).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from iegp.core.compute.tolerances import (
    EVIDENCE_GRID_POINTS,
    EVIDENCE_RESOLUTION,
    MAX_NOISE_VAR,
    MAX_PRIOR_RATIO,
    MIN_NOISE_VAR,
    MIN_PRIOR_RATIO,
)
from iegp.typing import Float


class Spectrum(NamedTuple):
    """All that the evidence needs to know of n rows."""

    eigenvalues: Float
    """(F,) of ``Phi'Phi``."""
    projections: Float
    """(F, D): squared projections of ``Phi'y`` on the eigenvectors."""
    squares: Float
    """(D,): ``y'y``."""
    n_rows: int


class Fit(NamedTuple):
    """Hyperparameters of one expert: one prior-to-noise ratio, a noise level per output, and their log evidence."""

    prior_ratio: float
    noise_var: Float
    log_evidence: float


def spectrum(phi: Float, y: Float) -> Spectrum:
    """Decompose rows ``phi`` (n, F) and ``y`` (n, D). O(n F² + F³), once."""
    eigenvalues, vectors = np.linalg.eigh(phi.T @ phi)
    projections = (vectors.T @ (phi.T @ y)) ** 2
    return Spectrum(np.maximum(eigenvalues, 0.0), projections, (y**2).sum(axis=0), len(y))


def log_evidence(rows: Spectrum, prior_ratio: float, noise_var: Float) -> float:
    """Log density of the rows, summed over outputs. O(F D)."""
    n_outputs = len(rows.squares)
    log_det = np.log1p(prior_ratio * rows.eigenvalues).sum()
    misfit = _misfit(rows, prior_ratio)
    return -0.5 * float(
        n_outputs * log_det + np.sum(rows.n_rows * np.log(2.0 * np.pi * noise_var) + misfit / noise_var)
    )


def _misfit(rows: Spectrum, prior_ratio: float) -> Float:
    """``y' inv(ratio Phi Phi' + I) y`` per output."""
    shrinkage = prior_ratio / (1.0 + prior_ratio * rows.eigenvalues)
    return np.maximum(rows.squares - shrinkage @ rows.projections, 0.0)


def best_noise(misfit: Float, n_rows: int) -> Float:
    """The noise that maximises the evidence at a given ratio, within its bounds."""
    return np.clip(misfit / n_rows, MIN_NOISE_VAR, MAX_NOISE_VAR)


def fit(rows: Spectrum, prior_var: float | None = None, noise_var: float | None = None) -> Fit:
    """Maximise the evidence over whatever is ``None``; the rest is taken as given."""

    def noise_at(ratio: float) -> Float:
        if noise_var is not None:
            return np.full(len(rows.squares), noise_var)
        if prior_var is not None:
            return np.full(len(rows.squares), prior_var / ratio)
        return best_noise(_misfit(rows, ratio), rows.n_rows)

    def objective(log_ratio: float) -> float:
        ratio = float(np.exp(log_ratio))
        return -log_evidence(rows, ratio, noise_at(ratio))

    if prior_var is not None and noise_var is not None:
        ratio = prior_var / noise_var
        return Fit(ratio, noise_at(ratio), log_evidence(rows, ratio, noise_at(ratio)))
    # With the prior given it is the noise that the ratio stands for, and the noise that has bounds.
    low, high = MIN_PRIOR_RATIO, MAX_PRIOR_RATIO
    if prior_var is not None:
        low, high = prior_var / MAX_NOISE_VAR, prior_var / MIN_NOISE_VAR
    grid = np.linspace(np.log(low), np.log(high), EVIDENCE_GRID_POINTS)
    best = int(np.argmin([objective(point) for point in grid]))
    bounds = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    found = minimize_scalar(objective, bounds=bounds, method="bounded", options={"xatol": EVIDENCE_RESOLUTION})
    ratio = float(np.exp(found.x))
    return Fit(ratio, noise_at(ratio), -float(found.fun))
