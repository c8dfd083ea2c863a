"""What ``predict_one(x, with_dist=True)`` returns: the whole predictive distribution of one row, in plain numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from iegp.core.predictive.counts import CountMixture
from iegp.core.predictive.mixture import Mixture


@dataclass(frozen=True, repr=False, eq=False)
class Predicted:
    """Predictive distribution of a number. As with River's distributions, calling it gives the density.

    >>> import numpy as np
    >>> one = np.ones((1, 1, 1))
    >>> normal = Predicted(Mixture(np.ones((1, 1)), 5.0 * one, 2.0 * one, np.inf * one))
    >>> normal
    Predicted(mu=5.000, sigma=2.000)
    >>> normal.cdf(5.0), round(normal.quantile(0.975), 3), round(normal(5.0), 4)
    (0.5, 8.92, 0.1995)
    """

    dist: Mixture | CountMixture
    """The distribution itself, a mixture over experts of one row."""

    @property
    def mu(self) -> float:
        """Mean."""
        return float(self.dist.mean[0])

    @property
    def sigma(self) -> float:
        """Standard deviation, observation noise included."""
        return float(self.dist.std[0])

    def cdf(self, y: float) -> float:
        """Probability of a value up to ``y``."""
        return float(self.dist.cdf(y)[0])

    def quantile(self, q: float) -> float:
        """The value below which the probability is ``q``."""
        return float(self.dist.quantile(q)[0])

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Central interval, lower and upper end."""
        lower, upper = self.dist.interval(level)
        return float(lower[0]), float(upper[0])

    def logpdf(self, y: float) -> float:
        """Log density at ``y``; of a count, log probability."""
        return float(self.dist.logpmf(y)[0] if isinstance(self.dist, CountMixture) else self.dist.logpdf(y)[0])

    def __call__(self, y: float) -> float:
        """Density at ``y``; of a count, probability."""
        return math.exp(self.logpdf(y))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mu={self.mu:.3f}, sigma={self.sigma:.3f})"


class PredictedCount(Predicted):
    """Predictive distribution of a count: the same, with probabilities in place of densities."""

    def logpmf(self, k: float) -> float:
        """Log probability of the count ``k``."""
        return self.logpdf(k)

    def pmf(self, k: float) -> float:
        """Probability of the count ``k``."""
        return self(k)
