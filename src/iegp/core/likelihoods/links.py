"""The parameters of a likelihood (``link``): where they start, and the free numbers in which evidence searches them.

Two classes and K classes: zeros, nothing to find. Counts: log of the average rate and overdispersion. Ordered classes:
increasing cut-points, searched as the first one and the logs of the gaps, so that any numbers are in order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iegp.core.likelihoods import BY_CODE, ORDINAL_LOGIT, ORDINAL_PROBIT, POISSON
from iegp.typing import Float

# Overdispersion is the variance of a log rate; gaps between cut-points are in units of the latent function.
START_DISPERSION = 0.1
MIN_DISPERSION, MAX_DISPERSION = 1.0e-4, 10.0
MIN_GAP, MAX_GAP = 1.0e-3, 1.0e3
# A broad prior around the base rates, in units of the free numbers: what the warm-up rows do not show (an absent
# level, no events at all) is not impossible, it has only not been seen yet.
PRIOR_SPREAD = 1.5
# How far the average rate or the first cut-point may move from where it starts.
_FARTHEST = 20.0


class Link(NamedTuple):
    """What is known beforehand, from which free numbers give the parameters."""

    kind: int
    start: Float
    """(P,): parameters that explain the labels without any function of x: base rates."""
    overdispersion: float | None
    """Of counts; ``None`` is free."""

    def free(self) -> Float:
        """The free numbers of ``start``."""
        if self.kind == POISSON:
            return np.array([self.start[0], np.log(self.start[1])] if self.overdispersion is None else self.start[:1])
        if BY_CODE[self.kind].has_free_link:
            return np.concatenate([self.start[:1], np.log(np.maximum(np.diff(self.start), MIN_GAP))])
        return np.empty(0)

    def parameters(self, free: Float) -> Float:
        """The inverse of :meth:`free`."""
        if self.kind == POISSON:
            extra = np.exp(free[1]) if self.overdispersion is None else self.overdispersion
            return np.array([free[0], extra])
        if BY_CODE[self.kind].has_free_link:
            return np.asarray(free[0] + np.concatenate([[0.0], np.cumsum(np.exp(free[1:]))]))
        return self.start

    def penalty(self, free: Float) -> tuple[float, Float]:
        """Minus the log prior of the free numbers, and its gradient.

        Cut-points are held by their centre, not by the first of them: so that reversing the order of the levels
        reverses everything.
        """
        start = self.free()
        away, slopes = free - start, np.eye(len(free))
        if self.kind != POISSON and len(free):
            centre = self.parameters(free).mean() - self.parameters(start).mean()
            ranks = np.arange(1, len(free))
            slopes[0, 1:] = (len(free) - ranks) / len(free) * np.exp(free[1:])
            away = np.concatenate([[centre], away[1:]])
        return 0.5 * float(away @ away) / PRIOR_SPREAD**2, np.asarray(slopes.T @ away) / PRIOR_SPREAD**2

    def bounds(self) -> list[tuple[float, float]]:
        """Where the free numbers may lie."""
        free = self.free()
        scale = (MIN_DISPERSION, MAX_DISPERSION) if self.kind == POISSON else (MIN_GAP, MAX_GAP)
        rest = (float(np.log(scale[0])), float(np.log(scale[1])))
        return [(free[0] - _FARTHEST, free[0] + _FARTHEST), *[rest] * (len(free) - 1)] if len(free) else []


def link_from(kind: int, y: Float, n_classes: int, overdispersion: float | None = None) -> Link:
    """The link of a likelihood, starting at the base rates of labels ``y`` (none are needed)."""
    if kind == POISSON:
        return Link(kind, _counts(y, overdispersion), overdispersion)
    if kind in (ORDINAL_LOGIT, ORDINAL_PROBIT):
        frequencies = (np.bincount(y[:, 0].astype(np.intp), minlength=n_classes) + 1.0) / (len(y) + n_classes)
        below = np.cumsum(frequencies)[:-1]
        return Link(kind, np.asarray(np.log(below / (1.0 - below))), None)
    return Link(kind, np.zeros(BY_CODE[kind].n_link(n_classes)), None)


def _counts(y: Float, overdispersion: float | None) -> Float:
    """Log of the average rate, and half of the overdispersion that the counts themselves show."""
    if not len(y):
        return np.array([0.0, START_DISPERSION if overdispersion is None else overdispersion])
    rate = (y[:, 0].sum() + 0.5) / y[:, 1].sum()
    if overdispersion is None:
        expected = rate * y[:, 1]
        excess = ((y[:, 0] - expected) ** 2 - y[:, 0]).sum() / (expected**2).sum()
        overdispersion = float(np.clip(0.5 * np.log1p(max(excess, 0.0)), 10.0 * MIN_DISPERSION, 1.0))
    return np.array([np.log(rate), overdispersion])
