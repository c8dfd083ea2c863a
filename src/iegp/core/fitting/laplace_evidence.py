"""Maximum Laplace evidence of one expert on its warm-up rows: ``prior_var`` and the parameters of the likelihood.

With ``B = Phi sqrt(V)``, V the prior variance of each feature's term on the diagonal, the parameters are
``a ~ N(0, I)`` and the latent values ``z = B a``. At the posterior mode of all rows together, slopes g and curvatures H
of the likelihood give (Rasmussen & Williams, section 5.5.1)

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
from scipy.linalg import lapack
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
from iegp.core.fitting.evidence import fit_terms, term_rows
from iegp.core.likelihoods.links import Link
from iegp.typing import Float, Int


class LaplaceFit(NamedTuple):
    """Hyperparameters of one expert and their log evidence."""

    prior_vars: Float
    """(n_terms,)"""
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
    factor: Float
    """Cholesky factor of ``A`` in the lower triangle."""


def fit(y: Float, phi: Float, term_of: Int, link: Link, prior_vars: Float) -> LaplaceFit:
    """Maximise the evidence of rows ``phi`` (n, F) and labels ``y`` over the prior variances that are NaN and the link.

    ``term_of`` (F,) is the term of each feature, ``prior_vars`` has one entry per term.
    """
    if link.likelihood.n_latents(3) > 1:
        return _fit_categorical(y, phi, term_of, link, prior_vars)
    searched, free = Search(y, phi, term_of, link), np.isnan(prior_vars)
    n_own = int(free.sum())

    def unpack(parameters: Float) -> tuple[Float, Float]:
        log_vars = np.log(np.where(free, 1.0, prior_vars))
        log_vars[free] = parameters[:n_own]
        return log_vars, parameters[n_own:]

    def objective(parameters: Float) -> tuple[float, Float]:
        value, d_log_vars, d_free = searched.evidence(*unpack(parameters))
        penalty, d_penalty = link.penalty(parameters[n_own:])
        return penalty - value, np.concatenate([-d_log_vars[free], d_penalty - d_free])

    begin = np.concatenate([np.full(n_own, np.log(START_LATENT_VAR / len(free))), link.free()])
    if begin.size:
        bounds = [(np.log(MIN_LATENT_VAR), np.log(link.likelihood.max_prior_var))] * n_own + link.bounds()
        options = {"maxiter": LAPLACE_MAX_SEARCH, "ftol": LAPLACE_SEARCH_TOLERANCE}
        begin = minimize(objective, begin, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    log_vars, settled = unpack(begin)
    return LaplaceFit(np.exp(log_vars), link.parameters(settled), searched.evidence(log_vars, settled)[0])


class Search:
    """Evidence and gradient at one set of hyperparameters after another; each mode starts from the last."""

    def __init__(self, y: Float, phi: Float, term_of: Int, link: Link) -> None:
        self.y, self.phi, self.term_of, self.link = y, phi, term_of, link
        self.theta = np.zeros(phi.shape[1])

    def evidence(self, log_vars: Float, free: Float) -> tuple[float, Float, Float]:
        """Log evidence, its slopes in the logs of the prior variances, and in the free numbers of the link."""
        link = self.link.parameters(free)
        root = np.exp(0.5 * log_vars)[self.term_of]
        b = root * self.phi
        mode = _find_mode(self._rows, b, link, self.theta / root)
        self.theta = root * mode.a
        value = mode.height - float(np.log(np.diagonal(mode.factor)).sum())
        whitened = _solve(mode.factor, b.T)
        leverage = np.einsum("tf,ft->t", b, whitened)
        bend = self._slope_of_curvature(mode.z, link)

        def through_mode(d_slope: Float, d_curvature: Float) -> float:
            """Half the change of log det(A) when slopes and curvatures change by these at the old mode."""
            d_z = b @ (whitened @ d_slope)
            return 0.5 * float(leverage @ (d_curvature + bend * d_z))

        d_log_vars = np.zeros(len(log_vars))
        for k in range(len(log_vars)):
            own = self.term_of == k
            # The prior variance scales a term's part of B: z moves by half of that part at fixed a.
            half = 0.5 * (b[:, own] @ mode.a[own])
            d_log_vars[k] = mode.slopes @ half - 0.5 * (
                np.einsum("tf,ft->t", b[:, own], whitened[own]) @ mode.curvatures
            )
            pull = np.where(own, 0.5 * mode.a, 0.0) - b.T @ (mode.curvatures * half)
            moved = half + b @ _solve(mode.factor, pull)
            d_log_vars[k] -= 0.5 * (leverage @ (bend * moved))
        d_free = np.zeros(len(free))
        for j in range(len(free)):
            d_log, d_slope, d_curvature = self._change_with_link(mode.z, free, j)
            d_free[j] = d_log.sum() - through_mode(d_slope, d_curvature)
        return value, d_log_vars, d_free

    def _rows(self, z: Float, link: Float) -> Float:
        """Log probability, slope and curvature of every row: (3, n)."""
        likelihood = self.link.likelihood
        rows = derivative_rows(likelihood.derivatives_address, self.y, z, link)
        if not likelihood.never_fails:
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
        step = _solve(factor, b.T @ rows[1] - a)
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


# LAPACK is called directly: around matrices this small, SciPy's own functions spend most of their time on checks.


def _factor(b: Float, curvatures: Float) -> Float:
    scaled = np.sqrt(curvatures)[:, None] * b
    gram = scaled.T @ scaled
    gram.flat[:: len(gram) + 1] += 1.0
    # A symmetric matrix is its own transpose: LAPACK works in place on the row-major array, seen as column-major.
    factor, failed = lapack.dpotrf(gram.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the curvature of the log posterior is not finite")
    return np.asarray(factor)


def _solve(factor: Float, right: Float) -> Float:
    return np.asarray(lapack.dpotrs(factor, right, lower=1)[0])


@compiled
def derivative_rows(address: int, y: Float, z: Float, link: Float) -> Float:
    """Log probability, slope and curvature of every row: (3, n), by the function at this address."""
    out = np.empty((3, z.size))
    for t in range(z.size):
        out[0, t], out[1, t], out[2, t] = call_for_three(address, (y[t], z[t], link))
    return out


def _fit_categorical(y: Float, phi: Float, term_of: Int, link: Link, prior_vars: Float) -> LaplaceFit:
    """One variance for all classes, found by a bounded search.

    The evidence is that of the approximation the experts use: one covariance for all classes, sharpened by the average
    curvature over the K - 1 contrasts. With two classes it is the binary evidence. The shares of several terms in it
    are those that a regression on the classes' indicators finds.
    """
    rows = np.unique(np.linspace(0, len(y) - 1, min(len(y), LAPLACE_CLASS_ROWS)).astype(np.intp))
    labels, phi, offsets = y[rows, 0].astype(np.intp), phi[rows], link.start
    root_shares = np.sqrt(_class_shares(labels, phi, term_of, prior_vars))[term_of]
    known: list[Float] = [np.zeros((phi.shape[1], len(offsets)))]

    def evidence(log_var: float) -> float:
        root = float(np.exp(0.5 * log_var)) * root_shares
        b = root * phi
        a, height = _categorical_mode(labels, b, offsets, known[-1] / root[:, None])
        known.append(root[:, None] * a)
        curvatures = (1.0 - (_probabilities(b @ a, offsets) ** 2).sum(axis=1)) / (len(offsets) - 1)
        factor = _factor(b, np.maximum(curvatures, 0.0))
        return height - (len(offsets) - 1) * float(np.log(np.diagonal(factor)).sum())

    if not np.isnan(prior_vars).any():
        return LaplaceFit(prior_vars, offsets, evidence(float(np.log(prior_vars.sum()))))
    bounds = np.log(MIN_LATENT_VAR), np.log(MAX_LATENT_VAR)
    options = {"xatol": LATENT_VAR_RESOLUTION / 2.0}
    found = minimize_scalar(lambda log_var: -evidence(log_var), bounds=bounds, method="bounded", options=options)
    # Rounded, so that the order of classes or a scaling of columns, which change last digits, do not change the result.
    log_var = float(np.clip(LATENT_VAR_RESOLUTION * np.round(found.x / LATENT_VAR_RESOLUTION), *bounds))
    total = np.exp(log_var) * np.square(root_shares[[int(np.argmax(term_of == k)) for k in range(len(prior_vars))]])
    return LaplaceFit(np.where(np.isnan(prior_vars), total, prior_vars), offsets, -float(found.fun))


def _class_shares(labels: NDArray[np.intp], phi: Float, term_of: Int, prior_vars: Float) -> Float:
    """(n_terms,): shares of the terms in the prior variance."""
    if len(prior_vars) == 1:
        return np.ones(1)
    if not np.isnan(prior_vars).any():
        return np.asarray(prior_vars / prior_vars.sum())
    targets = np.eye(int(labels.max()) + 1)[labels]
    spread = targets.std(axis=0)
    targets = (targets - targets.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    ratios = fit_terms(term_rows(phi, targets, term_of), np.full(len(prior_vars), np.nan)).prior_ratios
    return np.asarray(ratios / ratios.sum())


def _probabilities(z: Float, link: Float) -> Float:
    odds = np.exp(z + link - (z + link).max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _categorical_mode(labels: NDArray[np.intp], b: Float, link: Float, a: Float) -> tuple[Float, float]:
    """The mode of all K F parameters by L-BFGS: their gradient costs two products, their Hessian is never formed.

    The search runs in coordinates ``c = L'a`` where ``L L'`` is the Hessian that all classes would share were they
    equally probable: there, steps in every direction are about equally long, and a dozen are enough.
    """
    rows, n_classes = np.arange(len(labels)), len(link)
    lower = _factor(b, np.full(len(labels), 1.0 / n_classes))

    def objective(flat: Float) -> tuple[float, Float]:
        a = lapack.dtrtrs(lower, flat.reshape(b.shape[1], n_classes), lower=1, trans=1)[0]
        p = _probabilities(b @ a, link)
        value = -float(np.log(np.maximum(p[rows, labels], SMALLEST)).sum()) + 0.5 * float((a * a).sum())
        p[rows, labels] -= 1.0
        return value, lapack.dtrtrs(lower, b.T @ p + a, lower=1)[0].ravel()

    options = {"maxiter": LAPLACE_MAX_STEPS, "ftol": LAPLACE_LINE_TOLERANCE}
    found = minimize(objective, (np.tril(lower).T @ a).ravel(), jac=True, method="L-BFGS-B", options=options)
    mode = lapack.dtrtrs(lower, found.x.reshape(a.shape), lower=1, trans=1)[0]
    return np.asarray(mode), -float(found.fun)
