"""The parameters of a likelihood (``link``): where they start, and the free numbers in which evidence searches them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from iegp.core.compute.tolerances import FARTHEST_LINK, LINK_SPREAD
from iegp.typing import Float

if TYPE_CHECKING:
    from iegp.core.likelihoods.protocol import Likelihood


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
        return 0.5 * float(away @ away) / LINK_SPREAD**2, away / LINK_SPREAD**2

    def bounds(self) -> list[tuple[float, float]]:
        """Where the free numbers may lie."""
        return [(value - FARTHEST_LINK, value + FARTHEST_LINK) for value in self.free()]
