"""What the predictive distributions of numbers and of counts share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from iegp._compile import compiled
from iegp.core.weights import log_sum_exp
from iegp.errors import InputError
from iegp.typing import Float, Int

DOCS = {"returns_shared": "Returns\n-------\nmixture\n    Mixture that shares memory with the arrays."}


@dataclass(frozen=True, repr=False, eq=False)
class Distribution:
    """Base of the predictive distributions: for every row a mixture over experts."""

    weights: Float
    """(n, M)"""
    _arrays: ClassVar[tuple[str, ...]]
    """Names of the arrays, which have an entry for every row."""

    def __post_init__(self) -> None:
        for name in self._arrays:
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        self._check()

    @classmethod
    def _sharing(cls, *arrays: Float) -> Self:
        """A distribution of these arrays, which are neither copied nor checked."""
        made = object.__new__(cls)
        for name, values in zip(cls._arrays, arrays, strict=True):
            object.__setattr__(made, name, values)
        return made

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, rows: int | slice | ArrayLike) -> Self:
        """Select rows by a slice, a mask, or indices; a single index gives a distribution of one row."""
        if isinstance(rows, int | np.integer):
            rows = np.array([range(len(self))[rows]])
        picked = rows if isinstance(rows, slice) else np.asarray(rows)
        return replace(self, **{name: getattr(self, name)[picked] for name in self._arrays})

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join the distributions of consecutive rows.

        Parameters
        ----------
        parts : sequence of distributions
            At least one, all of this class, with the same experts and outputs.

        Returns
        -------
        distribution
            Distribution of all rows.
        """
        if len(parts) == 1:
            return parts[0]
        joined = copy(parts[0])
        for name in cls._arrays:
            object.__setattr__(joined, name, np.concatenate([getattr(part, name) for part in parts]))
        return joined

    @property
    def var(self) -> Float:
        """Variance, observation noise included."""
        raise NotImplementedError

    @property
    def std(self) -> Float:
        """Square root of :attr:`var`."""
        return np.sqrt(self.var)

    def quantile(self, q: ArrayLike) -> Float:
        """Compute the values below which the probability is ``q``; of counts, the smallest with ``cdf(count) >= q``.

        They are accurate to about 1e-13 in probability, those of counts as accurate as the cdf, at the cost of two or
        three evaluations of it each. Experts with a weight below 4e-8 of the smallest tail are left out (1e-9 for
        intervals of 95 %, and for counts).

        Parameters
        ----------
        q : float or array-like (k,)
            Probabilities strictly between 0 and 1.

        Returns
        -------
        ndarray (n,) or (n, D)
            Quantiles; with k probabilities, (k, n) or (k, n, D). Those of counts are whole numbers, at most exp(700).
        """
        levels = quantile_levels(q)
        found = self._quantiles(np.atleast_1d(levels))
        return found if levels.ndim else found[0]

    def sample(self, size: int, rng: np.random.Generator | int | None = None) -> Float:
        """Draw values from the distribution. The outputs of one draw share their expert.

        Parameters
        ----------
        size : int
            Number of draws per row.
        rng : numpy.random.Generator, int or None, default=None
            Generator or seed; ``None`` draws differently every time.

        Returns
        -------
        ndarray (size, n) or (size, n, D)
            Draws. Those of counts are whole numbers, at most exp(700).
        """
        generator = np.random.default_rng(rng)
        return self._draw(pick_experts(self.weights, generator.random((size, len(self)))), generator)

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
        lower, upper = self.quantile(central_levels(level))
        return lower, upper

    def _check(self) -> None:
        """Refuse arrays that are no mixture."""
        raise NotImplementedError

    def _quantiles(self, levels: Float) -> Float:
        """Quantiles of all rows at checked probabilities, (k, n) or (k, n, D)."""
        raise NotImplementedError

    def _draw(self, expert: Int, generator: np.random.Generator) -> Float:
        """A value for every draw and row, given its expert, both (size, n)."""
        raise NotImplementedError


def central_levels(level: float) -> Float:
    """Probabilities below the lower and the upper end of a central interval."""
    return np.array([0.5 - 0.5 * level, 0.5 + 0.5 * level])


def quantile_levels(q: ArrayLike) -> Float:
    """Probabilities of quantiles: a number or a list of them, checked."""
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


@compiled
def log_total(logs: Float) -> float:
    """:func:`log_sum_exp` of the weighted densities of a row's components (M,), and NaN if one of them is."""
    for value in logs:
        if value != value:
            return math.nan
    return float(log_sum_exp(logs))
