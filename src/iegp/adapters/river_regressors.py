"""Online ensemble GP regression, of numbers and of counts, as River models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, overload

from numpy.typing import ArrayLike
from river import base

from iegp.adapters.columns import Columns
from iegp.adapters.predicted import Predicted, PredictedCount
from iegp.adapters.river_base import Features, Read, RiverEnsemble, one_per_row, series
from iegp.core import model as online
from iegp.estimators.count_regressor import IEGPCountRegressor
from iegp.estimators.defaults import LIGHT
from iegp.estimators.regressor import IEGPRegressor
from iegp.labels import CountLabels, NumberLabels, as_exposure
from iegp.typing import Float

if TYPE_CHECKING:
    import pandas as pd


class NumberModel(RiverEnsemble, base.MiniBatchRegressor):
    """A River regressor around an estimator of numbers."""

    def _learn(self, read: Read, x: Any, labels: Float) -> None:
        """Learn rows; nothing changes unless every row went well."""
        model, columns, rows = self._ready(read, x)
        online.absorb(model, rows, labels)
        self._keep(model, columns)


class RiverRegressor(NumberModel, estimator=IEGPRegressor):
    """Gaussian-process regression that learns row by row, with honest uncertainty, for River.

    The model of :class:`iegp.IEGPRegressor` with ``features="random"``. Features may appear and vanish: an absent one
    counts as the centre of its column. Scaling is built in, a scaler before it does no harm.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from iegp.adapters import RiverRegressor
    >>> from iegp.kernels import RBF
    >>> model = RiverRegressor(kernels=[RBF("dimension")], n_frequencies=20, warmup=50, seed=0)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval().take(200), model, metrics.MAE())
    MAE: 0...
    >>> x, y = next(iter(datasets.TrumpApproval()))
    >>> dist = model.predict_one(x, with_dist=True)
    >>> low, high = dist.interval(0.95)
    >>> low < dist.mu < high
    True
    """

    @classmethod
    def light(cls, seed: int | None = None, **overrides: Any) -> Self:
        """A small model that is quick from the first row on, as :func:`iegp.presets.light`; keywords override.

        >>> from iegp.adapters import RiverRegressor
        >>> model = RiverRegressor.light(seed=0)
        >>> model.n_frequencies, model.warmup
        (50, 256)
        """
        return cls(**(LIGHT | overrides), seed=seed)

    def learn_one(self, x: Features, y: float) -> None:
        """Learn a row."""
        self._learn(Columns.read_row, x, self._estimator.labels_.encode([y]))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn rows in order, as if one by one but quicker."""
        if len(X):
            self._learn(Columns.read_frame, X, self._estimator.labels_.encode(one_per_row(y, X)))

    @overload
    def predict_one(self, x: Features, with_dist: Literal[False] = ...) -> float: ...
    @overload
    def predict_one(self, x: Features, with_dist: Literal[True]) -> Predicted: ...
    def predict_one(self, x: Features, with_dist: bool = False) -> float | Predicted:
        """Predictive mean; ``with_dist`` gives the whole distribution of y. Before any label, the prior's."""
        if not self._is_fitted and not with_dist:
            self._columns.read_row(x)  # to be checked all the same
            return 0.0
        estimator, rows = self._asked(Columns.read_row, x)
        dist = estimator.predict_dist(rows, check_input=False)
        return Predicted(dist) if with_dist else float(dist.mean[0])

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Predictive means of the rows, each as if it came next."""
        estimator, rows = self._asked(Columns.read_frame, X)
        return series(estimator.predict(rows, check_input=False), X)

    def _first_codec(self) -> NumberLabels:
        return NumberLabels()


class RiverCountRegressor(NumberModel, estimator=IEGPCountRegressor):
    """Gaussian-process regression of counts that learns row by row, for River.

    The model of :class:`iegp.IEGPCountRegressor` with ``features="random"``. Features may appear and vanish, as for
    :class:`RiverRegressor`. A row may have an *exposure*: the time, area or population over which it was counted.

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

    def learn_one(self, x: Features, y: float, exposure: float = 1.0) -> None:
        """Learn a row, counted over ``exposure``."""
        self._learn(Columns.read_row, x, self._estimator.labels_.encode([y], exposure))

    def learn_many(self, X: pd.DataFrame, y: pd.Series, exposure: ArrayLike | None = None) -> None:
        """Learn rows in order, as if one by one but quicker; ``exposure`` has a number per row."""
        if len(X):
            self._learn(Columns.read_frame, X, self._estimator.labels_.encode(one_per_row(y, X), exposure))

    @overload
    def predict_one(self, x: Features, with_dist: Literal[False] = ..., exposure: float = ...) -> float: ...
    @overload
    def predict_one(self, x: Features, with_dist: Literal[True], exposure: float = ...) -> PredictedCount: ...
    def predict_one(self, x: Features, with_dist: bool = False, exposure: float = 1.0) -> float | PredictedCount:
        """Mean count under ``exposure``; ``with_dist`` gives the whole distribution. Before any label, the prior's."""
        estimator, rows = self._asked(Columns.read_row, x)
        dist = estimator.predict_dist(rows, exposure, check_input=False)
        return PredictedCount(dist) if with_dist else float(dist.mean[0])

    def predict_many(self, X: pd.DataFrame, exposure: ArrayLike | None = None) -> pd.Series:
        """Mean counts of the rows, each as if it came next."""
        shares = as_exposure(exposure, len(X))
        estimator, rows = self._asked(Columns.read_frame, X)
        return series(estimator.predict(rows, shares, check_input=False), X)

    def _first_codec(self) -> CountLabels:
        return CountLabels()
