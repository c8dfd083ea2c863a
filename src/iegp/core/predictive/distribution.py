"""What the predictive distributions of numbers and of counts share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from iegp._compile import compiled
from iegp.errors import InputError
from iegp.typing import Float, Int


class Distribution:
    """Base of the predictive distributions: for every row a mixture over experts."""

    weights: Float
    """(n, M)"""

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def var(self) -> Float:
        """Variance, observation noise included."""
        raise NotImplementedError

    @property
    def std(self) -> Float:
        """Square root of :attr:`var`."""
        return np.sqrt(self.var)

    def quantile(self, q: ArrayLike) -> Float:
        """Compute the values below which the probability is ``q``."""
        raise NotImplementedError

    def interval(self, level: float = 0.95) -> tuple[Float, Float]:
        """Compute the central interval, ends included: the quantiles at (1 - level)/2 and (1 + level)/2.

        Counts are discrete, so their interval holds a probability of ``level`` or more.

        Parameters
        ----------
        level : float, default=0.95
            Probability inside the interval, strictly between 0 and 1.

        Returns
        -------
        lower : ndarray (n,) or (n, D)
            Lower ends.
        upper : ndarray (n,) or (n, D)
            Upper ends.
        """
        if np.ndim(level) or not 0.0 < level < 1.0:
            raise InputError(f"level={level!r} is not a number between 0 and 1. For a 95 % interval pass level=0.95.")
        lower, upper = self.quantile([0.5 - 0.5 * level, 0.5 + 0.5 * level])
        return lower, upper


def quantile_levels(q: ArrayLike) -> Float:
    """Probabilities for which quantiles are asked: a number or a list of them, checked."""
    levels = np.asarray(q, dtype=np.float64)
    if levels.ndim > 1:
        raise InputError(f"q has shape {levels.shape}. Pass a number or a list of numbers.")
    if not np.all((levels > 0.0) & (levels < 1.0)):
        raise InputError(f"q={q!r} has values that are not strictly between 0 and 1. Pass 0.5 for the median.")
    return levels


@compiled
def pick_experts(weights: Float, uniform: Float) -> Int:
    """Return for every draw and row (size, n) the expert with the part of the unit interval that holds ``uniform``."""
    size, n = uniform.shape
    picked = np.zeros((size, n), dtype=np.int64)
    for s in range(size):
        for i in range(n):
            left = uniform[s, i] * np.sum(weights[i])
            for m in range(weights.shape[1]):
                if weights[i, m] > 0.0:
                    picked[s, i] = m
                    left -= weights[i, m]
                    if left < 0.0:
                        break
    return picked
