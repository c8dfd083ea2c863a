"""Maximum Laplace evidence of one expert on its warm-up rows: ``prior_var`` and the parameters of the likelihood.

With ``B = sqrt(prior_var) Phi`` the parameters are ``a ~ N(0, I)`` and the latent values ``z = B a``. At the posterior
mode of all rows together, slopes g and curvatures H of the likelihood give (Rasmussen & Williams, section 5.5.1)

    log p(y) ≈ sum log p(y_t | z_t) - |a|²/2 - log det(A)/2,        A = I + B'HB.

Its gradient has an explicit part and one through the mode. The latter needs how curvatures change with z and with the
likelihood's parameters; those are functions of one row each, so central differences of them cost next to nothing and
a new likelihood needs no third derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize, minimize_scalar

from iegp._compile import call_for_three, compiled
from iegp.core.compute.tolerances import (
    LAPLACE_CLASS_ROWS,
    LAPLACE_CONVERGED,
    LAPLACE_DIFFERENCE,
    LAPLACE_LINE_TOLERANCE,
    LAPLACE_MAX_SEARCH,
    LAPLACE_MAX_STEPS,
    LAPLACE_SEARCH_TOLERANCE,
    LATENT_VAR_RESOLUTION,
    MAX_LATENT_VAR,
    MIN_LATENT_VAR,
    SMALLEST,
    START_LATENT_VAR,
)
from iegp.core.likelihoods.links import Link
from iegp.typing import Float


class LaplaceFit(NamedTuple):
    """Hyperparameters of one expert and their log evidence."""

    prior_var: float
    link: Float
    log_evidence: float


class _Mode(NamedTuple):
    """The posterior mode of all rows."""

    a: Float
    z: Float
    slopes: Float
    curvatures: Float
    height: float
    """Log likelihood minus ``|a|²/2``."""
    factor: tuple[Float, bool]
    """Cholesky factor of ``A``."""


def fit(y: Float, phi: Float, link: Link, prior_var: float | None = None) -> LaplaceFit:
    """Maximise the evidence of rows ``phi`` (n, F) and labels ``y`` over ``prior_var`` (unless given) and the link."""
    if link.likelihood.n_latents(3) > 1:
        return _fit_categorical(y, phi, link.start, prior_var)
    searched = Search(y, phi, link)
    own_start = [np.log(START_LATENT_VAR)] if prior_var is None else []
    own_bounds = [(np.log(MIN_LATENT_VAR), np.log(link.likelihood.max_prior_var))] if prior_var is None else []
    n_own = len(own_start)

    def unpack(parameters: Float) -> tuple[float, Float]:
        return float(parameters[0] if prior_var is None else np.log(prior_var)), parameters[n_own:]

    def objective(parameters: Float) -> tuple[float, Float]:
        value, d_log_var, d_free = searched.evidence(*unpack(parameters))
        penalty, d_penalty = link.penalty(parameters[n_own:])
        return penalty - value, np.concatenate([[-d_log_var][:n_own], d_penalty - d_free])

    begin = np.concatenate([own_start, link.free()])
    if not begin.size:
        return LaplaceFit(float(prior_var or START_LATENT_VAR), link.start, searched.evidence(*unpack(begin))[0])
    options = {"maxiter": LAPLACE_MAX_SEARCH, "ftol": LAPLACE_SEARCH_TOLERANCE}
    bounds = own_bounds + link.bounds()
    found = minimize(objective, begin, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    log_var, free = unpack(found.x)
    return LaplaceFit(float(np.exp(log_var)), link.parameters(free), searched.evidence(log_var, free)[0])


class Search:
    """Evidence and gradient at one set of hyperparameters after another; each mode starts from the last."""

    def __init__(self, y: Float, phi: Float, link: Link) -> None:
        self.y, self.phi, self.link = y, phi, link
        self.theta = np.zeros(phi.shape[1])

    def evidence(self, log_var: float, free: Float) -> tuple[float, float, Float]:
        """Log evidence, its slope in log(prior_var), and its slopes in the free numbers of the link."""
        link = self.link.parameters(free)
        root = float(np.exp(0.5 * log_var))
        b = root * self.phi
        mode = _find_mode(self._rows, b, link, self.theta / root)
        self.theta = root * mode.a
        value = mode.height - float(np.log(np.diagonal(mode.factor[0])).sum())
        whitened = cho_solve(mode.factor, b.T, check_finite=False)
        leverage = np.einsum("tf,ft->t", b, whitened)
        bend = self._slope_of_curvature(mode.z, link)

        def through_mode(d_slope: Float, d_curvature: Float) -> float:
            """Half the change of log det(A) when slopes and curvatures change by these at the old mode."""
            d_z = b @ (whitened @ d_slope)
            return 0.5 * float(leverage @ (d_curvature + bend * d_z))

        # The prior variance scales B: z moves by z/2 at fixed a.
        half = 0.5 * mode.z
        d_log_var = float(mode.slopes @ half) - 0.5 * float(leverage @ mode.curvatures)
        moved = half + b @ (whitened @ (0.5 * mode.slopes - mode.curvatures * half))
        d_log_var -= 0.5 * float(leverage @ (bend * moved))
        d_free = np.zeros(len(free))
        for j in range(len(free)):
            d_log, d_slope, d_curvature = self._change_with_link(mode.z, free, j)
            d_free[j] = d_log.sum() - through_mode(d_slope, d_curvature)
        return value, d_log_var, d_free

    def _rows(self, z: Float, link: Float) -> Float:
        """Log probability, slope and curvature of every row: (3, n)."""
        likelihood = self.link.likelihood
        rows = derivative_rows(likelihood.derivatives_address, self.y, z, link)
        if not likelihood.is_trusted:
            likelihood.require_sound(rows, np.where(rows[2] < 0.0, np.nan, 0.0))
        return rows

    def _slope_of_curvature(self, z: Float, link: Float) -> Float:
        above = self._rows(z + LAPLACE_DIFFERENCE, link)[2]
        below = self._rows(z - LAPLACE_DIFFERENCE, link)[2]
        return np.asarray((above - below) / (2.0 * LAPLACE_DIFFERENCE))

    def _change_with_link(self, z: Float, free: Float, j: int) -> Float:
        step = np.zeros(len(free))
        step[j] = LAPLACE_DIFFERENCE
        above = self._rows(z, self.link.parameters(free + step))
        below = self._rows(z, self.link.parameters(free - step))
        return np.asarray((above - below) / (2.0 * LAPLACE_DIFFERENCE))


def _find_mode(derivatives: Callable[[Float, Float], Float], b: Float, link: Float, a: Float) -> _Mode:
    """Newton's method in the F parameters, with steps halved until they climb: the posterior is log-concave."""

    def height_at(a: Float) -> tuple[float, Float, Float]:
        z = b @ a
        rows = derivatives(z, link)
        return float(rows[0].sum()) - 0.5 * float(a @ a), z, rows

    height, z, rows = height_at(a)
    if not np.isfinite(height):
        a = np.zeros_like(a)
        height, z, rows = height_at(a)
    for _ in range(LAPLACE_MAX_STEPS):
        factor = _factor(b, rows[2])
        step = cho_solve(factor, b.T @ rows[1] - a, check_finite=False)
        fraction = 1.0
        while fraction > LAPLACE_LINE_TOLERANCE:
            reached, z_new, rows_new = height_at(a + fraction * step)
            if reached >= height - LAPLACE_LINE_TOLERANCE * (1.0 + abs(height)):
                break
            fraction *= 0.5
        a, gain = a + fraction * step, reached - height
        height, z, rows = reached, z_new, rows_new
        if gain < LAPLACE_CONVERGED * (1.0 + abs(height)) and fraction == 1.0:
            break
    return _Mode(a, z, rows[1], rows[2], height, _factor(b, rows[2]))


def _factor(b: Float, curvatures: Float) -> tuple[Float, bool]:
    scaled = np.sqrt(curvatures)[:, None] * b
    gram = scaled.T @ scaled
    gram[np.diag_indices_from(gram)] += 1.0
    factor: tuple[Float, bool] = cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
    return factor


@compiled
def derivative_rows(address: int, y: Float, z: Float, link: Float) -> Float:
    """Log probability, slope and curvature of every row: (3, n), by the function at this address."""
    out = np.empty((3, z.size))
    for t in range(z.size):
        out[0, t], out[1, t], out[2, t] = call_for_three(address, (y[t], z[t], link))
    return out


def _fit_categorical(y: Float, phi: Float, link: Float, prior_var: float | None) -> LaplaceFit:
    """One variance for all classes, found by a bounded search.

    The evidence is that of the approximation the experts use: one covariance for all classes, sharpened by the average
    curvature over the K - 1 contrasts. With two classes it is the binary evidence.
    """
    rows = np.unique(np.linspace(0, len(y) - 1, min(len(y), LAPLACE_CLASS_ROWS)).astype(np.intp))
    labels, phi = y[rows, 0].astype(np.intp), phi[rows]
    known: list[Float] = [np.zeros((phi.shape[1], len(link)))]

    def evidence(log_var: float) -> float:
        root = float(np.exp(0.5 * log_var))
        b = root * phi
        a, height = _categorical_mode(labels, b, link, known[-1] / root)
        known.append(root * a)
        curvatures = (1.0 - (_probabilities(b @ a, link) ** 2).sum(axis=1)) / (len(link) - 1)
        factor = _factor(b, np.maximum(curvatures, 0.0))
        return height - (len(link) - 1) * float(np.log(np.diagonal(factor[0])).sum())

    if prior_var is not None:
        return LaplaceFit(prior_var, link, evidence(np.log(prior_var)))
    bounds = np.log(MIN_LATENT_VAR), np.log(MAX_LATENT_VAR)
    options = {"xatol": LATENT_VAR_RESOLUTION / 2.0}
    found = minimize_scalar(lambda log_var: -evidence(log_var), bounds=bounds, method="bounded", options=options)
    # Rounded, so that the order of classes or a scaling of columns, which change last digits, do not change the result.
    log_var = float(np.clip(LATENT_VAR_RESOLUTION * np.round(found.x / LATENT_VAR_RESOLUTION), *bounds))
    return LaplaceFit(float(np.exp(log_var)), link, -float(found.fun))


def _probabilities(z: Float, link: Float) -> Float:
    odds = np.exp(z + link - (z + link).max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _categorical_mode(labels: NDArray[np.intp], b: Float, link: Float, a: Float) -> tuple[Float, float]:
    """The mode of all K F parameters by L-BFGS: their gradient costs two products, their Hessian is never formed.

    The search runs in coordinates ``c = L'a`` where ``L L'`` is the Hessian that all classes would share were they
    equally probable: there, steps in every direction are about equally long, and a dozen are enough.
    """
    rows, n_classes = np.arange(len(labels)), len(link)
    lower = np.tril(_factor(b, np.full(len(labels), 1.0 / n_classes))[0])

    def objective(flat: Float) -> tuple[float, Float]:
        a = solve_triangular(lower, flat.reshape(b.shape[1], n_classes), trans="T", lower=True, check_finite=False)
        p = _probabilities(b @ a, link)
        value = -float(np.log(np.maximum(p[rows, labels], SMALLEST)).sum()) + 0.5 * float((a * a).sum())
        p[rows, labels] -= 1.0
        return value, solve_triangular(lower, b.T @ p + a, lower=True, check_finite=False).ravel()

    options = {"maxiter": LAPLACE_MAX_STEPS, "ftol": LAPLACE_LINE_TOLERANCE}
    found = minimize(objective, (lower.T @ a).ravel(), jac=True, method="L-BFGS-B", options=options)
    mode = solve_triangular(lower, found.x.reshape(a.shape), trans="T", lower=True, check_finite=False)
    return np.asarray(mode), -float(found.fun)
