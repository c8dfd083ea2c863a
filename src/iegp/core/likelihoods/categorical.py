"""K classes: one latent function each, the label has probability ``softmax(z + link)``.

The exact Laplace posterior couples all classes in a (KF x KF) matrix. The approximation used here keeps one (F x F)
covariance that all classes of an expert share. A row moves the K means to their exact joint mode and sharpens the
shared covariance by the average curvature of the likelihood over the K - 1 contrasts between classes,
``(1 - sum p²) / (K - 1)``; the common level of the latent values, which softmax ignores, is left out. For two classes
that is the exact Laplace step of the binary model. docs/design.md has the comparison that led here.

Predictive probabilities: with independent Gumbel noise G_k, class k has the largest ``z_k + G_k`` with its softmax
probability, so

    E[softmax(z)_k] = ∫ f(a - m_k) prod_{j != k} F(a - m_j) da,

where F and f are distribution function and density of N(0, var) + Gumbel. An integral over K dimensions becomes one
over a line, exactly; dividing by the sum over k removes most of the error of the quadrature.
"""

from __future__ import annotations

import math

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.exponential import exp_negative
from iegp.core.compute.logistic import hermite, probit_shrinkage
from iegp.core.compute.normal import normal_cdf
from iegp.core.compute.tolerances import CLASS_MODE_CONVERGED, MODE_MAX_STEPS
from iegp.core.likelihoods.protocol import Likelihood
from iegp.typing import Float, Int


def _laguerre(n: int) -> Float:
    """Nodes and weights (2, n) for ``∫_0^∞ f(v) dv``."""
    nodes, weights = np.polynomial.laguerre.laggauss(n)
    return np.array([nodes, weights * np.exp(nodes)])


def _gumbel(n: int) -> Float:
    """Gauss rule (2, n) for expectations under the Gumbel distribution, by Lanczos on a fine grid."""
    grid = np.arange(-6.0, 45.0, 0.01)
    mass = np.exp(-grid - np.exp(-grid))
    vectors = [np.sqrt(mass / mass.sum())]
    diagonal, beside = np.empty(n), np.empty(n)
    for k in range(n):
        rest = grid * vectors[k]
        diagonal[k] = vectors[k] @ rest
        for vector in vectors:
            rest = rest - vector * (vector @ rest)
        beside[k] = np.sqrt(rest @ rest)
        vectors.append(rest / beside[k])
    nodes, rotations = np.linalg.eigh(np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1))
    return np.array([nodes, rotations[0] ** 2])


# Rules by variance, each good to about 1e-5 of every probability above 1e-9: narrow Gaussians leave F close to that of
# the Gumbel, where Laguerre nodes are exact; then trapezoidal steps; wide ones make F smooth on their own scale.
_NARROW = (_laguerre(6), hermite(6)), (_laguerre(12), hermite(8)), (_laguerre(24), hermite(16))
_NARROW_UP_TO = (0.02, 0.1, 0.35)
_MIDDLE, _MIDDLE_LARGE = hermite(16), hermite(32)
_MIDDLE_UP_TO = 1.0
_MIDDLE_STEP = 0.6
_WIDE = 6.0
_WIDE_STEP = 0.45
_GUMBEL, _GUMBEL_SMALL = _gumbel(16), _gumbel(8)
_WIDER = 25.0
_MOST_STEPS = 1000
_NEGLIGIBLE = 1.0e-9
_TINY = 1.0e-9
_LAGUERRE_S, _LAGUERRE_M, _LAGUERRE_L = (rule[0] for rule in _NARROW)
_HERMITE_S, _HERMITE_M, _HERMITE_L = (rule[1] for rule in _NARROW)


@compiled
def softmax(values: Float, link: Float, probabilities: Float) -> float:
    """Probabilities of the classes; returns the log of their normaliser."""
    top = -math.inf
    for k in range(values.size):
        top = max(top, values[k] + link[k])
    total = 0.0
    for k in range(values.size):
        probabilities[k] = math.exp(values[k] + link[k] - top)
        total += probabilities[k]
    for k in range(values.size):
        probabilities[k] /= total
    return top + math.log(total)


@compiled
def joint_site(label: int, mean: Float, var: float, link: Float, slope: Float) -> float:
    """Joint mode of K independent Gaussians N(mean_k, var) times the likelihood.

    Writes the slope of the log likelihood there (the mean moves by ``var * slope``) and returns the shared curvature.
    """
    n = mean.size
    z, trial, step = mean.copy(), np.empty(n), np.empty(n)
    p, p_trial = np.empty(n), np.empty(n)
    height = _height(label, z, mean, var, link, p)
    for _ in range(MODE_MAX_STEPS):
        largest = _newton_step(label, z, mean, var, p, step)
        fraction = 1.0
        while True:
            for k in range(n):
                trial[k] = z[k] + fraction * step[k]
            reached = _height(label, trial, mean, var, link, p_trial)
            # Concave, so that a short enough step always climbs; the slack is rounding.
            if reached >= height - 1.0e-12 * (1.0 + abs(height) + var) or fraction < 1.0e-6:
                break
            fraction *= 0.5
        height = reached
        z[:], p[:] = trial, p_trial
        if fraction * largest < CLASS_MODE_CONVERGED:
            break
    spread = 0.0
    for k in range(n):
        slope[k] = (1.0 if k == label else 0.0) - p[k]
        spread += p[k] * (1.0 - p[k])
    return spread / (n - 1)


@compiled
def _height(label: int, z: Float, mean: Float, var: float, link: Float, p: Float) -> float:
    """The log posterior times ``var``, so that a vanishing variance does no harm; fills ``p``."""
    log_normaliser = softmax(z, link, p)
    away = 0.0
    for k in range(z.size):
        away += (z[k] - mean[k]) ** 2
    return float(var * (z[label] + link[label] - log_normaliser) - 0.5 * away)


@compiled
def _newton_step(label: int, z: Float, mean: Float, var: float, p: Float, step: Float) -> float:
    """Solve with the Hessian ``1/var + diag(p) - p p'`` (Sherman-Morrison, all sums of positive terms)."""
    n = z.size
    pulled, total = 0.0, 0.0
    for k in range(n):
        remainder = var * ((1.0 if k == label else 0.0) - p[k]) - (z[k] - mean[k])
        step[k] = remainder / (1.0 + var * p[k])
        pulled += p[k] * step[k]
        total += p[k] / (1.0 + var * p[k])
    largest = 0.0
    for k in range(n):
        step[k] += var * p[k] / (1.0 + var * p[k]) * pulled / total
        largest = max(largest, abs(step[k]))
    return largest


@compiled
def site(label: Float, mean: Float, var: float, link: Float, slope: Float) -> float:
    """:func:`joint_site` of a row of y."""
    return joint_site(int(label[0]), mean, var, link, slope)


@compiled
def log_predictive(label: Float, mean: Float, var: float, link: Float, nodes: Float, outcomes: Float) -> float:
    """:func:`log_probabilities` of a row of y."""
    return log_probabilities(int(label[0]), mean, var, link, outcomes)


@compiled
def probit_log_predictive(label: Float, mean: Float, var: float, link: Float, nodes: Float, outcomes: Float) -> float:
    """Log probabilities of all classes by the probit approximation, and that of the label."""
    # What softmax sees are differences of two latent values, whose variances add up.
    shrunk = probit_shrinkage(2.0 * var) * (mean + link)
    log_normaliser = softmax(shrunk, np.zeros(mean.size), outcomes)
    for k in range(mean.size):
        outcomes[k] = shrunk[k] - log_normaliser
    return float(outcomes[int(label[0])])


@compiled
def drawn_log_predictive(label: Float, mean: Float, var: float, link: Float, nodes: Float, outcomes: Float) -> float:
    """Log probabilities of all classes by averaging over draws ``nodes`` (K, n) of the latent values."""
    spread = math.sqrt(var)
    totals, p, z = np.zeros(mean.size), np.empty(mean.size), np.empty(mean.size)
    for i in range(nodes.shape[1]):
        for k in range(mean.size):
            z[k] = mean[k] + spread * nodes[k, i]
        softmax(z, link, p)
        totals += p
    for k in range(mean.size):
        outcomes[k] = math.log(max(totals[k] / nodes.shape[1], 1.0e-300))
    return float(outcomes[int(label[0])])


@compiled
def log_probabilities(label: int, mean: Float, var: float, link: Float, outcomes: Float) -> float:
    """Log probabilities of all classes for z_k ~ N(mean_k, var), and that of the label."""
    n = mean.size
    top = -math.inf
    for k in range(n):
        top = max(top, mean[k] + link[k])
    shares, sums = np.empty(n), np.zeros(n)
    total_share = 0.0
    for k in range(n):
        shares[k] = math.exp(mean[k] + link[k] - top)
        total_share += shares[k]
    if var < _NARROW_UP_TO[0]:
        _narrow(shares, total_share, var, _LAGUERRE_S, _HERMITE_S, sums)
    elif var < _NARROW_UP_TO[1]:
        _narrow(shares, total_share, var, _LAGUERRE_M, _HERMITE_M, sums)
    elif var < _NARROW_UP_TO[2]:
        _narrow(shares, total_share, var, _LAGUERRE_L, _HERMITE_L, sums)
    elif var < _WIDE:
        _trapezoidal(shares, var, _MIDDLE if var < _MIDDLE_UP_TO else _MIDDLE_LARGE, sums)
    else:
        _wide(mean, link, top, var, _GUMBEL if var < _WIDER else _GUMBEL_SMALL, outcomes)
        return float(outcomes[label])
    total = 0.0
    for k in range(n):
        total += shares[k] * sums[k]
    log_total = math.log(total)
    for k in range(n):
        # Logs, not products: the share of a class far behind may have underflowed.
        outcomes[k] = min(0.0, mean[k] + link[k] - top + math.log(max(sums[k], 1.0e-300)) - log_total)
    return float(outcomes[label])


@compiled
def _narrow(shares: Float, total_share: float, var: float, laguerre: Float, rule: Float, sums: Float) -> None:
    """The integral over ``v = exp(-a)``, whose integrand is close to ``exp(-v total_share)``."""
    workspace = _workspace(shares.size, var, rule)
    for i in range(laguerre.shape[1]):
        _add_node((laguerre[0, i] / total_share, laguerre[1, i]), shares, var, rule[1], workspace, sums)


@compiled
def _trapezoidal(shares: Float, var: float, rule: Float, sums: Float) -> None:
    """The integral over ``a`` in equal steps, downwards until no class can still have the largest value."""
    spread = math.sqrt(var)
    workspace = _workspace(shares.size, var, rule)
    a, lowest = 15.0 + 5.5 * spread, -4.0 - 6.0 * spread
    added = 0.0
    while a > lowest:
        v = math.exp(-a)
        last = _add_node((v, v), shares, var, rule[1], workspace, sums)
        added += last
        if a < 0.0 and last < _NEGLIGIBLE * added:
            break
        a -= _MIDDLE_STEP


@compiled
def _workspace(n_classes: int, var: float, rule: Float) -> tuple[Float, Float, Float, Int, Float]:
    """The factors ``exp(sqrt(var) x)`` of a Gauss-Hermite rule, and work arrays for :func:`_add_node`."""
    n = rule.shape[1]
    factors = np.exp(math.sqrt(var) * rule[0])
    return factors, np.empty(n), np.empty(n), np.empty(n, np.int64), np.empty(n_classes)


@compiled
def _add_node(
    node: tuple[float, float],
    shares: Float,
    var: float,
    chances: Float,
    workspace: tuple[Float, Float, Float, Int, Float],
    sums: Float,
) -> float:
    """One value of ``v = exp(-a)`` and its weight: add ``weight * prod F * (f / F)`` of every class, shares left out.

    Returns ``weight * prod F``. A class whose share of ``v`` is tiny needs only the first terms of its series.
    """
    v, weight = node
    factors, exponents, falls, bits, ratios = workspace
    n_nodes = chances.size
    largest, average = factors[n_nodes - 1], math.exp(0.5 * var)
    product = weight
    for k in range(shares.size):
        scaled = v * shares[k]
        if scaled * largest < _TINY:
            ratios[k] = average
            product *= 1.0 - scaled * average
            continue
        for i in range(n_nodes):
            exponents[i] = scaled * factors[i]
        exp_negative(exponents, bits, falls)
        below, density = 0.0, 0.0
        for i in range(n_nodes):
            part = chances[i] * falls[i]
            below += part
            density += part * factors[i]
        product *= below
        ratios[k] = density / below
    for k in range(shares.size):
        sums[k] += product * ratios[k]
    return product


@compiled
def _wide(mean: Float, link: Float, top: float, var: float, rule: Float, outcomes: Float) -> None:
    """Steps in proportion to the Gaussian's width; F as an expectation of the normal distribution function."""
    n = mean.size
    spread = math.sqrt(var)
    below, density = np.empty(n), np.empty(n)
    outcomes[:] = 0.0
    total = 0.0
    a = 18.0 + 6.5 * spread
    for _ in range(_MOST_STEPS):
        product = 1.0
        for k in range(n):
            gap = top - mean[k] - link[k]
            below[k], density[k] = 0.0, 0.0
            for i in range(rule.shape[1]):
                u = (a + gap - rule[0, i]) / spread
                below[k] += rule[1, i] * normal_cdf(u)
                density[k] += rule[1, i] * math.exp(-0.5 * u * u)
            product *= below[k]
        if product == 0.0:
            break
        largest = 0.0
        for k in range(n):
            part = product * density[k] / below[k]
            outcomes[k] += part
            total += part
            if part > 0.0:
                largest = max(largest, part / outcomes[k])
        # Downwards, until no class gains anything any more.
        if a < 0.0 and largest < _NEGLIGIBLE:
            break
        a -= _WIDE_STEP * spread
    for k in range(n):
        outcomes[k] = min(0.0, math.log(max(outcomes[k], 1.0e-300) / max(total, 1.0e-300)))


class Categorical(Likelihood):
    """K classes with a latent function each."""

    name = "categorical"
    never_fails = True
    has_classes = True
    max_curvature = 1.0
    link_low = link_high = 0.0
    site = staticmethod(site)
    log_predictive = staticmethod(log_predictive)
    probit_log_predictive = staticmethod(probit_log_predictive)
    drawn_log_predictive = staticmethod(drawn_log_predictive)

    def n_latents(self, n_outcomes: int) -> int:
        """One for each class."""
        return n_outcomes

    def n_classes(self, n_link: int) -> int:
        """One for each parameter."""
        return n_link

    def start_link(self, y: Float, n_outcomes: int) -> Float:
        """Zeros: nothing to find."""
        del y
        return np.zeros(n_outcomes)

    def targets(self, y: Float, n_outcomes: int) -> Float:
        """Indicators of the classes."""
        return np.asarray(y[:, :1] == np.arange(n_outcomes), dtype=np.float64)
