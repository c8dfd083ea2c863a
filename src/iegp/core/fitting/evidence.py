"""Maximum-evidence ``prior_var`` and ``noise_var`` of one expert from its warm-up rows.

*One term.* With ``ratio = prior_var / noise_var`` the evidence of rows y under ``prior_var Phi Phi' + noise_var I``
needs only the eigenvalues of ``Phi'Phi`` and the projections of ``Phi'y`` on its eigenvectors. One eigendecomposition,
then O(F) per evaluation. Given the ratio the best noise is known in closed form, so one bounded search over log ratio
finds the global maximum: a grid first, because the evidence can have two humps (signal or noise).

*A sum of terms.* Each has its own ratio, so there is no single eigendecomposition. With the ratios on the diagonal of D
and ``A = I + D^½ Phi'Phi D^½``, one Cholesky factorisation of A gives the evidence and its gradient; a few dozen
steps of L-BFGS from several starts find the maximum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize, minimize_scalar

from iegp.core.compute.tolerances import (
    DEFAULT_NOISE_VAR,
    DEFAULT_PRIOR_VAR,
    EVIDENCE_GRID_POINTS,
    EVIDENCE_RESOLUTION,
    EVIDENCE_STEPS,
    FEW_ROWS_COUNT,
    FEW_ROWS_NOISE,
    FEW_ROWS_SPREAD,
    MANY_ROWS,
    MAX_NOISE_VAR,
    MAX_PRIOR_RATIO,
    MIN_NOISE_VAR,
    MIN_PRIOR_RATIO,
)
from iegp.typing import Float, Int


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
    """Hyperparameters of one expert and their log evidence."""

    prior_ratios: Float
    """(n_terms,): prior variance over noise variance."""
    noise_var: Float
    """(D,)"""
    log_evidence: float


def spectrum(phi: Float, y: Float) -> Spectrum:
    """Decompose rows ``phi`` (n, F) and ``y`` (n, D). O(n F² + F³), once."""
    eigenvalues, vectors = np.linalg.eigh(phi.T @ phi)
    projections = (vectors.T @ (phi.T @ y)) ** 2
    return Spectrum(np.maximum(eigenvalues, 0.0), projections, (y**2).sum(axis=0), len(y))


def log_evidence(rows: Spectrum, prior_ratio: float, noise_var: Float) -> float:
    """Log density of the rows, summed over outputs. O(F D)."""
    return float(_log_evidence(rows, np.array([prior_ratio]), noise_var)[0])


def _log_evidence(rows: Spectrum, ratio: Float, noise_var: Float) -> Float:
    """Log density of the rows at one ratio (1,) and noise (D,), or at many of both (n, 1) and (n, D)."""
    n_outputs = len(rows.squares)
    log_det = np.log1p(ratio * rows.eigenvalues).sum(axis=-1, keepdims=True)
    misfit = rows.n_rows * np.log(2.0 * np.pi * noise_var) + _misfit(rows, ratio) / noise_var
    return np.asarray(-0.5 * (n_outputs * log_det + misfit.sum(axis=-1, keepdims=True)))


def _misfit(rows: Spectrum, ratio: Float) -> Float:
    """``y' inv(ratio Phi Phi' + I) y`` per output."""
    shrinkage = ratio / (1.0 + ratio * rows.eigenvalues)
    return np.maximum(rows.squares - shrinkage @ rows.projections, 0.0)


def best_noise(misfit: Float, n_rows: int) -> Float:
    """The noise that maximises the evidence at a given ratio, within its bounds; a few rows are joined by more."""
    if n_rows < MANY_ROWS:
        misfit, n_rows = misfit + FEW_ROWS_COUNT * FEW_ROWS_NOISE, n_rows + int(FEW_ROWS_COUNT)
    return np.clip(misfit / n_rows, MIN_NOISE_VAR, MAX_NOISE_VAR)


def _penalty(log_ratios: Float, noise_var: Float, n_rows: int) -> tuple[float, Float, float]:
    """What the log evidence of a few rows is lowered by, and its slopes in the logs of the ratios and of the noise.

    A handful of rows is explained without noise by any flexible function, so that prior and noise variance need priors
    of their own.
    """
    if n_rows >= MANY_ROWS:
        return 0.0, np.zeros(len(log_ratios)), 0.0
    away, noise = _surprise(log_ratios, noise_var)
    slopes = away / FEW_ROWS_SPREAD
    d_noise = float(slopes.sum()) + 0.5 * FEW_ROWS_COUNT * float(np.sum(1.0 - FEW_ROWS_NOISE / noise_var))
    return 0.5 * float(away @ away) + float(noise[0]), slopes, d_noise


def _surprise(log_ratios: Float, noise_var: Float) -> tuple[Float, Float]:
    """How far prior variances (..., n_terms) are from one, and what the noise (..., D) adds to the penalty (..., 1)."""
    log_noise = np.log(noise_var)
    away = (log_ratios + log_noise.mean(axis=-1, keepdims=True)) / FEW_ROWS_SPREAD
    noise = (log_noise + FEW_ROWS_NOISE / noise_var).sum(axis=-1, keepdims=True)
    return away, 0.5 * FEW_ROWS_COUNT * noise


def fit(rows: Spectrum, prior_var: float | None = None, noise_var: float | None = None) -> Fit:
    """Maximise the evidence over whatever is ``None``; the rest is taken as given."""

    def noise_at(ratio: Float) -> Float:
        shape = (*ratio.shape[:-1], len(rows.squares))
        if noise_var is not None:
            return np.full(shape, noise_var)
        if prior_var is not None:
            return np.full(shape, prior_var / ratio)
        return best_noise(_misfit(rows, ratio), rows.n_rows)

    def objective(log_ratio: Float) -> Float:
        """At one place (1,) or at many (n, 1)."""
        ratio = np.exp(log_ratio)
        noise = noise_at(ratio)
        value = -_log_evidence(rows, ratio, noise)
        if rows.n_rows < MANY_ROWS:
            away, penalty = _surprise(log_ratio, noise)
            value = 0.5 * (away * away) + penalty + value
        return value

    def found_at(ratio: float) -> Fit:
        noise = noise_at(np.array([ratio]))
        return Fit(np.array([ratio]), noise, log_evidence(rows, ratio, noise))

    if prior_var is not None and noise_var is not None:
        return found_at(prior_var / noise_var)
    # With the prior given it is the noise that the ratio stands for, and the noise that has bounds.
    low, high = MIN_PRIOR_RATIO, MAX_PRIOR_RATIO
    if prior_var is not None:
        low, high = prior_var / MAX_NOISE_VAR, prior_var / MIN_NOISE_VAR
    grid = np.linspace(np.log(low), np.log(high), EVIDENCE_GRID_POINTS)
    best = int(np.argmin(objective(grid[:, None])))
    bounds = (grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])
    found = minimize_scalar(
        lambda at: float(objective(np.array([at]))[0]),
        bounds=bounds,
        method="bounded",
        options={"xatol": EVIDENCE_RESOLUTION},
    )
    return found_at(float(np.exp(found.x)))


class TermRows(NamedTuple):
    """All that the evidence of a sum of terms needs to know of n rows."""

    gram: Float
    """(F, F): ``Phi'Phi``."""
    projections: Float
    """(F, D): ``Phi'y``."""
    squares: Float
    """(D,): ``y'y``."""
    n_rows: int
    term_of: Int
    """(F,): term of each feature."""

    @property
    def n_terms(self) -> int:
        return int(self.term_of.max()) + 1


def term_rows(phi: Float, y: Float, term_of: Int) -> TermRows:
    """Sum up rows ``phi`` (n, F) and ``y`` (n, D). O(n F²), once."""
    return TermRows(phi.T @ phi, phi.T @ y, (y**2).sum(axis=0), len(y), term_of)


Explained = tuple[float, Float, Float, Float]


def explained(rows: TermRows, ratios: Float) -> Explained:
    """``log det(A)``, the misfit (D,), and the slopes of both in the logs of the ratios: (n_terms,), (n_terms, D)."""
    root = np.sqrt(ratios)[rows.term_of]
    whole = root[:, None] * rows.gram * root
    whole[np.diag_indices_from(whole)] += 1.0
    # A symmetric matrix is its own transpose: LAPACK works in place on the row-major array, seen as column-major.
    lower, _ = lapack.dpotrf(whole.T, lower=1, overwrite_a=1)
    scaled = root[:, None] * rows.projections
    mean, _ = lapack.dpotrs(lower, scaled, lower=1)
    misfit = np.maximum(rows.squares - (scaled * mean).sum(axis=0), 0.0)
    log_det = 2.0 * float(np.log(np.diagonal(lower)).sum())
    inverse, _ = lapack.dpotri(lower, lower=1, overwrite_c=1)
    own = np.eye(rows.n_terms)[rows.term_of]
    return log_det, misfit, (1.0 - np.diagonal(inverse)) @ own, -(own.T @ mean**2)


def term_evidence(rows: TermRows, found: Explained, noise_var: Float) -> tuple[float, Float, Float]:
    """Log evidence, and its slopes in the logs of the ratios (n_terms,) and of the noise (D,)."""
    log_det, misfit, d_log_det, d_misfit = found
    n, n_outputs = rows.n_rows, len(rows.squares)
    value = -0.5 * float(n_outputs * log_det + np.sum(n * np.log(2.0 * np.pi * noise_var) + misfit / noise_var))
    return value, -0.5 * (n_outputs * d_log_det + d_misfit @ (1.0 / noise_var)), 0.5 * (misfit / noise_var - n)


def fit_terms(rows: TermRows, prior_vars: Float, noise_var: float | None = None) -> Fit:
    """Maximise the evidence over the prior variances that are NaN and, if it is ``None``, over the noise.

    Where prior variances are given, so is what the ratios stand for, and all outputs share one noise level.
    """
    free = np.isnan(prior_vars)
    is_noise_searched = noise_var is None and (rows.n_rows < MANY_ROWS or not free.all())

    def unpack(parameters: Float) -> tuple[Float, Float, Explained]:
        ratios = np.empty(len(free))
        ratios[free] = np.exp(parameters[: free.sum()])
        if noise_var is not None or is_noise_searched:
            level = float(np.exp(parameters[-1])) if noise_var is None else noise_var
            ratios[~free] = prior_vars[~free] / level
            return ratios, np.full(len(rows.squares), level), explained(rows, ratios)
        found = explained(rows, ratios)
        return ratios, best_noise(found[1], rows.n_rows), found

    def objective(parameters: Float) -> tuple[float, Float]:
        ratios, noise, known = unpack(parameters)
        value, slopes, d_noise = term_evidence(rows, known, noise)
        penalty, d_penalty, d_noise_penalty = _penalty(np.log(ratios[free]), noise, rows.n_rows)
        # A given prior variance is a ratio that falls as the noise rises.
        last = [d_noise_penalty - (d_noise.sum() - slopes[~free].sum())] if is_noise_searched else []
        return penalty - value, np.concatenate([d_penalty - slopes[free], last])

    ratio_bounds, noise_bounds = np.log([MIN_PRIOR_RATIO, MAX_PRIOR_RATIO]), np.log([MIN_NOISE_VAR, MAX_NOISE_VAR])
    bounds = [ratio_bounds] * int(free.sum()) + [noise_bounds] * is_noise_searched
    if not bounds:
        ratios, noise, known = unpack(np.empty(0))
        return Fit(ratios, noise, term_evidence(rows, known, noise)[0])
    found = [
        minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": EVIDENCE_STEPS})
        for start in _starts(int(free.sum()), is_noise_searched)
    ]
    ratios, noise, known = unpack(min(found, key=lambda one: float(one.fun)).x)
    return Fit(ratios, noise, term_evidence(rows, known, noise)[0])


def _starts(n_free: int, with_noise: bool) -> list[Float]:
    """Logs of ratios to start from: all terms alike, and each alone with the others small; the noise at a tenth."""
    usual = DEFAULT_PRIOR_VAR / DEFAULT_NOISE_VAR
    ratios: list[Float] = [np.full(n_free, np.log(usual))]
    if n_free > 1:
        alone = np.where(np.eye(n_free), np.log(usual**2), -np.log(usual))
        ratios += list(alone[:2])
    noise = np.log([DEFAULT_NOISE_VAR]) if with_noise else np.empty(0)
    return [np.concatenate([start, noise]) for start in ratios]
