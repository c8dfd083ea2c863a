"""What ``predict_one(x, with_dist=True)`` returns: the whole predictive distribution of one row, in plain numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from iegp._docstrings import entries, fill_docstrings
from iegp.core.predictive.counts import CountMixture
from iegp.core.predictive.mixture import Mixture
from iegp.errors import InputError

DOCS = entries("""
y : float
    Value in the units of the target.
k : float
    Count, 0 or larger.
q : float
    Probability between 0 and 1.
level : float, default=0.95
    Probability of the interval, between 0 and 1.
""")


@fill_docstrings(DOCS)
@dataclass(frozen=True, repr=False, eq=False)
class Predicted:
    """Predictive distribution of a number. As with River's distributions, calling it gives the density.

    Parameters
    ----------
    dist : Mixture or CountMixture
        Distribution of one row: a mixture over experts.
    kept : mapping of float to pair of floats, default={}
        Intervals by their level, where the model keeps levels (``conformal="online"``).

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones((1, 1, 1))
    >>> normal = Predicted(Mixture(np.ones((1, 1)), 5.0 * one, 2.0 * one, np.inf * one))
    >>> normal
    Predicted(mu=5.000, sigma=2.000)
    >>> normal.cdf(5.0), round(normal.quantile(0.975), 3), round(normal(5.0), 4)
    (0.5, 8.92, 0.1995)
    """

    dist: Mixture | CountMixture
    kept: Mapping[float, tuple[float, float]] = field(default_factory=dict)

    @property
    def mu(self) -> float:
        """Mean."""
        return float(self.dist.mean[0])

    @property
    def sigma(self) -> float:
        """Standard deviation, observation noise included."""
        return float(self.dist.std[0])

    def cdf(self, y: float) -> float:
        """Compute the probability of a value up to ``y``.

        {parameters}

        Returns
        -------
        float
            Probability between 0 and 1.
        """
        return float(self.dist.cdf(y)[0])

    def quantile(self, q: float) -> float:
        """Compute the value below which the probability is ``q``.

        {parameters}

        Returns
        -------
        float
            Value in the units of the target.
        """
        return float(self.dist.quantile(q)[0])

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Compute the central interval of a given probability; where the model keeps levels, the one that does.

        {parameters}

        Returns
        -------
        tuple of two floats
            Lower and upper end.
        """
        if self.kept:
            if level not in self.kept:
                known = ", ".join(f"{own:g}" for own in self.kept)
                raise InputError(f"level={level!r} is not among the levels that intervals keep ({known})")
            return self.kept[level]
        lower, upper = self.dist.interval(level)
        return float(lower[0]), float(upper[0])

    def logpdf(self, y: float) -> float:
        """Compute the log density at ``y``; of a count, the log probability.

        {parameters}

        Returns
        -------
        float
            Natural logarithm of the density.
        """
        return float(self.dist.logpmf(y)[0] if isinstance(self.dist, CountMixture) else self.dist.logpdf(y)[0])

    def __call__(self, y: float) -> float:
        """Density at ``y``; of a count, probability."""
        return math.exp(self.logpdf(y))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mu={self.mu:.3f}, sigma={self.sigma:.3f})"


@fill_docstrings(DOCS)
class PredictedCount(Predicted):
    """Predictive distribution of a count: the methods of :class:`Predicted`, with probabilities in place of densities.

    Parameters
    ----------
    dist : CountMixture
        Distribution of the count of one row: a mixture over experts.
    kept : mapping of float to pair of floats, default={}
        Not used for counts.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones((1, 1))
    >>> poisson = PredictedCount(CountMixture(one, np.log(3.0) * one, 0.0 * one))
    >>> poisson
    PredictedCount(mu=3.000, sigma=1.732)
    >>> round(poisson.pmf(3), 4), poisson.interval(0.9)
    (0.224, (1.0, 6.0))
    """

    def logpmf(self, k: float) -> float:
        """Compute the log probability of the count ``k``.

        {parameters}

        Returns
        -------
        float
            Natural logarithm of the probability.
        """
        return self.logpdf(k)

    def pmf(self, k: float) -> float:
        """Compute the probability of the count ``k``.

        {parameters}

        Returns
        -------
        float
            Probability between 0 and 1.
        """
        return self(k)
