"""Initial positions and variances of an expert of the latent variable model, from the first rows (Remark 2).

Maximises ``log p(Y | X; noise_var, prior_var) + log p(X)`` (eq:init_opt) over the latent positions and, in logs, both
variances. The marginal likelihood of random features needs F x F matrices only (Woodbury), so that an evaluation with
its gradient costs O(n F² + n F q), where q is the number of columns of ``Y`` after :func:`leading_columns`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from iegp.core.compute.tolerances import (
    ALWAYS_KEPT_COLUMNS,
    LEFT_OUT_VARIANCE,
    MAX_NOISE_VAR,
    MAX_PRIOR_RATIO,
    MIN_NOISE_VAR,
)
from iegp.core.features import fourier_rows
from iegp.typing import Float


class FirstRows(NamedTuple):
    """The scaled warm-up rows in the form that the evidence needs: it depends on ``Y Y'`` alone."""

    columns: Float
    """(n, q) rows in a basis where a few columns hold nearly all of the variance."""
    total: float
    """Sum of squares of all entries, those left out included."""
    n_outputs: int
    """D, the number of columns of the rows themselves."""


class Start(NamedTuple):
    """Initial positions and variances of an expert."""

    positions: Float
    noise_var: float
    prior_var: float
    objective: float
    """Minus log posterior density, up to a constant."""


def leading_columns(rows: Float) -> FirstRows:
    """Rotate rows (n, D) to their principal axes and drop axes that hold next to no variance.

    What is dropped counts as noise in full: the evidence errs by what features could have explained of the last 2 %.
    Nothing is dropped from rows with at most 64 columns.
    """
    n, n_outputs = rows.shape
    total = float(np.sum(rows**2))
    gram = rows.T @ rows if n_outputs <= n else rows @ rows.T
    values, vectors = np.linalg.eigh(gram)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    kept = 1 + int(np.searchsorted(np.cumsum(values), (1.0 - LEFT_OUT_VARIANCE) * total)) if total > 0.0 else 1
    kept = min(max(kept, ALWAYS_KEPT_COLUMNS), len(values))
    columns = rows @ vectors[:, :kept] if n_outputs <= n else vectors[:, :kept] * np.sqrt(values[:kept])
    return FirstRows(np.ascontiguousarray(columns), total, n_outputs)


def objective(
    first: FirstRows, frequencies: Float, positions: Float, log_noise: float, log_prior: float, latent_var: float
) -> tuple[float, Float, float, float]:
    """Compute minus log posterior density (constants dropped) and its derivatives.

    Returns the value and the gradients with respect to the positions (n, d), ``log_noise`` and ``log_prior``.
    """
    n, d_outputs = len(positions), first.n_outputs
    n_frequencies = len(frequencies)
    noise, ratio = math.exp(log_noise), math.exp(log_noise - log_prior)
    phi = fourier_rows(positions, frequencies)
    a = phi.T @ phi
    a[np.diag_indices_from(a)] += ratio
    factor = cho_factor(a, lower=True, overwrite_a=False, check_finite=False)
    inverse = cho_solve(factor, np.eye(len(a)), check_finite=False)
    cross = phi.T @ first.columns
    theta = inverse @ cross
    explained = float(np.sum(cross * theta))
    log_det = 2.0 * float(np.sum(np.log(np.diagonal(factor[0])))) - len(a) * math.log(ratio)
    misfit = first.total - explained
    value = 0.5 * d_outputs * (n * log_noise + log_det) + 0.5 * misfit / noise
    value += 0.5 * float(np.sum(positions**2)) / latent_var

    pull = d_outputs * inverse + (theta @ theta.T) / noise
    by_phi = phi @ pull - (first.columns @ theta.T) / noise
    # The derivative of a sine is its cosine, of a cosine minus its sine, times the frequency.
    by_angle = by_phi[:, :n_frequencies] * phi[:, n_frequencies:] - by_phi[:, n_frequencies:] * phi[:, :n_frequencies]
    by_position = by_angle @ frequencies + positions / latent_var
    # d log_det / d log ratio = ratio tr(inverse) - F, and d explained / d ratio = -|theta|².
    by_ratio = 0.5 * d_outputs * (ratio * float(np.trace(inverse)) - len(a))
    by_ratio += 0.5 * ratio * float(np.sum(theta**2)) / noise
    by_noise = 0.5 * d_outputs * n - 0.5 * misfit / noise + by_ratio
    return value, by_position, by_noise, -by_ratio


def fit_start(
    first: FirstRows, frequencies: Float, positions: Float, noise_var: float, latent_var: float, max_iter: int
) -> Start:
    """Maximise the evidence by L-BFGS from ``positions`` (n, d).

    The prior variance starts at one, that of the scaled rows.
    """
    shape = positions.shape

    def value_and_gradient(packed: Float) -> tuple[float, Float]:
        value, by_position, by_noise, by_prior = objective(
            first, frequencies, packed[:-2].reshape(shape), packed[-2], packed[-1], latent_var
        )
        return value, np.append(by_position.ravel(), (by_noise, by_prior))

    low, high = math.log(MIN_NOISE_VAR), math.log(MAX_NOISE_VAR)
    bounds = [(None, None)] * positions.size + [(low, high), (low, math.log(MAX_PRIOR_RATIO) + low)]
    start = np.append(positions.ravel(), (math.log(noise_var), 0.0))
    if max_iter == 0:
        return Start(positions.copy(), noise_var, 1.0, value_and_gradient(start)[0])
    found = minimize(
        value_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": max_iter}
    )
    best = found.x
    return Start(best[:-2].reshape(shape).copy(), math.exp(best[-2]), math.exp(best[-1]), float(found.fun))
