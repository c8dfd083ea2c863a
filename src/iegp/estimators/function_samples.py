"""Functions drawn from the posterior of a regressor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from iegp._docstrings import fill_docstrings
from iegp.core import functions
from iegp.core import model as online
from iegp.estimators.shared_docs import METHODS
from iegp.typing import Float


@fill_docstrings(METHODS)
class FunctionSamples:
    """Functions drawn from a regressor by :meth:`IEGPRegressor.sample_functions`; call it with rows.

    Parameters
    ----------
    model : IEGPRegressor
        The model as it was when they were drawn.
    draws : object
        The functions, in standardised units.
    horizon : int, default=None
        With which they were drawn.
    """

    def __init__(self, model: Any, draws: functions.Draws, horizon: int | None = None) -> None:
        self._model, self._draws, self._horizon = model, draws, horizon

    def __len__(self) -> int:
        return len(self._draws.experts)

    def __call__(self, X: ArrayLike) -> Float:
        """Evaluate all functions.

        {parameters}

        Returns
        -------
        ndarray (n_samples, n) or (n_samples, n, D)
            Values in the units of y.
        """
        return self._in_user_units(self._values(X))

    def targets(self, X: ArrayLike, random_state: int | np.random.Generator | None = None) -> Float:
        """Evaluate all functions and add observation noise.

        Parameters
        ----------
        {X}
        random_state : int, numpy.random.Generator or None, default=None
            Seed or generator of the noise.

        Returns
        -------
        ndarray (n_samples, n) or (n_samples, n, D)
            Draws of the targets, in the units of y.
        """
        values = self._values(X)
        return self._in_user_units(values + self._draws.noise(values.shape[1], np.random.default_rng(random_state)))

    def _values(self, X: ArrayLike) -> Float:
        rows = self._model._rows_of_functions(X)
        return self._draws.values(online.rows_to_predict(self._model.model_, rows, self._horizon))

    def _in_user_units(self, values: Float) -> Float:
        scaling = self._model.model_.scaling
        values = scaling.y_mean + scaling.y_scale * values
        return values[..., 0] if self._model.single_output_ else values
