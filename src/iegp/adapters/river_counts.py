"""Online ensemble GP regression of counts as a River model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from numpy.typing import ArrayLike
from river import base

from iegp.adapters import targets
from iegp.adapters.columns import Columns
from iegp.adapters.predicted import PredictedCount
from iegp.adapters.river_base import Features, RiverModel, frozen, series
from iegp.core import model as online
from iegp.core.kernels import Kernel
from iegp.estimators.count_regressor import check_exposure
from iegp.estimators.defaults import CLASS_KERNELS, COUNT_DRIFT_VAR, N_FREQUENCIES

if TYPE_CHECKING:
    import pandas as pd


class RiverCountRegressor(RiverModel, base.MiniBatchRegressor):
    """Gaussian-process regression of counts that learns row by row, for River.

    The model of :class:`iegp.IEGPCountRegressor` with ``features="random"``. Features may appear and vanish, as for
    :class:`RiverRegressor`. A row may have an *exposure*: the time, area or population over which it was counted.

    Parameters
    ----------
    kernels
        From :mod:`iegp.kernels`; ``None`` is a dictionary that works well untuned.
    n_frequencies
        Random frequencies per expert.
    drift_var
        Variance of the random walk of an expert's log rate, per row.
    weights
        How experts are weighed: ``"stacking"``, ``"bayes"`` or ``"switching"``.
    switch_prob
        Only with ``weights="switching"``.
    stacking_rate
        Only with ``weights="stacking"``.
    shutdown
        Only with ``weights="bayes"``.
    prior_var
        Variance of an expert's log rate.
    overdispersion
        Log variance of the noise that multiplies each rate; 0 is Poisson.
    integration
        ``"quadrature"`` or ``"monte-carlo"``.
    warmup
        Rows from which scaling and hyperparameters are found.
    standardize
        Whether features are brought to mean 0 and variance 1 by the warm-up rows.
    seed
        Seed of the frequencies.

    Examples
    --------
    >>> from iegp.adapters import RiverCountRegressor
    >>> from iegp.kernels import RBF
    >>> model = RiverCountRegressor(kernels=[RBF(1.0)], n_frequencies=10, warmup=50, seed=0)
    >>> for hour in range(200):
    ...     model.learn_one({"hour": hour % 24}, 5 if 8 <= hour % 24 < 20 else 0)
    >>> model.predict_one({"hour": 14}) > 3 > model.predict_one({"hour": 2})
    True
    >>> dist = model.predict_one({"hour": 14}, with_dist=True, exposure=2.0)
    >>> 7 < dist.mu < 13, dist.quantile(0.9) > 10
    (True, True)
    """

    def __init__(
        self,
        kernels: Sequence[Kernel] | None = None,
        n_frequencies: int = N_FREQUENCIES,
        drift_var: float | Sequence[float] = COUNT_DRIFT_VAR,
        weights: str = "stacking",
        switch_prob: float | ArrayLike = 0.01,
        stacking_rate: float = 0.1,
        shutdown: float = 1e-16,
        prior_var: float | str = "evidence",
        overdispersion: float | str = "evidence",
        integration: str = "quadrature",
        warmup: int = 1000,
        standardize: bool = True,
        seed: int | None = None,
    ) -> None:
        self.kernels = frozen(kernels)
        self.n_frequencies = n_frequencies
        self.drift_var = frozen(drift_var)
        self.weights = weights
        self.switch_prob = frozen(switch_prob)
        self.stacking_rate = stacking_rate
        self.shutdown = shutdown
        self.prior_var = prior_var
        self.overdispersion = overdispersion
        self.integration = integration
        self.warmup = warmup
        self.standardize = standardize
        self.seed = seed
        self._reset()

    def learn_one(self, x: Features, y: float, exposure: float = 1.0) -> None:
        """Learn a row, counted over ``exposure``."""
        label = np.array([[targets.count(y), check_exposure(exposure, 1)[0]]])
        self._learn_numbers(Columns.read_row, x, label)

    def learn_many(self, X: pd.DataFrame, y: pd.Series, exposure: ArrayLike | None = None) -> None:
        """Learn rows in order, as if one by one but quicker; ``exposure`` has a number per row."""
        if len(X):
            labels = np.column_stack([targets.counts(y, len(X)), check_exposure(exposure, len(X))])
            self._learn_numbers(Columns.read_frame, X, labels)

    @overload
    def predict_one(self, x: Features, with_dist: Literal[False] = ..., exposure: float = ...) -> float: ...
    @overload
    def predict_one(self, x: Features, with_dist: Literal[True], exposure: float = ...) -> PredictedCount: ...
    def predict_one(self, x: Features, with_dist: bool = False, exposure: float = 1.0) -> float | PredictedCount:
        """Mean count under ``exposure``; ``with_dist`` gives the whole distribution. Before any label, the prior's."""
        dist = online.predict_counts(*self._asked(Columns.read_row, x), check_exposure(exposure, 1))
        return PredictedCount(dist) if with_dist else float(dist.mean[0])

    def predict_many(self, X: pd.DataFrame, exposure: ArrayLike | None = None) -> pd.Series:
        """Mean counts of the rows, each as if it came next."""
        shares = check_exposure(exposure, len(X))
        return series(online.predict_counts(*self._asked(Columns.read_frame, X), shares).mean, X)

    def _likelihood(self) -> str:
        return "poisson"

    def _default_kernels(self) -> tuple[Kernel, ...]:
        return CLASS_KERNELS
