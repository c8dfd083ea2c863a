"""The distribution function of one row of counts: a mixture over experts of Poisson-log-normal components.

One component is ``y ~ Poisson(exp(z))``, ``z ~ N(mu, v)``. With G a Gamma variable of shape ``k + 1``,

    P(y <= k) = E_z[Q(k + 1, exp(z))] = P(z < log G) = E_G[Phi((log G - mu) / sqrt(v))],

Q the regularised upper incomplete gamma function. The log of G is about ``1 / sqrt(k + 1)`` wide. Whichever of z and
log G is narrower is integrated over, because the other one makes a smooth integrand: z by Gauss-Hermite nodes
(:func:`_narrow`), log G by the trapezoidal rule (:func:`_wide`). All terms are positive; absolute error below 1e-9. The
trapezoidal rule over ``scipy.special.pdtr`` takes 12 times as long to be as exact
(``python benchmarks/own_code.py count_cdf``).
"""

from __future__ import annotations

import math

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.logistic import hermite
from iegp.core.compute.normal import normal_cdf
from iegp.core.compute.tolerances import HUGE_COUNT, MAX_LOG_RATE, NEGLIGIBLE_COUNT_WEIGHT
from iegp.core.predictive.components import heavier_than
from iegp.typing import Float

# Columns of the table of non-negligible components of one row.
WEIGHT, LOG_MEAN, LOG_VAR = 0, 1, 2
# Rows of the grid over log G: nodes, weights that sum to one, and weights of P(y = k); and the largest number of nodes.
NODE, MASS, STEP_MASS = 0, 1, 2
MAX_NODES = 128

# Ratios of the widths of z and log G, and the rules over z that keep the error below 1e-10 up to them.
_TINY, _SMALL, _NARROW = 0.1, 0.3, 0.6
_TINY_RULE, _SMALL_RULE, _RULE = hermite(5), hermite(10), hermite(24)
# Step of the trapezoidal rule in units of 1 / sqrt(k + 1), shorter for small k; what is negligible.
_STEP, _STEP_SHIFT = 0.24, 4.3
_NEGLIGIBLE_TERM = 1e-12
# A normal value this many standard deviations out has probability 4e-11.
_FAR = 6.5
# Up to here Poisson probabilities are summed; beyond, Temme's expansion is as accurate.
_SUMMED_COUNTS = 40.0
_TEMME = np.array(
    [  # d_ki of DLMF 8.12: c_k(eta) = sum_i d_ki eta^i
        [-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515],
        [-1 / 540, -1 / 288, 1 / 378, -77 / 77760, 1 / 4860, 0.0, 0.0],
        [25 / 6048, -139 / 51840, 1 / 1296, 0.0, 0.0, 0.0, 0.0],
        [101 / 155520, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    ]
)
_ROOT_HALF, _ROOT_TWO_PI = math.sqrt(0.5), math.sqrt(2.0 * math.pi)


@compiled
def cdf(weights: Float, log_mean: Float, log_var: Float, k: Float, left_out: float) -> Float:
    """``P(y <= k)`` of every row, less a share ``left_out`` of ``P(y = k)``, shape (n,).

    ``weights``, ``log_mean`` and ``log_var`` are (n, M), ``k`` is (n,). With one half of it left out, the result is
    uniform on average where the mixture is right.
    """
    n, n_experts = weights.shape
    out = np.empty(n)
    table, grid = np.empty((n_experts, 3)), np.empty((3, MAX_NODES))
    for i in range(n):
        if 0.0 <= k[i] < math.inf:
            below, here = cdf_pmf(np.floor(k[i]), gather(weights[i], log_mean[i], log_var[i], table), grid)
            # Between the whole numbers there is no probability.
            out[i] = below - left_out * here if k[i] == np.floor(k[i]) else below
        else:
            out[i] = math.nan if k[i] != k[i] else 0.0 if k[i] < 0.0 else 1.0
    return out


@compiled
def gather(weights: Float, log_mean: Float, log_var: Float, table: Float) -> Float:
    """The non-negligible components of one row as rows of ``table`` (M, 3); see :func:`.components.heavier_than`."""
    return heavier_than(NEGLIGIBLE_COUNT_WEIGHT / weights.size, weights, (log_mean, log_var), table)


@compiled
def cdf_pmf(k: float, parts: Float, grid: Float) -> tuple[float, float]:
    """Compute ``P(y <= k)`` and ``P(y = k)`` of one row for a whole k; ``grid`` (3, MAX_NODES) is a work array."""
    if k > HUGE_COUNT:
        cdf, slope = smooth_tail(math.log(k), parts, 1.0)
        return cdf, slope / k
    width = 1.0 / math.sqrt(k + 1.0)
    nodes = grid[:, :0]
    cdf, pmf = 0.0, 0.0
    for j in range(parts.shape[0]):
        spread = math.sqrt(parts[j, LOG_VAR])
        if spread < _NARROW * width:
            below, here = _narrow(k, parts[j, LOG_MEAN], spread, spread / width)
        else:
            if nodes.shape[1] == 0:  # all experts share them
                nodes = _log_gamma_nodes(k, grid)
            below, here = _wide(parts[j, LOG_MEAN], spread, nodes)
        cdf += parts[j, WEIGHT] * below
        pmf += parts[j, WEIGHT] * here
    # Written so that a NaN stays one.
    return (1.0 if cdf > 1.0 else cdf), (0.0 if pmf < 0.0 else pmf)


@compiled
def _narrow(k: float, mean: float, spread: float, ratio: float) -> tuple[float, float]:
    """Compute ``E_z[P(Poisson(exp(z)) <= k)]`` and the same for ``= k``, where z is narrower than log G."""
    rule = _RULE
    if ratio < _TINY:
        rule = _TINY_RULE
    elif ratio < _SMALL:
        rule = _SMALL_RULE
    cdf, pmf = 0.0, 0.0
    for i in range(rule.shape[1]):
        below, here = poisson_cdf_pmf(k, mean + spread * rule[0, i])
        cdf += rule[1, i] * below
        pmf += rule[1, i] * here
    return cdf, pmf


@compiled
def poisson_cdf_pmf(k: float, log_rate: float) -> tuple[float, float]:
    """Compute ``P(y <= k)`` and ``P(y = k)`` for y ~ Poisson(exp(log_rate)), k a whole number; error below 1e-10.

    >>> print("%.4f %.4f" % poisson_cdf_pmf(1.0, 0.0))  # 2/e and 1/e
    0.7358 0.3679
    """
    if k < _SUMMED_COUNTS:
        rate = math.exp(min(log_rate, MAX_LOG_RATE))
        term = math.exp(-rate)
        total = term
        for j in range(1, int(k) + 1):
            term *= rate / j
            total += term
        return min(total, 1.0), term
    return _temme(k + 1.0, log_rate - math.log(k + 1.0))


@compiled
def _temme(a: float, d: float) -> tuple[float, float]:
    """Compute ``Q(a, a exp(d))`` and its rise from ``a - 1`` to ``a``, for large a (Temme's expansion, DLMF 8.12).

    SciPy's ``gammaincc`` is not accurate enough here: for a beyond 1e6 it is off by up to 1e-6, five standard
    deviations out.
    """
    if abs(d) > 4.0:  # exp(-100) from either end
        return (0.0, 0.0) if d > 0.0 else (1.0, 0.0)
    curve = _curve(d)
    eta = d * math.sqrt(2.0 * curve)
    bell = math.exp(-a * d * d * curve) / (_ROOT_TWO_PI * math.sqrt(a))
    series, power = 0.0, 1.0
    for i in range(_TEMME.shape[1]):
        series += power * (_TEMME[0, i] + (_TEMME[1, i] + (_TEMME[2, i] + _TEMME[3, i] / a) / a) / a)
        power *= eta
    stirling = 1.0 + (1.0 + (1.0 - 139.0 / (180.0 * a)) / (24.0 * a)) / (12.0 * a)
    rise = bell * math.exp(-d) / stirling
    return 0.5 * math.erfc(eta * math.sqrt(a) * _ROOT_HALF) + bell * series, rise


@compiled
def _curve(d: float) -> float:
    """Compute ``(exp(d) - 1 - d) / d²``, accurate however small ``d`` is."""
    if abs(d) > 0.1:
        return (math.expm1(d) - d) / (d * d)
    tail = 1.0 / 120.0 + d * (1.0 / 720.0 + d * (1.0 / 5040.0 + d * (1.0 / 40320.0)))
    return 0.5 + d * (1.0 / 6.0 + d * (1.0 / 24.0 + d * tail))


@compiled
def _log_gamma_nodes(k: float, grid: Float) -> Float:
    """Fill ``grid`` with a trapezoidal rule for expectations over log G; return (3, nodes): NODE, MASS, STEP_MASS.

    ``log G = log(a) + u`` has density ``~ exp(-a (exp(u) - 1 - u))``, a = k + 1, with a long tail to the left where a
    is small. In the variable t with ``u = t + 1 - exp(-t)`` both tails are short. Nodes go outwards from the peak until
    terms are negligible. ``k E[f(log G) / G] = E[f]`` for shape k, so the same nodes give the contribution of the last
    step.
    """
    a = k + 1.0
    step, log_a = _STEP / math.sqrt(a + _STEP_SHIFT), math.log(a)
    count, total = 0, 0.0
    for side in (0, -1, 1):
        t = step * side
        while count < MAX_NODES:
            u = t - math.expm1(-t)
            mass = math.exp(-a * u * u * _curve(u)) * (1.0 + math.exp(-t))
            inverse = math.exp(-u)
            grid[NODE, count] = log_a + u
            grid[MASS, count] = mass
            grid[STEP_MASS, count] = mass * (inverse / a - math.expm1(-u))  # 1 - k / G
            count += 1
            total += mass
            if side == 0 or mass * max(1.0, k * inverse) < _NEGLIGIBLE_TERM * total:
                break
            t += step * side
    nodes = grid[:, :count]
    nodes[MASS] /= total
    nodes[STEP_MASS] /= total
    return nodes


@compiled
def _wide(mean: float, spread: float, nodes: Float) -> tuple[float, float]:
    """Compute ``E[Phi((log G - mu) / s)]`` over the nodes, and the contribution of the last step to it."""
    cdf, pmf = 0.0, 0.0
    for i in range(nodes.shape[1]):
        distance = (nodes[NODE, i] - mean) / spread
        below = 1.0
        if distance < _FAR:
            if distance < -_FAR:
                continue
            below = normal_cdf(distance)
        cdf += nodes[MASS, i] * below
        pmf += nodes[STEP_MASS, i] * below
    return cdf, pmf


@compiled
def smooth_tail(x: float, parts: Float, side: float) -> tuple[float, float]:
    """Compute P(y <= k) (side 1) or P(y > k) (side -1) and its absolute slope in ``x = log(k + 1/2)``, approximately.

    ``log G`` is taken as a Gaussian of mean x and variance ``1 / k``, ``1 / sqrt(k exp(mu))`` below the mean: accurate
    for large counts, and close enough to start a search for small ones.
    """
    tail, slope = 0.0, 0.0
    for j in range(parts.shape[0]):
        offset = x - parts[j, LOG_MEAN]
        noise = math.exp(-0.5 * (x + max(x, parts[j, LOG_MEAN])))
        var = parts[j, LOG_VAR] + noise + 1e-300
        spread = math.sqrt(var)
        distance = offset / spread
        tail += parts[j, WEIGHT] * normal_cdf(side * distance)
        if abs(distance) < 30.0:
            stretch = 1.0 + (0.5 if offset > 0.0 else 0.25) * offset * noise / var
            bell = math.exp(-0.5 * distance * distance) / (_ROOT_TWO_PI * spread)
            slope += parts[j, WEIGHT] * bell * max(stretch, 0.1)
    return tail, slope
