"""Labels that are not Gaussian: the Laplace approximation of section "Laplace approximation", dense and row by row.

One expert: z_t = phi_t' theta_t, theta ~ N(0, prior_var I), a random walk of variance drift_var before every row (the
first too). `link` is a small array of parameters of the likelihood p(y | z):

    bernoulli-logit, bernoulli-probit   y in {0, 1}     P(y = 1) = F(z + link[0])
    poisson                             y >= 0          rate = exposure exp(z + link[0])
    ordinal-logit, ordinal-probit       y in {0..K-1}   P(y = j) = F(c_j - z) - F(c_{j-1} - z), link = c_0 < c_1 < ...
    categorical                         y in {0..K-1}   softmax of (z_k + link[k]), z_k = phi' theta_k

F is the logistic or the standard normal distribution function. Everything but `categorical` has one latent value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy import integrate, special

Array = NDArray[np.float64]

SCALAR_KINDS = ("bernoulli-logit", "bernoulli-probit", "poisson", "ordinal-logit", "ordinal-probit")
CLASS_KINDS = tuple(kind for kind in SCALAR_KINDS if kind.startswith(("bernoulli", "ordinal")))


# --- likelihoods with one latent value ------------------------------------------------------------------------------


def _interval(kind: str, y: float, z: float, link: Array) -> tuple[float, float]:
    """(a, b) such that P(y) = F(b) - F(a); both move by -1 when z moves by 1.

    A binary label is an ordinal one with the single cut-point -link[0], because 1 - F(-z - link[0]) = F(z + link[0]).
    """
    cuts = [-float(link[0])] if kind.startswith("bernoulli") else [float(c) for c in link]
    edges = [-math.inf, *cuts, math.inf]
    j = int(y)
    if j != y or not 0 <= j <= len(cuts):
        raise ValueError(f"{kind} has the labels 0..{len(cuts)}, got {y}")
    return edges[j] - z, edges[j + 1] - z


def _rate(z: float, link: Array, exposure: float) -> tuple[float, float]:
    """log(rate) and rate of the Poisson likelihood; a rate that would overflow is infinite."""
    log_rate = float(z) + float(link[0]) + math.log(exposure)
    return log_rate, (math.exp(log_rate) if log_rate < 700.0 else math.inf)


def _log_normal_mass(a: float, b: float) -> float:
    """log(Phi(b) - Phi(a)), a < b."""
    if a > 0.0:  # in the right tail both are close to one: mirror to the left, where they are small
        a, b = -b, -a
    if math.isinf(a):
        return float(special.log_ndtr(b))
    if not math.isinf(b) and (b - a) * max(1.0, abs(a), abs(b)) < 1.0:
        # Narrow: the difference would cancel, but the density is all but constant over it.
        nodes, weights = np.polynomial.legendre.leggauss(16)
        x = 0.5 * (a + b) + 0.5 * (b - a) * nodes
        return math.log(0.5 * (b - a)) + float(special.logsumexp(-0.5 * x**2, b=weights)) - 0.5 * math.log(2 * math.pi)
    upper, lower = float(special.log_ndtr(b)), float(special.log_ndtr(a))
    return upper + math.log(-math.expm1(lower - upper))


def log_density(kind: str, y: float, z: float, link: Array, exposure: float = 1.0) -> float:
    """log p(y | z) for one label and one latent value. `exposure` matters to counts only."""
    if kind == "poisson":
        log_rate, rate = _rate(z, link, exposure)
        return y * log_rate - rate - float(special.gammaln(y + 1.0))
    a, b = _interval(kind, y, z, link)
    if kind.endswith("logit"):
        # sigma(b) - sigma(a) = sigma(b) sigma(-a) (1 - exp(a - b))
        return float(special.log_expit(b)) + float(special.log_expit(-a)) + math.log(-math.expm1(a - b))
    if kind.endswith("probit"):
        return _log_normal_mass(a, b)
    raise ValueError(f"unknown likelihood {kind!r}")


def negative_binomial_log_density(y: float, z: float, link: Array, exposure: float = 1.0) -> float:
    """log p(y | z) of an overdispersed count: negative binomial of mean m = exposure exp(z + link[0]).

    Its variance is m + (exp(w) - 1) m^2 with w = link[1] > 0, that of a Poisson count whose rate is multiplied by
    log-normal noise of mean one and log variance w. An integer y has scipy.stats.nbinom.logpmf(y, r, r / (r + m)).
    """
    log_rate, rate = _rate(z, link, exposure)
    r = 1.0 / math.expm1(link[1])
    log_total = math.log(r + rate)
    log_binomial = -math.log(y + r) - float(special.betaln(r, y + 1.0))
    return log_binomial + r * (math.log(r) - log_total) + y * (log_rate - log_total)


def _probit_derivatives(a: float, b: float) -> tuple[float, float]:
    """Gradient and curvature in z of log(Phi(b) - Phi(a)), by the quotient rule in 60 digits.

    The two terms of the curvature cancel in the tails, where doubles have nothing left.
    """
    side = 1.0
    if a > 0.0:  # the mirror image in z
        a, b, side = -b, -a, -1.0
    with mpmath.workdps(60):
        a, b = mpmath.mpf(a), mpmath.mpf(b)
        mass = mpmath.ncdf(b) - (0 if mpmath.isinf(a) else mpmath.ncdf(a))
        density = [mpmath.mpf(0) if mpmath.isinf(x) else mpmath.npdf(x) for x in (a, b)]
        slope = [mpmath.mpf(0) if mpmath.isinf(x) else x * mpmath.npdf(x) for x in (a, b)]
        gradient = (density[0] - density[1]) / mass
        curvature = gradient**2 + (slope[1] - slope[0]) / mass
        return side * float(gradient), float(curvature)


def gradient(kind: str, y: float, z: float, link: Array, exposure: float = 1.0) -> float:
    """d log p(y | z) / dz."""
    if kind == "poisson":
        return y - _rate(z, link, exposure)[1]
    a, b = _interval(kind, y, z, link)
    if kind.endswith("logit"):
        return float(special.expit(a)) - float(special.expit(-b))
    if kind.endswith("probit"):
        return _probit_derivatives(a, b)[0]
    raise ValueError(f"unknown likelihood {kind!r}")


def curvature(kind: str, y: float, z: float, link: Array, exposure: float = 1.0) -> float:
    """-d^2 log p(y | z) / dz^2, never negative: all these likelihoods are log-concave in z."""
    if kind == "poisson":
        return _rate(z, link, exposure)[1]
    a, b = _interval(kind, y, z, link)
    if kind.endswith("logit"):
        return float(special.expit(a) * special.expit(-a) + special.expit(b) * special.expit(-b))
    if kind.endswith("probit"):
        return _probit_derivatives(a, b)[1]
    raise ValueError(f"unknown likelihood {kind!r}")


# --- predictive probability, one latent value -----------------------------------------------------------------------


def _latent_mode(kind: str, y: float, mean: float, var: float, link: Array, exposure: float) -> float:
    """t = z - mean at the maximum of log p(y | z) + log N(z; mean, var): bisection on the slope, which only falls."""

    def slope(t: float) -> float:
        return gradient(kind, y, mean + t, link, exposure) - t / var

    direction = 1.0 if slope(0.0) > 0.0 else -1.0
    near, step = 0.0, min(1.0, math.sqrt(var))
    while slope(near + direction * step) * direction > 0.0:
        near, step = near + direction * step, 2.0 * step
    far = near + direction * step
    for _ in range(60):
        middle = 0.5 * (near + far)
        near, far = (middle, far) if slope(middle) * direction > 0.0 else (near, middle)
    return 0.5 * (near + far)


def log_predictive(kind: str, y: float, mean: float, var: float, link: Array, exposure: float = 1.0) -> float:
    """log of the integral of p(y | z) N(z; mean, var) dz.

    The variable is t = z - mean, because z itself is too coarse when the mean is large and the variance tiny. The
    integrand is log-concave. It is divided by its maximum, cut off where it has fallen by exp(-45) on either side, and
    split where it has fallen by a few fixed amounts (and near the cut-points, where a wide Gaussian meets a step).
    """

    def log_integrand(t: float) -> float:
        gaussian = -0.5 * t**2 / var - 0.5 * math.log(2.0 * math.pi * var)
        return log_density(kind, y, mean + t, link, exposure) + gaussian

    mode = _latent_mode(kind, y, mean, var, link, exposure)
    top = log_integrand(mode)
    width = 1.0 / math.sqrt(1.0 / var + curvature(kind, y, mean + mode, link, exposure))

    def where_fallen_by(drop: float, direction: float) -> float:
        def above(distance: float) -> bool:
            return log_integrand(mode + direction * distance) > top - drop

        inside, outside = 0.0, width
        while above(outside):
            inside, outside = outside, 2.0 * outside
        for _ in range(10):  # where exactly to split does not matter
            middle = 0.5 * (inside + outside)
            inside, outside = (middle, outside) if above(middle) else (inside, middle)
        return mode + direction * outside

    low, high = where_fallen_by(45.0, -1.0), where_fallen_by(45.0, 1.0)
    points = [mode] + [where_fallen_by(drop, side) for drop in (0.5, 3.0, 12.0, 25.0) for side in (-1.0, 1.0)]
    if kind in CLASS_KINDS:
        cuts = -link if kind.startswith("bernoulli") else link
        points += [float(cut) - mean + offset for cut in cuts for offset in (-8.0, -1.0, 1.0, 8.0)]
    points = sorted({point for point in points if low < point < high})
    # The logarithm of the integrand is known to a few units in its last place: no point in asking for more.
    z = mean + mode
    size = abs(top) + 0.5 * mode**2 / var + abs(z) * abs(gradient(kind, y, z, link, exposure))
    if kind == "poisson":
        size += float(special.gammaln(y + 1.0))
    tolerance = max(1e-12, 20.0 * np.finfo(float).eps * size)
    area, _ = integrate.quad(
        lambda t: math.exp(log_integrand(t) - top), low, high, points=points, epsabs=0.0, epsrel=tolerance, limit=1000
    )
    return top + math.log(area)


def predictive(kind: str, y: float, mean: float, var: float, link: Array, exposure: float = 1.0) -> float:
    """The integral of p(y | z) N(z; mean, var) dz; tiny ones are better left as `log_predictive`."""
    return math.exp(log_predictive(kind, y, mean, var, link, exposure))


# --- predictive probabilities, categorical --------------------------------------------------------------------------


def softmax_tensor(mean: Array, var: Array, link: Array, n_nodes: int = 60) -> Array:
    """E softmax(z + link), z_k ~ N(mean_k, var_k) independent, all (K,): Gauss-Hermite on a grid of n_nodes^K points.

    Good for small variances (the standard deviation times the spacing of the nodes must stay well below pi).
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    weights = weights / math.sqrt(2.0 * math.pi)
    K = len(mean)
    grid = np.meshgrid(*[mean[k] + link[k] + math.sqrt(var[k]) * nodes for k in range(K)], indexing="ij")
    weight = np.ones(())
    for _ in range(K):
        weight = np.multiply.outer(weight, weights)
    probabilities = special.softmax(np.stack(grid), axis=0)
    return np.array([float(np.sum(weight * probabilities[k])) for k in range(K)])


def _panels(edges: Array, n_nodes: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights between consecutive sorted `edges` (..., E): two arrays (..., (E-1) n_nodes)."""
    x, w = np.polynomial.legendre.leggauss(n_nodes)
    centre, half = 0.5 * (edges[..., 1:] + edges[..., :-1]), 0.5 * (edges[..., 1:] - edges[..., :-1])
    nodes = centre[..., None] + half[..., None] * x
    weights = half[..., None] * w
    return nodes.reshape(*edges.shape[:-1], -1), weights.reshape(*edges.shape[:-1], -1)


GAUSS_EDGES = np.arange(-20.0, 20.5, 1.0)  # in standard deviations
GUMBEL_EDGES = np.concatenate([np.arange(-4.5, 6.0, 0.5), np.arange(6.0, 46.0, 2.0)])


def softmax_gumbel(mean: Array, var: Array, link: Array, n_nodes: int = 10) -> Array:
    """E softmax(z + link), z_k ~ N(mean_k, var_k) independent, all (K,), for any K and any variances.

    softmax_k is the probability that z_k + link_k + (a standard Gumbel variable) is the largest of its kind. These
    sums are independent, so p_k = int f_k(a) prod_{j != k} F_j(a) da, with f_j and F_j the density and the
    distribution function of the sum. All integrals are Gauss-Legendre over panels no longer than the scale of what
    varies there (a standard deviation of a Gaussian, half a unit for a Gumbel). Good while log p_k > -150 or so.
    """
    K = len(mean)
    centre = [float(mean[k] + link[k]) for k in range(K)]
    sd = [math.sqrt(var[k]) for k in range(K)]
    edges = [centre[k] + sd[k] * GAUSS_EDGES for k in range(K)] + [centre[k] + GUMBEL_EDGES for k in range(K)]
    a, a_weights = _panels(np.sort(np.concatenate(edges)), n_nodes)
    density, cdf = np.empty((K, len(a))), np.empty((K, len(a)))
    for k in range(K):
        gauss_edges = np.broadcast_to(centre[k] + sd[k] * GAUSS_EDGES, (len(a), len(GAUSS_EDGES)))
        gumbel_edges = np.clip(a[:, None] - GUMBEL_EDGES, gauss_edges[:, :1], gauss_edges[:, -1:])
        z, z_weights = _panels(np.sort(np.concatenate([gauss_edges, gumbel_edges], axis=1), axis=1), n_nodes)
        gauss = np.exp(-0.5 * ((z - centre[k]) / sd[k]) ** 2) / (sd[k] * math.sqrt(2.0 * math.pi))
        x = a[:, None] - z
        tail = np.exp(np.minimum(-x, 50.0))  # exp(-exp(50)) is zero already
        cdf[k] = np.sum(z_weights * gauss * np.exp(-tail), axis=1)
        density[k] = np.sum(z_weights * gauss * np.exp(-x - tail), axis=1)
    probabilities = np.empty(K)
    for k in range(K):
        others = np.prod([cdf[j] for j in range(K) if j != k], axis=0)
        probabilities[k] = np.sum(a_weights * density[k] * others)
    return probabilities


# --- Newton ---------------------------------------------------------------------------------------------------------


def _maximise(start: Array, slope: Callable[[Array], Array], precision: Callable[[Array], Array]) -> Array:
    """Newton's iteration for a strictly concave function, given its gradient and minus its Hessian.

    Along every Newton step the derivative falls. If the whole step would leave more than a tenth of it (with either
    sign), bisect for a point on the step that does not.
    """
    theta = start
    for _ in range(500):
        g = slope(theta)
        step = _newton_step(precision(theta), g)
        decrement = float(g @ step)  # twice the gain that the quadratic model promises
        if decrement < 1e-14:
            return theta + step  # convergence is quadratic: what is left is of order 1e-14
        low, high, t = 0.0, 1.0, 1.0
        for _ in range(100):
            remaining = float(slope(theta + t * step) @ step)
            if abs(remaining) <= 0.1 * decrement or (t == 1.0 and remaining > 0.0):
                break
            low, high = (t, high) if remaining > 0.0 else (low, t)
            t = 0.5 * (low + high)
        theta = theta + t * step
    raise ArithmeticError("Newton's iteration did not converge")


def _newton_step(precision: Array, gradient: Array) -> Array:
    """Solve for the step. Far from the mode the curvature along one direction can leave nothing of the rest but
    rounding; the least-squares step then goes along that direction, and the steps after it are regular again."""
    try:
        return np.linalg.solve(precision, gradient)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(precision, gradient, rcond=None)[0]


# --- one expert, one latent value -----------------------------------------------------------------------------------


def update(
    kind: str, phi: Array, y: float, mean: Array, covariance: Array, link: Array, exposure: float = 1.0
) -> tuple[Array, Array]:
    """The paper's correction: mode of the log posterior over all F parameters, and the inverse information there."""
    prior_precision = np.linalg.inv(covariance)

    def slope(theta: Array) -> Array:
        return -prior_precision @ (theta - mean) + gradient(kind, y, float(phi @ theta), link, exposure) * phi

    def precision(theta: Array) -> Array:
        return prior_precision + curvature(kind, y, float(phi @ theta), link, exposure) * np.outer(phi, phi)

    mode = _maximise(mean, slope, precision)
    posterior = np.linalg.inv(precision(mode))
    return mode, 0.5 * (posterior + posterior.T)


@dataclass(frozen=True)
class Run:
    latent_mean: Array  # (n,)   phi' m before the row's label is seen
    latent_var: Array  # (n,)   phi' S phi, the step of the random walk included
    log_scores: Array  # (n,)   log predictive probability of the label that came
    mean: Array  # (F,)   after the last row
    covariance: Array  # (F, F) after the last row


def replay(
    kind: str,
    Phi: Array,
    labels: Array,
    link: Array,
    prior_var: float,
    drift_var: float = 0.0,
    exposure: Array | None = None,
) -> Run:
    """Walk, predict, correct, row by row. `Phi` is (n, F), `labels` (n,), `exposure` (n,) or all ones."""
    n, F = Phi.shape
    exposure = np.ones(n) if exposure is None else exposure
    m, S = np.zeros(F), prior_var * np.eye(F)
    means, variances, scores = np.empty(n), np.empty(n), np.empty(n)
    for t in range(n):
        phi, y, E = Phi[t], float(labels[t]), float(exposure[t])
        S = S + drift_var * np.eye(F)
        means[t], variances[t] = float(phi @ m), float(phi @ S @ phi)
        scores[t] = log_predictive(kind, y, float(means[t]), float(variances[t]), link, E)
        m, S = update(kind, phi, y, m, S, link, E)
    return Run(means, variances, scores, m, S)


# --- one expert, categorical ----------------------------------------------------------------------------------------


def categorical_update(phi: Array, y: int, means: Array, covariance: Array, link: Array) -> tuple[Array, Array]:
    """Correction of K beliefs `means` (K, F) that share one `covariance` (F, F).

    The new means are the joint mode over all K F parameters. The label correlates the classes; that correlation is
    dropped, and the shared information grows by h phi phi' with h = (1 - sum_k p_k^2) / (K - 1), p the softmax at the
    mode: the trace of diag(p) - p p', spread over the K - 1 contrasts between classes.
    """
    K, F = means.shape
    one_class = np.linalg.inv(covariance)
    prior_precision = np.kron(np.eye(K), one_class)
    seen = np.eye(K)[int(y)]

    def probabilities(theta: Array) -> Array:
        return special.softmax(theta.reshape(K, F) @ phi + link)

    def slope(theta: Array) -> Array:
        return -prior_precision @ (theta - means.ravel()) + np.kron(seen - probabilities(theta), phi)

    def precision(theta: Array) -> Array:
        p = probabilities(theta)
        return prior_precision + np.kron(np.diag(p) - np.outer(p, p), np.outer(phi, phi))

    mode = _maximise(means.ravel(), slope, precision)
    p = probabilities(mode)
    h = float(p @ (1.0 - p)) / (K - 1)  # 1 - sum p^2, without its cancellation
    posterior = np.linalg.inv(one_class + h * np.outer(phi, phi))
    return mode.reshape(K, F), 0.5 * (posterior + posterior.T)


@dataclass(frozen=True)
class CategoricalRun:
    latent_mean: Array  # (n, K) phi' m_k before the row's label is seen
    latent_var: Array  # (n,)   phi' S phi, the step of the random walk included
    mean: Array  # (K, F) after the last row
    covariance: Array  # (F, F) after the last row
    probabilities: Array | None = None  # (n, K) predictive probabilities of the classes
    log_scores: Array | None = None  # (n,)   log predictive probability of the label that came


def replay_categorical(
    Phi: Array, labels: Array, link: Array, prior_var: float, drift_var: float = 0.0, *, scored: bool = True
) -> CategoricalRun:
    """Walk, predict, correct, row by row. `Phi` is (n, F), `labels` (n,) in 0..K-1, `link` (K,).

    Without `scored` the slow part, predictive probabilities, is left out.
    """
    n, F = Phi.shape
    K = len(link)
    m, S = np.zeros((K, F)), prior_var * np.eye(F)
    means, variances, probabilities = np.empty((n, K)), np.empty(n), np.empty((n, K))
    for t in range(n):
        phi = Phi[t]
        S = S + drift_var * np.eye(F)
        means[t], variances[t] = m @ phi, float(phi @ S @ phi)
        if scored:
            probabilities[t] = softmax_gumbel(means[t], np.full(K, variances[t]), link)
        m, S = categorical_update(phi, int(labels[t]), m, S, link)
    if not scored:
        return CategoricalRun(means, variances, m, S)
    scores = np.log(probabilities[np.arange(n), labels.astype(int)])
    return CategoricalRun(means, variances, m, S, probabilities, scores)


# --- all rows at once -----------------------------------------------------------------------------------------------


def batch_mode(
    kind: str, y: Array, Phi: Array, prior_var: float, link: Array, exposure: Array | None = None
) -> tuple[Array, Array]:
    """Mode (F,) of log N(theta; 0, prior_var I) + sum_t log p(y_t | phi_t' theta), and the curvatures (n,) there."""
    n, F = Phi.shape
    exposure = np.ones(n) if exposure is None else exposure

    def at_rows(function: Callable[..., float], theta: Array) -> Array:
        return np.array(
            [function(kind, float(y[t]), float(Phi[t] @ theta), link, float(exposure[t])) for t in range(n)]
        )

    def slope(theta: Array) -> Array:
        return -theta / prior_var + Phi.T @ at_rows(gradient, theta)

    def precision(theta: Array) -> Array:
        return np.eye(F) / prior_var + Phi.T @ np.diag(at_rows(curvature, theta)) @ Phi

    mode = _maximise(np.zeros(F), slope, precision)
    return mode, at_rows(curvature, mode)


def laplace_log_evidence(
    kind: str, y: Array, Phi: Array, prior_var: float, link: Array, exposure: Array | None = None
) -> float:
    """log p(y | mode) - |mode|^2 / (2 prior_var) - log det(I + prior_var Phi' H Phi) / 2, H = diag of the curvatures.

    `y` is (n,), `Phi` (n, F), `exposure` (n,) or all ones; theta does not drift.
    """
    n, F = Phi.shape
    exposure = np.ones(n) if exposure is None else exposure
    mode, h = batch_mode(kind, y, Phi, prior_var, link, exposure)
    fit = sum(log_density(kind, float(y[t]), float(Phi[t] @ mode), link, float(exposure[t])) for t in range(n))
    _, log_det = np.linalg.slogdet(np.eye(F) + prior_var * Phi.T @ np.diag(h) @ Phi)
    return fit - float(mode @ mode) / (2.0 * prior_var) - 0.5 * float(log_det)
