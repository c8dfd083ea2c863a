"""The predictive distribution of counts: for every row a mixture over experts of Poisson-log-normal components.

:class:`CountMixture` is what people hold; :func:`count_quantiles` is the compiled loop that a runner calls on raw
arrays. All have shape (n, M), C-contiguous float64; rows are independent of each other, so any chunking gives the same
bits. A component of weight zero is never looked at: its fields may hold anything.

One component is ``y ~ Poisson(exp(z))``, ``z ~ N(mu, v)``. With G a Gamma variable of shape ``k + 1``,

    P(y <= k) = E_z[Q(k + 1, exp(z))] = P(z < log G) = E_G[Phi((log G - mu) / sqrt(v))],

Q the regularised upper incomplete gamma function. The log of G is about ``1 / sqrt(k + 1)`` wide. Whichever of z and
log G is narrower is integrated over, because the other one makes a smooth integrand: z by Gauss-Hermite nodes
(:func:`_narrow`), log G by the trapezoidal rule (:func:`_wide`). All terms are positive; absolute error below 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from iegp._compile import compiled
from iegp.core.likelihoods import POISSON, poisson
from iegp.core.likelihoods.logistic import hermite
from iegp.core.likelihoods.normal import normal_cdf
from iegp.core.mixture import _pick_experts
from iegp.core.sites import mode
from iegp.errors import InputError
from iegp.typing import Float

# exp() of more than this overflows; half of it is the largest log of a mean whose square is still a float.
MAX_LOG = 700.0
# Components that together weigh less than the error of the cdf are not looked at.
NEGLIGIBLE_WEIGHT = 1e-9
# Above these, noise of the Poisson draw is next to nothing and the count counts as log-normal: error of the cdf below
# 2e-7 (where v is as small as 1/k, else far less), relative error of a probability below 1e-5.
HUGE_COUNT, HUGE_LABEL = 1e12, 1e10
# Log probabilities are integrals over z that cannot tell variances and means beyond these from these.
_LEAST_VAR, _LARGEST_VAR, _FARTHEST_MEAN = 1e-14, 1e8, 1e5
# Where the log of the integrand's peak is this low, its rounding is more than the integral would add.
_HOPELESS = -1e12

# Columns of the small table of the components that matter in one row.
WEIGHT, LOG_MEAN, LOG_VAR = 0, 1, 2
# Rows of the grid over log G: nodes, weights that sum to one, and weights of P(y = k).
NODE, MASS, STEP_MASS = 0, 1, 2

# Ratios of the widths of z and log G, and the rules over z that keep the error below 1e-10 up to them.
_TINY, _SMALL, _NARROW = 0.1, 0.3, 0.6
_TINY_RULE, _SMALL_RULE, _RULE = hermite(5), hermite(10), hermite(24)
# Step of the trapezoidal rule in units of 1 / sqrt(k + 1), shorter for small k; what is negligible; room for the nodes.
_STEP, _STEP_SHIFT = 0.24, 4.3
_NEGLIGIBLE_TERM = 1e-12
_MAX_NODES = 128
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
# log(k + 1/2) of the smallest count, and how often the two searches may look before they give up.
_LOWEST, _LOG_HUGE = math.log(0.5), math.log(HUGE_COUNT)
_MAX_SMOOTH_STEPS, _MAX_EVALUATIONS = 200, 300


@dataclass(frozen=True, repr=False, eq=False)
class CountMixture:
    """Predictive distribution of n counts: M experts, each ``Poisson(exp(z))`` with ``z ~ N(log_mean, log_var)``.

    ``weights`` has shape (n, M) and rows that sum to one; ``log_mean`` and ``log_var`` have shape (n, M), exposures and
    offsets included. Components of weight zero are ignored, whatever their fields hold. Results have shape (n,).

    >>> import numpy as np
    >>> dist = CountMixture(
    ...     weights=np.array([[0.5, 0.5]]), log_mean=np.log([[2.0, 8.0]]), log_var=np.array([[0.0, 0.1]])
    ... )
    >>> dist
    CountMixture(1 row, 2 experts)
    >>> print(f"{dist.mean[0]:.4f} {dist.std[0]:.4f}")
    5.2051 4.3814
    >>> lower, upper = dist.interval(0.95)
    >>> float(lower[0]), float(upper[0])
    (0.0, 16.0)
    >>> print(f"{dist.pmf(3)[0]:.4f} {dist.cdf(3)[0]:.4f}")
    0.1136 0.4697
    """

    weights: Float
    log_mean: Float
    log_var: Float

    def __post_init__(self) -> None:
        for name in _FIELDS:
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        _check_shapes(self)
        _check_values(self)

    @classmethod
    def trusted(cls, weights: Float, log_mean: Float, log_var: Float) -> CountMixture:
        """Without copies and checks, for arrays that are contiguous float64 and right by construction."""
        mixture = object.__new__(cls)
        for name, value in zip(_FIELDS, (weights, log_mean, log_var), strict=True):
            object.__setattr__(mixture, name, value)
        return mixture

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, rows: int | slice | ArrayLike) -> CountMixture:
        """Some of the rows: a slice, a mask, or indices; a single index gives a distribution of one row."""
        if isinstance(rows, int | np.integer):
            rows = np.array([range(len(self))[rows]])
        picked = rows if isinstance(rows, slice) else np.asarray(rows)
        return CountMixture(self.weights[picked], self.log_mean[picked], self.log_var[picked])

    def __repr__(self) -> str:
        n, n_experts = self.weights.shape
        return f"CountMixture({n} row{'s' * (n != 1)}, {n_experts} expert{'s' * (n_experts != 1)})"

    @classmethod
    def concatenate(cls, parts: Sequence[CountMixture]) -> CountMixture:
        """One distribution out of consecutive ones."""
        if len(parts) == 1:
            return parts[0]
        weights, log_mean, log_var = (np.concatenate([getattr(part, name) for part in parts]) for name in _FIELDS)
        return cls.trusted(weights, log_mean, log_var)

    @property
    def mean(self) -> Float:
        """``sum_m w_m exp(log_mean_m + log_var_m / 2)``; a component's mean is at most exp(350). O(n M)."""
        return _moments(self.weights, self.log_mean, self.log_var)[0]

    @property
    def var(self) -> Float:
        """Variance, Poisson noise included; a component's is at most exp(700), so that it stays a number. O(n M)."""
        return _moments(self.weights, self.log_mean, self.log_var)[1]

    @property
    def std(self) -> Float:
        """Square root of :attr:`var`."""
        return np.sqrt(self.var)

    def pmf(self, k: ArrayLike) -> Float:
        """Probability of the count ``k``: the exponential of :meth:`logpmf`, which see."""
        return np.exp(self.logpmf(k))

    def logpmf(self, k: ArrayLike) -> Float:
        """Log probability of the count ``k``, a number or one value per row. O(n M), summed in logs: no underflow.

        Any number that is not negative is a count: between the integers this is the quasi-likelihood, with a gamma
        function in place of the factorial. Negative and infinite counts have ``-inf``; a NaN gives a NaN.
        """
        return _logpmf(self.weights, self.log_mean, self.log_var, self._values(k))

    def cdf(self, k: ArrayLike) -> Float:
        """Probability of a count up to ``k``, a number or one value per row, to 1e-9 (2e-7 from ``k = 1e12``). O(n M).

        Zero below ``k = 0``, constant between the integers. A NaN gives a NaN.
        """
        return _cdf(self.weights, self.log_mean, self.log_var, self._values(k))

    def quantile(self, q: ArrayLike) -> Float:
        """The smallest counts with ``cdf(count) >= q``, a number in (0, 1) or a list of j numbers.

        Shape (n,), with a list (j, n); whole numbers as float64, at most exp(700). ``q`` is met as exactly as
        :meth:`cdf` is known, at the cost of about two evaluations of it.
        """
        levels = _probabilities(q)
        found = count_quantiles(self.weights, self.log_mean, self.log_var, np.atleast_1d(levels))
        return found if levels.ndim else found[0]

    def interval(self, level: float = 0.95) -> tuple[Float, Float]:
        """Central interval, ends included: the quantiles at (1 - level)/2 and (1 + level)/2.

        Counts come in steps, so the interval holds a probability of ``level`` or more.
        """
        if np.ndim(level) or not 0.0 < level < 1.0:
            raise InputError(f"level={level!r} is not a number between 0 and 1. For a 95 % interval pass level=0.95.")
        lower, upper = self.quantile([0.5 - 0.5 * level, 0.5 + 0.5 * level])
        return lower, upper

    def sample(self, size: int, rng: np.random.Generator | int | None = None) -> Float:
        """Draw ``size`` counts per row: shape (size, n), whole numbers as float64, at most exp(700).

        ``rng`` is a generator or a seed; ``None`` draws differently every time.
        """
        generator = np.random.default_rng(rng)
        expert = _pick_experts(self.weights, generator.random((size, len(self))))
        rows = np.arange(len(self))
        spread = np.sqrt(self.log_var[rows, expert])
        log_rate = self.log_mean[rows, expert] + spread * generator.standard_normal(expert.shape)
        rate = np.exp(np.minimum(log_rate, MAX_LOG))
        # NumPy's generator takes no larger rates; there the noise is below the spacing of floats, or close to it.
        counts: Float = generator.poisson(np.minimum(rate, HUGE_COUNT)).astype(np.float64)
        counts[rate > HUGE_COUNT] = np.floor(rate[rate > HUGE_COUNT])
        return counts

    def _values(self, k: ArrayLike) -> Float:
        """``k`` as a contiguous (n,) array."""
        values = np.asarray(k, dtype=np.float64)
        if values.ndim and values.shape != (len(self),):
            raise InputError(
                f"k has shape {values.shape}, but there are {len(self)} rows. Pass a number or one per row."
            )
        return np.ascontiguousarray(np.broadcast_to(values, (len(self),)))


_FIELDS = ("weights", "log_mean", "log_var")


def _check_shapes(mixture: CountMixture) -> None:
    shape = mixture.weights.shape
    if len(shape) != 2 or shape[1] == 0:
        raise InputError(f"weights has shape {shape}, not (rows, experts). Add axes of length 1 where needed.")
    for name in _FIELDS[1:]:
        found = getattr(mixture, name).shape
        if found != shape:
            raise InputError(f"{name} has shape {found}, but weights has shape {shape}. Give both the same shape.")


def _check_values(mixture: CountMixture) -> None:
    weights, used = mixture.weights, mixture.weights > 0.0
    # Written so that a NaN fails.
    fine = (np.abs(mixture.log_mean) < np.inf) & (mixture.log_var >= 0.0) & (mixture.log_var < np.inf)
    good = np.all((weights >= 0.0) & (fine | ~used), axis=1) & (np.abs(weights.sum(axis=1) - 1.0) < 1e-6)
    if not good.all():
        row = int(np.argmin(good))
        raise InputError(
            f"Row {row} is not a mixture: weights must be non-negative with sum 1, and every component of positive "
            f"weight needs a finite log_mean and a finite log_var of at least 0. Its weights are {weights[row]}, "
            f"log_mean {mixture.log_mean[row]}, log_var {mixture.log_var[row]}; check the arrays for NaN."
        )


def _probabilities(q: ArrayLike) -> Float:
    levels = np.asarray(q, dtype=np.float64)
    if levels.ndim > 1:
        raise InputError(f"q has shape {levels.shape}. Pass a number or a list of numbers.")
    if not np.all((levels > 0.0) & (levels < 1.0)):
        raise InputError(f"q={q!r} has values that are not strictly between 0 and 1. Pass 0.5 for the median.")
    return levels


# --- moments and probabilities ---------------------------------------------------------------------------------------


@compiled
def _moments(weights: Float, log_mean: Float, log_var: Float) -> tuple[Float, Float]:
    """Mean and variance, both (n,).

    A component has mean ``e = exp(mu + v/2)`` and variance ``e + exp(2 mu + 2 v) (1 - exp(-v))``: the second factorial
    moment less the squared mean, without the cancellation.
    """
    n, n_experts = weights.shape
    mean, var = np.zeros(n), np.zeros(n)
    centres = np.empty(n_experts)
    for i in range(n):
        for m in range(n_experts):
            if weights[i, m] > 0.0:
                centres[m] = math.exp(min(log_mean[i, m] + 0.5 * log_var[i, m], 0.5 * MAX_LOG))
                mean[i] += weights[i, m] * centres[m]
        for m in range(n_experts):
            if weights[i, m] > 0.0:
                squared = math.exp(min(2.0 * (log_mean[i, m] + log_var[i, m]), MAX_LOG))
                within = centres[m] - squared * math.expm1(-log_var[i, m])
                var[i] += weights[i, m] * (within + (centres[m] - mean[i]) ** 2)
    return mean, var


@compiled
def _logpmf(weights: Float, log_mean: Float, log_var: Float, k: Float) -> Float:
    """``log sum_m w_m P_m(k)``, shape (n,)."""
    n, n_experts = weights.shape
    out = np.empty(n)
    logs = np.empty(n_experts)
    for i in range(n):
        largest = -math.inf
        for m in range(n_experts):
            logs[m] = -math.inf
            if weights[i, m] > 0.0:
                logs[m] = math.log(weights[i, m]) + _component_logpmf(k[i], log_mean[i, m], log_var[i, m])
                if not logs[m] <= largest:  # so that a NaN wins
                    largest = logs[m]
        out[i] = largest
        if abs(largest) < math.inf:
            out[i] += math.log(np.sum(np.exp(logs - largest)))
    return out


@compiled
def _component_logpmf(k: float, mean: float, var: float) -> float:
    if k != k:
        return math.nan
    if k < 0.0 or k == math.inf:
        return -math.inf
    if k > HUGE_LABEL:
        total = var + 1.0 / k
        return -0.5 * (math.log(k) - mean) ** 2 / total - 0.5 * math.log(total) - math.log(_ROOT_TWO_PI * k)
    if mean != mean or var != var:
        return math.nan
    mean, var = min(max(mean, -_FARTHEST_MEAN), _FARTHEST_MEAN), min(max(var, _LEAST_VAR), _LARGEST_VAR)
    label, link = np.array([k, 1.0]), np.zeros(1)
    z = mode(POISSON, label, mean, var, link)
    peak = poisson.derivatives(label, z, link)[0] - 0.5 * (z - mean) ** 2 / var
    if peak < _HOPELESS:
        return peak
    return min(poisson.log_predictive(label, mean, var, link, z), 0.0)  # rounding may leave a hair above


# --- the distribution function ---------------------------------------------------------------------------------------


@compiled
def _cdf(weights: Float, log_mean: Float, log_var: Float, k: Float) -> Float:
    n, n_experts = weights.shape
    out = np.empty(n)
    table, grid = np.empty((n_experts, 3)), np.empty((3, _MAX_NODES))
    for i in range(n):
        if k[i] >= 0.0:
            parts = _gather(weights[i], log_mean[i], log_var[i], table)
            out[i] = cdf_pmf(np.floor(k[i]), parts, grid)[0] if k[i] < math.inf else 1.0
        else:
            out[i] = 0.0 if k[i] < 0.0 else math.nan
    return out


@compiled
def _gather(weights: Float, log_mean: Float, log_var: Float, table: Float) -> Float:
    """The components that matter in one row as rows of ``table`` (M, 3), weights normalised; a view of it."""
    count, total = 0, 0.0
    for m in range(weights.size):
        if weights[m] > NEGLIGIBLE_WEIGHT / weights.size:
            table[count, WEIGHT] = weights[m]
            table[count, LOG_MEAN] = log_mean[m]
            table[count, LOG_VAR] = log_var[m]
            total += weights[m]
            count += 1
    parts = table[:count]
    parts[:, WEIGHT] /= total
    return parts


@compiled
def cdf_pmf(k: float, parts: Float, grid: Float) -> tuple[float, float]:
    """``P(y <= k)`` and ``P(y = k)`` of one row for a whole number k; ``grid`` (3, _MAX_NODES) is room to work in."""
    if k > HUGE_COUNT:
        cdf, slope = _smooth_tail(math.log(k), parts, 1.0)
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
    """``E_z[P(Poisson(exp(z)) <= k)]`` and the same for ``= k``, where z is narrower than log G."""
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
    """``P(y <= k)`` and ``P(y = k)`` for y ~ Poisson(exp(log_rate)), k a whole number; error below 1e-10.

    >>> print("%.4f %.4f" % poisson_cdf_pmf(1.0, 0.0))  # 2/e and 1/e
    0.7358 0.3679
    """
    if k < _SUMMED_COUNTS:
        rate = math.exp(min(log_rate, MAX_LOG))
        term = math.exp(-rate)
        total = term
        for j in range(1, int(k) + 1):
            term *= rate / j
            total += term
        return min(total, 1.0), term
    return _temme(k + 1.0, log_rate - math.log(k + 1.0))


@compiled
def _temme(a: float, d: float) -> tuple[float, float]:
    """``Q(a, a exp(d))`` and its rise from ``a - 1`` to ``a``, for large a (Temme's uniform expansion, DLMF 8.12).

    SciPy's ``gammaincc`` is no help here: for a beyond 1e6 it is off by up to 1e-6, five standard deviations out.
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
    """``(exp(d) - 1 - d) / d²``, accurate however small ``d`` is."""
    if abs(d) > 0.1:
        return (math.expm1(d) - d) / (d * d)
    tail = 1.0 / 120.0 + d * (1.0 / 720.0 + d * (1.0 / 5040.0 + d * (1.0 / 40320.0)))
    return 0.5 + d * (1.0 / 6.0 + d * (1.0 / 24.0 + d * tail))


@compiled
def _log_gamma_nodes(k: float, grid: Float) -> Float:
    """Trapezoidal rule for expectations over log G, shape (3, nodes): see NODE, MASS, STEP_MASS; a view of ``grid``.

    ``log G = log(a) + u`` has density ``~ exp(-a (exp(u) - 1 - u))``, a = k + 1, with a long tail to the left where a
    is small. In the variable t with ``u = t + 1 - exp(-t)`` both tails are short. Outwards from the peak until terms
    no longer matter. ``k E[f(log G) / G] = E[f]`` for shape k, so the same nodes tell how much came with the last step.
    """
    a = k + 1.0
    step, log_a = _STEP / math.sqrt(a + _STEP_SHIFT), math.log(a)
    count, total = 0, 0.0
    for side in (0, -1, 1):
        t = step * side
        while count < _MAX_NODES:
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
    """``E[Phi((log G - mu) / s)]`` over the nodes, and what of it came with the last step."""
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


# --- quantiles -------------------------------------------------------------------------------------------------------


@compiled
def count_quantiles(weights: Float, log_mean: Float, log_var: Float, q: Float) -> Float:
    """Quantiles of every row at the levels ``q`` (j,), each in (0, 1): shape (j, n).

    Compiled, without the GIL, and with no checks: a runner calls it chunk by chunk on its own arrays. About half a
    microsecond per component that matters and evaluation, one or two evaluations per quantile. Components that
    together weigh less than 1e-9 are skipped. Where no component has weight, or one that has is not a number, the
    result is NaN.

    >>> import numpy as np
    >>> one = np.ones((1, 1))
    >>> count_quantiles(one, np.log(4.0) * one, 0.0 * one, np.array([0.025, 0.5, 0.975])).ravel()
    array([1., 4., 8.])
    """
    n, n_experts = weights.shape
    out = np.empty((q.size, n))
    table, grid = np.empty((n_experts, 3)), np.empty((3, _MAX_NODES))
    for i in range(n):
        parts = _gather(weights[i], log_mean[i], log_var[i], table)
        for j in range(q.size):
            x = _smooth_quantile(parts, q[j])
            if x != x:
                out[j, i] = math.nan
            elif x > _LOG_HUGE:
                out[j, i] = np.floor(math.exp(min(x, MAX_LOG)))
            else:
                out[j, i] = _search(parts, q[j], np.floor(math.exp(x) + 0.5), grid)
    return out


@compiled
def _search(parts: Float, q: float, start: float, grid: Float) -> float:
    """The smallest k with ``P(y <= k) >= q``: Newton's method on whole numbers, inside a bracket.

    An evaluation gives the probability up to k - 1 too, so a right guess costs no more than one. After a few steps
    every other one halves the bracket (in logs while it is wide), so that no mixture can make it crawl.
    """
    target = min(q, 1.0 - 1e-12)  # as much as rounding lets the sums reach
    low, high, k = -1.0, math.inf, start
    for evaluation in range(_MAX_EVALUATIONS):
        cdf, pmf = cdf_pmf(k, parts, grid)
        if cdf != cdf:
            return math.nan
        if cdf < target:
            low = k
        else:
            high = k
            if cdf - pmf < target:
                break
        if high - low <= 1.0:
            break
        ahead = math.inf if pmf == 0.0 else abs(target - cdf) / pmf
        k = k + np.ceil(min(ahead, 3.0 * k + 3.0)) if cdf < target else k - max(np.floor(min(ahead, k)), 1.0)
        if not low < k < high or (evaluation % 2 == 1 and evaluation > 4 and high < math.inf):
            k = _middle(low, high)
    return high


@compiled
def _middle(low: float, high: float) -> float:
    """A whole number strictly between two that are more than one apart; the geometric mean where they are far apart."""
    if high > 8.0 * (low + 2.0):
        return float(np.floor(math.sqrt((low + 2.0) * high)))
    return float(np.floor(0.5 * (low + high)))


@compiled
def _smooth_quantile(parts: Float, q: float) -> float:
    """``log(k + 1/2)`` of the quantile, from :func:`_smooth_tail`: where to start, and the answer for huge counts.

    Newton's method on the log of the smaller tail, nearly straight in Gaussian tails, inside a bracket. What lies
    outside of _LOWEST to MAX_LOG is a count of 0 or exp(MAX_LOG) anyway.
    """
    side, level = (1.0, q) if q <= 0.5 else (-1.0, 1.0 - q)
    x = float(np.sum(parts[:, WEIGHT] * parts[:, LOG_MEAN]))
    if parts.shape[0] == 0 or x != x:
        return math.nan
    low, high = _LOWEST - 2.0, MAX_LOG + 2.0
    for step in range(_MAX_SMOOTH_STEPS):
        x = min(max(x, _LOWEST - 1.0), MAX_LOG + 1.0)
        if not low < x < high or step % 8 == 7:
            x = 0.5 * low + 0.5 * high
        tail, slope = _smooth_tail(x, parts, side)
        if tail != tail:
            return math.nan
        gap = math.log(tail / level) if tail > 0.0 else -math.inf
        if side * gap < 0.0:
            low = x
        else:
            high = x
        close = abs(gap) < (1e-13 if x > _LOG_HUGE else 1e-3)
        if close or high < _LOWEST or low > MAX_LOG or high - low < 1e-15 * high:
            break
        x -= side * (gap * tail / slope if slope > 0.0 else math.copysign(math.inf, gap))
    return x


@compiled
def _smooth_tail(x: float, parts: Float, side: float) -> tuple[float, float]:
    """Probability of a count up to k (side 1) or above (side -1) and its absolute slope in ``x = log(k + 1/2)``.

    ``log G`` as a Gaussian of mean x and variance ``1 / k``, ``1 / sqrt(k exp(mu))`` below the mean: right for large
    counts, and close enough to start a search for small ones.
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
