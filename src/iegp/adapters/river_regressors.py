"""Online ensemble GP regression, of numbers and of counts, as River models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from numpy.typing import ArrayLike
from river import base

from iegp._docstrings import fill_docstrings
from iegp._writers import one_writer
from iegp.adapters.columns import Columns
from iegp.adapters.predicted import Predicted, PredictedCount
from iegp.adapters.river_base import Features, Read, RiverEnsemble, one_per_row, series
from iegp.adapters.shared_docs import RIVER
from iegp.core import model as online
from iegp.core.predictive.mixture import Mixture
from iegp.estimators.count_regressor import IEGPCountRegressor
from iegp.estimators.defaults import LIGHT, LIGHT_COUNTS
from iegp.estimators.regressor import IEGPRegressor
from iegp.labels import CountLabels, NumberLabels, as_exposure, weighted
from iegp.typing import Float

if TYPE_CHECKING:
    import pandas as pd


class NumberModel(RiverEnsemble, base.MiniBatchRegressor):
    """Base of the River regressors."""

    @one_writer
    def _learn(self, read: Read, x: Any, labels: Float, w: ArrayLike) -> None:
        x, times = self._split(x)
        model, columns, rows = self._ready(read, x)
        online.absorb(model, rows, weighted(labels, w, "w"), time=times)
        self._keep(model, columns)


@fill_docstrings(RIVER)
class RiverRegressor(NumberModel, estimator=IEGPRegressor):
    """Gaussian-process regression that learns row by row, with predictive distributions, for River.

    The model of :class:`iegp.IEGPRegressor` with ``features="random"``. Features may appear and vanish: an absent one
    counts as the centre of its column. Scaling is built in; no scaler is needed before it.

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

    _light = LIGHT

    @overload
    def predict_one(self, x: Features, with_dist: Literal[False] = ...) -> float: ...
    @overload
    def predict_one(self, x: Features, with_dist: Literal[True]) -> Predicted: ...
    def predict_one(self, x: Features, with_dist: bool = False) -> float | Predicted:
        """Predict the target of a row. Before the first label this is the prior. Changes nothing.

        {parameters}

        Returns
        -------
        float or Predicted
            Predictive mean, or the distribution of y, observation noise included.
        """
        if not self._is_fitted and not with_dist:
            self._columns.read_row(self._split(x)[0])  # raises an error for a bad row
            return 0.0
        estimator, rows, times = self._asked(Columns.read_row, x)
        dist = estimator.predict_dist(rows, check_input=False, time=times)
        return self._predicted(estimator, dist) if with_dist else float(dist.mean[0])

    def _predicted(self, estimator: IEGPRegressor, dist: Mixture) -> Predicted:
        model = estimator.model_
        levels = model.settings.conformal
        ends = {level: online.interval(model, dist, level) for level in levels}
        return Predicted(dist, {level: (float(low[0, 0]), float(high[0, 0])) for level, (low, high) in ends.items()})

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Predict the targets of rows, each as if it came next. Changes nothing.

        {parameters}

        Returns
        -------
        pandas.Series (n,)
            Predictive means, with the index of X.
        """
        estimator, rows, times = self._asked(Columns.read_frame, X)
        return series(estimator.predict(rows, check_input=False, time=times), X)

    def _first_codec(self) -> NumberLabels:
        return NumberLabels()


@fill_docstrings(RIVER)
class RiverCountRegressor(NumberModel, estimator=IEGPCountRegressor):
    """Gaussian-process regression of counts that learns row by row, for River.

    The model of :class:`iegp.IEGPCountRegressor` with ``features="random"``. Features may appear and vanish, as for
    :class:`RiverRegressor`. A row may have an *exposure*: the time, area or population over which it is counted.

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

    _light = LIGHT_COUNTS

    def learn_one(self, x: Features, y: float, exposure: float = 1.0, w: float = 1.0) -> None:  # type: ignore[override]
        """Learn a row.

        {parameters: count}
        """
        self._learn(Columns.read_row, x, self._estimator.labels_.encode([y], exposure), w)

    def learn_many(  # type: ignore[override]
        self, X: pd.DataFrame, y: pd.Series, exposure: ArrayLike | None = None, w: ArrayLike = 1.0
    ) -> None:
        """Learn rows in order: the same model as with :meth:`learn_one`, in less time.

        {parameters: exposure_per_row, w_per_row}
        """
        if len(X):
            self._learn(Columns.read_frame, X, self._estimator.labels_.encode(one_per_row(y, X), exposure), w)

    @overload
    def predict_one(self, x: Features, with_dist: Literal[False] = ..., exposure: float = ...) -> float: ...
    @overload
    def predict_one(self, x: Features, with_dist: Literal[True], exposure: float = ...) -> PredictedCount: ...
    def predict_one(self, x: Features, with_dist: bool = False, exposure: float = 1.0) -> float | PredictedCount:
        """Predict the count of a row. Before the first label this is the prior. Changes nothing.

        {parameters}

        Returns
        -------
        float or PredictedCount
            Mean count under the exposure, or the distribution of the count.
        """
        estimator, rows, times = self._asked(Columns.read_row, x)
        dist = estimator.predict_dist(rows, exposure, check_input=False, time=times)
        return PredictedCount(dist) if with_dist else float(dist.mean[0])

    def predict_many(self, X: pd.DataFrame, exposure: ArrayLike | None = None) -> pd.Series:
        """Predict the counts of rows, each as if it came next. Changes nothing.

        {parameters: exposure_per_row}

        Returns
        -------
        pandas.Series (n,)
            Mean counts, with the index of X.
        """
        shares = as_exposure(exposure, len(X))
        estimator, rows, times = self._asked(Columns.read_frame, X)
        return series(estimator.predict(rows, shares, check_input=False, time=times), X)

    def _first_codec(self) -> CountLabels:
        return CountLabels()
