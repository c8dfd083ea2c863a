"""Forecasts of a series: one model per horizon, learned online."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from iegp._docstrings import entries, fill_docstrings
from iegp._writers import one_writer
from iegp.core.settings import check_whole
from iegp.errors import InputError, ModelFileError
from iegp.estimators import forecast_checks as checks
from iegp.estimators import forecast_inputs as inputs
from iegp.estimators import forecast_storage, parameters
from iegp.estimators.checks import check_level, unchanged_on_error
from iegp.estimators.defaults import FORECAST, FORECAST_LAGS, forecast_kernels
from iegp.estimators.forecast_answers import (
    FIELDS,
    LABEL,
    MEAN,
    arrive,
    drawn,
    no_answers,
    normal_scores,
    widened,
)
from iegp.estimators.forecast_inputs import Lookback
from iegp.estimators.regressor import IEGPRegressor
from iegp.estimators.shared_docs import METHODS
from iegp.estimators.storage import naming_file
from iegp.estimators.times import as_times
from iegp.evaluate.forecasts import ForecastRun
from iegp.evaluate.runs import LEVEL
from iegp.storage import model_file
from iegp.typing import Float

DOCS = (
    METHODS
    | entries("""
y : array-like (n,)
    The next values.
X : array-like (n, d), default=None
    As in :meth:`fit`.
time : array-like (n,), default=None
    As in :meth:`fit`.
horizon : int, default=None
    As in :meth:`predict`.
""")
    | {
        "X_to_predict": "X : array-like (horizon, d), default=None\n    As in :meth:`predict`.",
    }
)


class _Rows(NamedTuple):
    """Checked rows of a series."""

    y: Float
    X: Float
    """(n, d); d may be 0."""
    time: Float | None


@fill_docstrings(DOCS)
@dataclass(eq=False, repr=False, kw_only=True)
class IEGPForecaster(BaseEstimator):  # type: ignore[misc]
    """Forecasts of a series, one to ``horizon`` rows ahead, that learn from every new row.

    Each horizon has an ensemble of its own, which predicts the change from the newest value to that row. Its inputs are
    the newest values, the values one and two seasons before the target, the phase of the target in each season, the
    calendar if times are given, and columns of X that are known beforehand. A forecast from row t uses labels up to
    row t alone, in :meth:`prequential` too. Widths of the intervals follow how often labels of that horizon were
    outside. Cost per row and memory are constant.

    Parameters
    ----------
    horizon : int, default=24
        How many rows ahead are forecast.
    lags : int, sequence of int or None, default=None
        Earlier values as inputs: so many before the newest, or how many rows before it they are. ``None`` is 5.
    season : int, sequence of int or None, default=None
        Rows per season: 24 for hourly rows with a daily pattern, (24, 168) with a weekly one too. ``None``: no season.
    level : float, default=0.95
        Probability of the intervals, whose width is adapted to it.
    regressor : IEGPRegressor, default=None
        Whose settings the models have; its delay is set here, and it has no lags of its own. ``None`` is an ensemble
        of linear functions of the inputs.
    random_state : int, RandomState or None, default=None
        Seed of the models without a ``regressor``, and of the paths of :meth:`sample_paths`.

    Attributes
    ----------
    models_ : list of IEGPRegressor
        The models, by horizon.
    n_samples_seen_ : int
        Rows learned so far.
    correlation_ : ndarray (horizon, horizon)
        Dependence between the horizons of one forecast, as correlation of normal scores.

    Examples
    --------
    >>> import numpy as np
    >>> from iegp import IEGPForecaster
    >>> t = np.arange(200)
    >>> y = np.sin(2 * np.pi * t / 12) + 0.1 * np.random.default_rng(0).standard_normal(200)
    >>> model = IEGPForecaster(horizon=3, season=12, random_state=0).fit(y)
    >>> bool(np.abs(model.predict() - np.sin(2 * np.pi * np.arange(200, 203) / 12)).max() < 0.3)
    True
    >>> lower, upper = model.predict_interval(level=0.9)
    >>> model.sample_paths(5).shape
    (5, 3)
    """

    horizon: int = field(default=24, kw_only=False)
    lags: int | Sequence[int] | None = None
    season: int | Sequence[int] | None = None
    level: float = LEVEL
    regressor: IEGPRegressor | None = None
    random_state: int | np.random.RandomState | None = None
    models_: list[IEGPRegressor] = field(init=False)

    # -- learning --------------------------------------------------------------------------------------------------

    @one_writer
    def fit(self, y: ArrayLike, X: ArrayLike | None = None, time: ArrayLike | None = None) -> Self:
        """Forget everything, then learn the rows in order.

        Parameters
        ----------
        y : array-like (n,)
            The series, finite numbers at equal distances in time.
        X : array-like (n, d), default=None
            What is known of each row before it comes, such as holidays or prices; :meth:`predict` then needs the
            coming rows. What is known only with y must be shifted by ``horizon`` rows first.
        time : array-like (n,), default=None
            Times of the rows, increasing: datetimes, or seconds since 1970. Time of day and day of week become inputs.

        {returns_self}
        """
        with unchanged_on_error(self):
            self._begin(X, time)
            self._advance(y, X, time)
        return self

    @one_writer
    def partial_fit(self, y: ArrayLike, X: ArrayLike | None = None, time: ArrayLike | None = None) -> Self:
        """Learn more rows, in order; splitting a series into calls differently gives the same model.

        {parameters}

        {returns_self}
        """
        self.prequential(y, X, time)
        return self

    update = partial_fit

    @one_writer
    def prequential(self, y: ArrayLike, X: ArrayLike | None = None, time: ArrayLike | None = None) -> ForecastRun:
        """Forecast from every origin, then learn: one pass over a series.

        {parameters}

        Returns
        -------
        ForecastRun
            Forecasts from the origins whose last label is among these rows, one for each row after the first
            ``horizon`` of the series; those of several calls can be joined.
        """
        with unchanged_on_error(self):
            if not self.__sklearn_is_fitted__():
                self._begin(X, time)
            return self._advance(y, X, time)

    # -- predicting ------------------------------------------------------------------------------------------------

    def predict(self, horizon: int | None = None, X: ArrayLike | None = None) -> Float:
        """Forecast the next rows: means.

        Parameters
        ----------
        horizon : int, default=None
            How many rows, at most that of the constructor, which is the default.
        X : array-like (horizon, d), default=None
            The columns of the coming rows, if the model has learned with X.

        Returns
        -------
        ndarray (horizon,)
            Predictive means.
        """
        return np.array([last + dist.mean[0] for last, dist, _ in self._distributions(horizon, X)])

    def predict_quantile(self, q: ArrayLike, horizon: int | None = None, X: ArrayLike | None = None) -> Float:
        """Forecast the next rows: values below which they are with probability ``q``.

        Parameters
        ----------
        q : float or array-like (k,)
            Probabilities strictly between 0 and 1.
        {horizon}
        {X_to_predict}

        Returns
        -------
        ndarray (horizon,) or (k, horizon)
            Quantiles.
        """
        found = [_quantile(*parts, np.atleast_1d(q)) for parts in self._distributions(horizon, X)]
        return np.column_stack(found) if np.ndim(q) else np.concatenate(found)

    def predict_interval(
        self, level: float | None = None, horizon: int | None = None, X: ArrayLike | None = None
    ) -> tuple[Float, Float]:
        """Forecast the next rows: central intervals, one horizon at a time.

        Parameters
        ----------
        level : float, default=None
            Probability of the interval; ``None`` is that of the constructor.
        {horizon}
        {X_to_predict}

        Returns
        -------
        lower, upper : ndarray (horizon,)
            Ends of the intervals.
        """
        level = self.level if level is None else level
        check_level(level)
        lower, upper = self.predict_quantile([0.5 - 0.5 * level, 0.5 + 0.5 * level], horizon, X)
        return lower, upper

    def sample_paths(
        self,
        n: int,
        horizon: int | None = None,
        X: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> Float:
        """Draw possible continuations of the series.

        Each row has the distribution of :meth:`predict_quantile`. Rows of one path depend on each other as the labels
        of earlier forecasts did (a Gaussian copula).

        Parameters
        ----------
        n : int
            How many.
        {horizon}
        {X_to_predict}
        random_state : int, RandomState or None, default=None
            Seed; ``None`` is that of the constructor.

        Returns
        -------
        ndarray (n, horizon)
            Paths.
        """
        check_whole("n", n, 1)
        distributions = list(self._distributions(horizon, X))
        seed = check_random_state(self.random_state if random_state is None else random_state).randint(2**31 - 1)
        chances = drawn(self._answers, n, len(distributions), np.random.default_rng(seed))
        return np.column_stack([_quantile(*parts, chances[:, k]) for k, parts in enumerate(distributions)])

    @property
    def n_samples_seen_(self) -> int:
        """Rows learned so far."""
        check_is_fitted(self)
        return self._n_seen

    @property
    def correlation_(self) -> Float:
        """Dependence between the horizons of one forecast, as correlation of normal scores."""
        check_is_fitted(self)
        return self._answers.correlation

    # -- storing ---------------------------------------------------------------------------------------------------

    @one_writer
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, atomically. :meth:`load` restores it bit by bit.

        {parameters: path_to_write}
        """
        own = self.get_params(deep=False)
        if self.regressor is not None:
            own["regressor"] = parameters.to_config(self.regressor.get_params(deep=False))
        own["random_state"] = self.random_state if isinstance(self.random_state, int) else None
        own |= {name: value.tolist() for name, value in own.items() if isinstance(value, np.ndarray)}
        header: dict[str, Any] = {"estimator": type(self).__name__, "iegp": version("iegp"), "parameters": own}
        header["forecast"], arrays = forecast_storage.to_parts(self) if self.__sklearn_is_fitted__() else (None, {})
        model_file.write(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a forecaster saved with :meth:`save`. Nothing in the file is executed.

        {parameters: path_to_read}

        Returns
        -------
        IEGPForecaster
            As it was when it was saved.
        """
        header, arrays = model_file.read(path)
        if header.get("estimator") != cls.__name__:
            raise ModelFileError(f"{os.fspath(path)} holds no forecaster; try iegp.load")
        with naming_file(path):
            forecaster = cls(**forecast_storage.parameters_from(header))
            if header["forecast"] is not None:
                forecast_storage.restore(forecaster, header["forecast"], arrays)
            else:
                forecast_storage.check_unfitted(forecaster)
            return forecaster

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "models_")

    # -- private ---------------------------------------------------------------------------------------------------

    def _begin(self, X: ArrayLike | None, time: ArrayLike | None) -> None:
        """Start anew; arguments of the constructor are read here."""
        check_whole("horizon", self.horizon, 1)
        check_level(self.level)
        self._lookback = self._asked_lookback()
        template = self._template(self._lookback)
        self._n_columns = 0 if X is None else checks.n_columns(X)
        self._n_seen, self._recent, self._answers = 0, np.empty(0), no_answers(self.horizon)
        # The newest time and the least distance between two.
        self._clock = None if time is None else np.array([-np.inf, np.inf])
        self.models_ = [clone(template).set_params(delay=k) for k in range(self.horizon)]

    def _asked_lookback(self) -> Lookback:
        return Lookback(checks.offsets("lags", self.lags, FORECAST_LAGS, 1), checks.lengths(self.season))

    def _template(self, lookback: Lookback) -> IEGPRegressor:
        if self.regressor is None:
            kernels = forecast_kernels(len(lookback.lags), len(lookback.season))
            return IEGPRegressor(kernels, random_state=self.random_state, **FORECAST)
        if not isinstance(self.regressor, IEGPRegressor):
            raise InputError(f"regressor={self.regressor!r:.80} is not an IEGPRegressor; leave it out for the default")
        if self.regressor.drift_per != "row" or self.regressor.delay or self.regressor.lags:
            raise InputError(
                "regressor has delay, lags or drift_per='time', which a forecaster sets itself; unset them"
            )
        template: IEGPRegressor = clone(self.regressor).set_params(lags=0)
        return template

    def _advance(self, y: ArrayLike, X: ArrayLike | None, time: ArrayLike | None) -> ForecastRun:
        """Learn rows; all is replaced at the end, so that an error changes nothing."""
        rows = self._checked(y, X, time)
        models, n_before = deepcopy(self.models_), self._n_seen
        values, first = np.concatenate([self._recent, rows.y]), n_before - len(self._recent)
        beforehand = self._beforehand(rows, n_before)
        new = np.full((len(rows.y), self.horizon, len(FIELDS)), np.nan)
        for k, model in enumerate(models, start=1):
            # Rows whose origin is a row of the series, by their places among the new ones.
            places = np.arange(max(0, k - n_before), len(rows.y))
            if len(places):
                origins = n_before + places - k - first
                known = np.hstack([self._known(values, origins, k), beforehand[places]])
                new[places, k - 1] = self._answer(model, known, values[origins], rows.y[places])
        self._answers, complete = arrive(self._answers, new, n_before, self.level)
        self.models_, self._n_seen = models, n_before + len(rows.y)
        self._recent = values[-(self.horizon + self._lookback.n_rows + 1) :].copy()
        self._note_time(rows.time)
        lower, upper = widened(complete)
        origin = np.arange(len(complete)) + self._n_seen - self.horizon - len(complete)
        return ForecastRun(origin, complete[..., MEAN], lower, upper, complete[..., LABEL], float(self.level))

    def _answer(self, model: IEGPRegressor, known: Float, now: Float, y: Float) -> Float:
        """(n, fields) of forecasts that were due, which the model learns."""
        run = model.prequential(known, y - now, level=self.level, check_input=len(known) == 0 or not _begun(model))
        assert run.pit is not None
        fields = [run.mean + now, run.lower + now, run.upper + now, normal_scores(run.pit), y, np.full(len(y), np.nan)]
        return np.column_stack(fields)

    def _known(self, values: Float, origins: Any, ahead: int) -> Float:
        season = self._lookback.season
        of_target = inputs.of_target(values, origins, ahead, season)
        return np.hstack([of_target, inputs.at_origin(values, origins, self._lookback)])

    def _beforehand(self, rows: _Rows, n_before: int) -> Float:
        """(n, columns): what is known of rows before they come."""
        phase = inputs.of_season(np.arange(n_before, n_before + len(rows.X)), self._lookback.season)
        calendar = np.empty((len(rows.X), 0)) if rows.time is None else inputs.of_calendar(rows.time)
        return np.hstack([phase, calendar, rows.X])

    def _n_inputs(self, ahead: int) -> int:
        """Number of inputs of the model that forecasts so many rows ahead."""
        known = self._known(np.zeros(1), np.zeros(0, dtype=np.int64), ahead)
        times = None if self._clock is None else np.zeros(0)
        beforehand = self._beforehand(_Rows(np.zeros(0), np.zeros((0, self._n_columns)), times), 0)
        return int(known.shape[1] + beforehand.shape[1])

    def _distributions(self, horizon: int | None, X: ArrayLike | None) -> Iterator[tuple[float, Any, float]]:
        """For each horizon: the newest value, the distribution of the change from it, and the factor of its width."""
        check_is_fitted(self)
        n = self.horizon if horizon is None else horizon
        check_whole("horizon", n, 1)
        if n > self.horizon or self._n_seen <= self.horizon:
            raise InputError(
                f"cannot forecast {n} rows ahead: the forecaster has horizon={self.horizon} and has learned "
                f"{self._n_seen} rows, of which it needs more than its horizon; ask for fewer rows, or learn more"
            )
        coming = _Rows(np.empty(0), self._checked_x(X, n), self._coming_times(n))
        beforehand, last = self._beforehand(coming, self._n_seen), np.array([len(self._recent) - 1])
        for k in range(1, n + 1):
            row = np.hstack([self._known(self._recent, last, k), beforehand[k - 1 : k]])
            dist = self.models_[k - 1].predict_dist(row, horizon=k)
            yield float(self._recent[-1]), dist, float(self._answers.width[k - 1])

    # -- checks ----------------------------------------------------------------------------------------------------

    def _checked(self, y: ArrayLike, X: ArrayLike | None, time: ArrayLike | None) -> _Rows:
        values = checks.numbers("y", y)
        if values.ndim != 1 or not len(values):
            raise InputError(f"y has shape {values.shape}; pass one series (n,) with at least one row")
        return _Rows(values, self._checked_x(X, len(values)), self._checked_time(time, len(values)))

    def _checked_x(self, X: ArrayLike | None, n: int) -> Float:
        columns = np.empty((n, 0)) if X is None else checks.numbers("X", X)
        if columns.shape != (n, self._n_columns):
            found = "no X" if X is None else f"X of shape {columns.shape}"
            raise InputError(
                f"{found} was given; the series needs one of shape {(n, self._n_columns)}, as at the start"
            )
        return columns

    def _checked_time(self, time: ArrayLike | None, n: int) -> Float | None:
        if (time is None) != (self._clock is None):
            raise InputError(
                f"time is {'missing' if time is None else 'given'}, but was not so at the start of the series"
            )
        if time is None or self._clock is None:
            return None
        times = as_times(time)
        if times.shape != (n,):
            raise InputError(f"time has shape {times.shape}; pass one time for each of the {n} rows")
        if np.isnan(times).any():
            raise InputError(f"time of row {np.flatnonzero(np.isnan(times))[0]} is missing; fill it in")
        checks.check_order(times, float(self._clock[0]))
        return times

    def _note_time(self, times: Float | None) -> None:
        if times is not None and self._clock is not None:
            steps = np.diff(times, prepend=self._clock[0])
            self._clock = np.array([times[-1], min(self._clock[1], steps.min())])

    def _coming_times(self, n: int) -> Float | None:
        return None if self._clock is None else self._clock[0] + self._clock[1] * np.arange(1, n + 1)


def _begun(model: IEGPRegressor) -> bool:
    return hasattr(model, "model_")


def _quantile(last: float, dist: Any, width: float, q: Float) -> Float:
    """(k,): quantiles of one row, whose distribution is widened around its mean."""
    mean = dist.mean[0]
    return np.asarray(last + mean + width * (dist.quantile(q)[:, 0] - mean))
