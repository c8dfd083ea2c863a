"""What a fleet answers: one prediction per row, in the order of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.errors import InputError
from iegp.evaluate.runs import NumberRun
from iegp.typing import Float

# Keys that a message names.
_SHOWN = 5


@dataclass(frozen=True, repr=False)
class FleetRun(NumberRun):
    """One entry per row of the call, each predicted by its key's model before its label was used.

    ``mean`` and ``std`` have the shape of y; ``lower`` and ``upper`` too, and are ``None`` unless a ``level`` was asked
    for; ``pit``, the predicted probability of a smaller label, comes with them (not from every kind of fleet);
    ``log_score`` (n,) is the log predictive density of the label, summed over outputs; ``weights`` (n, n_experts)
    are those used for the prediction.
    """

    keys: NDArray[Any]
    mean: Float
    std: Float
    lower: Float | None
    upper: Float | None
    log_score: Float
    weights: Float
    y: Float
    level: float | None = None
    pit: Float | None = None

    def of(self, key: object) -> FleetRun:
        """The rows of one key; an error if it has none."""
        chosen = np.flatnonzero(self.keys == key)
        if not len(chosen):
            raise InputError(f"key {key!r:.60} has no row in this run; {self._some_keys()}")
        parts: dict[str, Any] = {
            name: value[chosen] if isinstance(value, np.ndarray) else value for name, value in vars(self).items()
        }
        return FleetRun(**parts)

    def __repr__(self) -> str:
        keys = len(set(self.keys.tolist()))
        return f"FleetRun({self._count()} of {keys} key{'' if keys == 1 else 's'}{self._scores()})"

    def _scores(self) -> str:
        if not len(self):
            return ""
        inside = "" if self.level is None else f", coverage {self.coverage:.4g}"
        return f": mean log score {-self.pnll:.4g}, nMSE {self.nmse:.4g}{inside}"

    def _some_keys(self) -> str:
        keys = list(dict.fromkeys(self.keys.tolist()))
        if not keys:
            return "it has no rows at all"
        shown = ", ".join(f"{key!r:.60}" for key in keys[:_SHOWN])
        return f"it has rows of {shown}" + (f" and {len(keys) - _SHOWN:,} more" if len(keys) > _SHOWN else "")
