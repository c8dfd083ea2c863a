"""The parameters of a likelihood (``link``): where they start, and the free numbers in which evidence searches them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from iegp.typing import Float

if TYPE_CHECKING:
    from iegp.core.likelihoods.protocol import Likelihood

# A broad prior around the base rates, in units of the free numbers: what the warm-up rows do not show (an absent
# level, no events at all) is not impossible, it has only not been seen yet.
PRIOR_SPREAD = 1.5
# How far the average rate or the first cut-point may move from where it starts.
FARTHEST = 20.0


class Link:
    """Parameters of a likelihood that are searched as they are, or not at all."""

    def __init__(self, likelihood: Likelihood, start: Float) -> None:
        self.likelihood = likelihood
        self.start = start
        """(P,): parameters that explain the labels without any function of x: base rates."""

    def free(self) -> Float:
        """The free numbers of ``start``."""
        return self.start if self.likelihood.has_free_link else np.empty(0)

    def parameters(self, free: Float) -> Float:
        """The inverse of :meth:`free`."""
        return free if self.likelihood.has_free_link else self.start

    def penalty(self, free: Float) -> tuple[float, Float]:
        """Minus the log prior of the free numbers, and its gradient."""
        away = free - self.free()
        return 0.5 * float(away @ away) / PRIOR_SPREAD**2, away / PRIOR_SPREAD**2

    def bounds(self) -> list[tuple[float, float]]:
        """Where the free numbers may lie."""
        return [(value - FARTHEST, value + FARTHEST) for value in self.free()]
