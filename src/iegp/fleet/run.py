"""Predictions of a fleet, one per row, in the order of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.errors import InputError
from iegp.evaluate.runs import NumberRun
from iegp.typing import Float

# Number of keys that a message lists.
_SHOWN = 5


@dataclass(frozen=True, repr=False)
class FleetRun(NumberRun):
    """Predictions of a fleet: one entry per row of a call, each made by its key's model before its label was used.

    Parameters
    ----------
    keys : ndarray (n,)
        Key of each row.
    mean, std : ndarray
        Predictive mean and standard deviation, in the shape and units of y.
    lower, upper : ndarray or None
        Ends of the central interval, in the shape and units of y; ``None`` without ``level``.
    log_score : ndarray (n,)
        Log predictive density of the label, summed over outputs.
    weights : ndarray (n, n_experts)
        Weights of the experts in the prediction.
    y : ndarray (n,) or (n, D)
        Labels.
    level : float or None, default=None
        Probability of the interval.
    pit : ndarray or None, default=None
        Predicted probability of a smaller label, in the shape of y; ``None`` without ``level``, and from a
        ``TorchFleet``.

    Examples
    --------
    >>> import numpy as np
    >>> from iegp import Fleet, IEGPRegressor
    >>> from iegp.kernels import RBF
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> fleet = Fleet(IEGPRegressor([RBF(1.0)], n_frequencies=10, random_state=0).warm_up(X, np.sin(X[:, 0])))
    >>> run = fleet.learn(["fan", "pump", "fan"], X[:3], np.sin(X[:3, 0]), level=0.9)
    >>> run.of("fan").mean.shape, run.lower.shape
    ((2,), (3,))
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
        """Select the rows of one key; an error if it has none.

        Parameters
        ----------
        key : str or int
            A key of the run.

        Returns
        -------
        FleetRun
            Its rows, in their order.
        """
        chosen = np.flatnonzero(self.keys == key)
        if not len(chosen):
            raise InputError(f"key {key!r:.60} has no row in this run; {self._some_keys()}")
        parts: dict[str, Any] = {
            name: value[chosen] if isinstance(value, np.ndarray) else value for name, value in vars(self).items()
        }
        return FleetRun(**parts)

    def plot(self, **_: Any) -> Any:
        """Refuse: a figure shows the rows of one model in their order, and these are of many.

        Parameters
        ----------
        **_ : object
            Not used.
        """
        raise InputError("a FleetRun has no figure: its rows are of many models; draw columns of to_frame()")

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {"key": self.keys} | super()._columns()

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
