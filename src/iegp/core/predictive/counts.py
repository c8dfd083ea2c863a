"""The predictive distribution of counts: for every row a mixture over experts of Poisson-log-normal components.

:class:`CountMixture` is the public type; here are its moments and probabilities. All arrays have shape (n, M),
C-contiguous float64; rows are independent of each other, so any chunking gives the same bits. A component of weight
zero is never read: its fields may hold anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from iegp._compile import compiled
from iegp._docstrings import entries, fill_docstrings
from iegp.core.compute.tolerances import (
    FARTHEST_LOG_MEAN,
    HUGE_COUNT,
    HUGE_LABEL,
    LARGEST_VAR,
    LEAST_VAR,
    MAX_LOG_RATE,
    WEIGHT_SUM_SLACK,
)
from iegp.core.predictive import distribution
from iegp.core.predictive.count_cdf import cdf
from iegp.core.predictive.count_quantiles import count_quantiles
from iegp.core.predictive.distribution import Distribution, central_levels, log_total
from iegp.core.predictive.poisson_log_normal import log_poisson
from iegp.errors import InputError
from iegp.typing import Float, Int

_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)

DOCS = distribution.DOCS | entries("""
weights, log_mean, log_var : ndarray (n, M)
    As in the constructor.
k : float or array-like (n,)
    One number, or one per row.
""")


@fill_docstrings(DOCS)
@dataclass(frozen=True, repr=False, eq=False)
class CountMixture(Distribution):
    """Predictive distribution of n counts: M experts, each ``Poisson(exp(z))`` with ``z ~ N(log_mean, log_var)``.

    Components of weight zero are ignored, whatever their fields hold. Results have shape (n,).

    Parameters
    ----------
    weights : array-like (n, M)
        Weights of the experts; rows sum to one.
    log_mean : array-like (n, M)
        Mean of the log rate, exposures and offsets included.
    log_var : array-like (n, M)
        Variance of the log rate, at least 0.

    Examples
    --------
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

    log_mean: Float
    log_var: Float
    _arrays = ("weights", "log_mean", "log_var")

    def _check(self) -> None:
        _check_shapes(self)
        _check_values(self)

    @classmethod
    def unchecked(cls, weights: Float, log_mean: Float, log_var: Float) -> CountMixture:
        """Make a mixture without copies and checks, from contiguous float64 arrays that are valid by construction.

        {parameters}

        {returns_shared}
        """
        return cls._sharing(weights, log_mean, log_var)

    def __repr__(self) -> str:
        n, n_experts = self.weights.shape
        return f"CountMixture({n} row{'s' * (n != 1)}, {n_experts} expert{'s' * (n_experts != 1)})"

    @property
    def mean(self) -> Float:
        """``sum_m w_m exp(log_mean_m + log_var_m / 2)``; a component's mean is at most exp(350). O(n M)."""
        return count_moments(self.weights, self.log_mean, self.log_var)[0]

    @property
    def var(self) -> Float:
        """Variance, Poisson noise included; a component's is at most exp(700), so that it stays a number. O(n M)."""
        return count_moments(self.weights, self.log_mean, self.log_var)[1]

    def moments(self) -> tuple[Float, Float]:
        """Mean and variance at once."""
        return count_moments(self.weights, self.log_mean, self.log_var)

    def with_intervals(self, level: float, y: Float) -> tuple[Float, Float, Float]:
        """Ends of central intervals, and the predicted probability of a smaller count than ``y`` (n,), ties halved."""
        mixture = self.weights, self.log_mean, self.log_var
        lower, upper = count_quantiles(*mixture, central_levels(level))
        return lower, upper, cdf(*mixture, np.ascontiguousarray(y), 0.5)

    def pmf(self, k: ArrayLike) -> Float:
        """Compute the probability of the count ``k``, the exponential of :meth:`logpmf`.

        {parameters}

        Returns
        -------
        ndarray (n,)
            Probabilities.
        """
        return np.exp(self.logpmf(k))

    def logpmf(self, k: ArrayLike) -> Float:
        """Compute the log probability of the count ``k``. O(n M), summed in logs: no underflow.

        Parameters
        ----------
        k : float or array-like (n,)
            One count, or one per row. Any number that is not negative is accepted: between the integers the result is
            the quasi-likelihood, with a gamma function in place of the factorial.

        Returns
        -------
        ndarray (n,)
            Log probabilities, in nats; ``-inf`` for negative and infinite counts, NaN for NaN.
        """
        return _logpmf(self.weights, self.log_mean, self.log_var, self._values(k))

    def cdf(self, k: ArrayLike) -> Float:
        """Compute the probability of a count up to ``k``, to 1e-9 (2e-7 from ``k = 1e12``). O(n M).

        {parameters}

        Returns
        -------
        ndarray (n,)
            Probabilities; zero below ``k = 0``, constant between the integers, NaN for NaN.
        """
        return cdf(self.weights, self.log_mean, self.log_var, self._values(k), 0.0)

    def _quantiles(self, levels: Float) -> Float:
        return count_quantiles(self.weights, self.log_mean, self.log_var, levels)

    def _draw(self, expert: Int, generator: np.random.Generator) -> Float:
        rows = np.arange(len(self))
        spread = np.sqrt(self.log_var[rows, expert])
        log_rate = self.log_mean[rows, expert] + spread * generator.standard_normal(expert.shape)
        rate = np.exp(np.minimum(log_rate, MAX_LOG_RATE))
        # NumPy's generator takes no larger rates; there the noise is below the spacing of floats, or close to it.
        counts: Float = generator.poisson(np.minimum(rate, HUGE_COUNT)).astype(np.float64)
        counts[rate > HUGE_COUNT] = np.floor(rate[rate > HUGE_COUNT])
        return counts

    def _values(self, k: ArrayLike) -> Float:
        """Return ``k`` as a contiguous (n,) array."""
        values = np.asarray(k, dtype=np.float64)
        if values.ndim and values.shape != (len(self),):
            raise InputError(
                f"k has shape {values.shape}, but there are {len(self)} rows. Pass a number or one per row."
            )
        return np.ascontiguousarray(np.broadcast_to(values, (len(self),)))


def _check_shapes(mixture: CountMixture) -> None:
    shape = mixture.weights.shape
    if len(shape) != 2 or shape[1] == 0:
        raise InputError(f"weights has shape {shape}, not (rows, experts). Add axes of length 1 where needed.")
    for name in mixture._arrays[1:]:
        found = getattr(mixture, name).shape
        if found != shape:
            raise InputError(f"{name} has shape {found}, but weights has shape {shape}. Give both the same shape.")


def _check_values(mixture: CountMixture) -> None:
    weights, used = mixture.weights, mixture.weights > 0.0
    # Written so that a NaN fails.
    fine = (np.abs(mixture.log_mean) < np.inf) & (mixture.log_var >= 0.0) & (mixture.log_var < np.inf)
    good = np.all((weights >= 0.0) & (fine | ~used), axis=1) & (np.abs(weights.sum(axis=1) - 1.0) < WEIGHT_SUM_SLACK)
    if not good.all():
        row = int(np.argmin(good))
        raise InputError(
            f"Row {row} is not a mixture: weights must be non-negative with sum 1, and every component of positive "
            f"weight needs a finite log_mean and a finite log_var of at least 0. Its weights are {weights[row]}, "
            f"log_mean {mixture.log_mean[row]}, log_var {mixture.log_var[row]}; check the arrays for NaN."
        )


# --- moments and probabilities ---------------------------------------------------------------------------------------


@compiled
def count_moments(weights: Float, log_mean: Float, log_var: Float) -> tuple[Float, Float]:
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
                centres[m] = math.exp(min(log_mean[i, m] + 0.5 * log_var[i, m], 0.5 * MAX_LOG_RATE))
                mean[i] += weights[i, m] * centres[m]
        for m in range(n_experts):
            if weights[i, m] > 0.0:
                squared = math.exp(min(2.0 * (log_mean[i, m] + log_var[i, m]), MAX_LOG_RATE))
                within = centres[m] - squared * math.expm1(-log_var[i, m])
                var[i] += weights[i, m] * (within + (centres[m] - mean[i]) ** 2)
    return mean, var


@compiled
def _logpmf(weights: Float, log_mean: Float, log_var: Float, k: Float) -> Float:
    """Compute ``log sum_m w_m P_m(k)``, shape (n,)."""
    n, n_experts = weights.shape
    out = np.empty(n)
    logs = np.empty(n_experts)
    for i in range(n):
        for m in range(n_experts):
            logs[m] = -math.inf
            if weights[i, m] > 0.0:
                logs[m] = math.log(weights[i, m]) + _component_logpmf(k[i], log_mean[i, m], log_var[i, m])
        out[i] = log_total(logs)
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
    centre = min(max(mean, -FARTHEST_LOG_MEAN), FARTHEST_LOG_MEAN)
    score = log_poisson(np.array([k, 1.0]), centre, min(max(var, LEAST_VAR), LARGEST_VAR), np.zeros(1))
    return min(score, 0.0)  # rounding may leave it slightly above
