"""Base classes of the River models: an estimator and its arguments, and features that appear and vanish."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from inspect import Parameter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from river import base

from iegp._docstrings import fill_docstrings
from iegp._imports import optional
from iegp.adapters.columns import Columns
from iegp.adapters.constructor import SEED, arguments_of, constructor, documented
from iegp.adapters.shared_docs import RIVER
from iegp.core import model as online
from iegp.core.editing.columns import add_columns
from iegp.core.kernels import RBF
from iegp.core.model import Online
from iegp.errors import InputError
from iegp.estimators.base import ModelEstimator
from iegp.estimators.times import as_times
from iegp.labels import Codec
from iegp.typing import Float

if TYPE_CHECKING:
    import pandas as pd

Features = Mapping[Any, Any]
Read = Callable[[Columns, Any], tuple[Float, list[Hashable]]]

# Orthogonal features couple the columns, and in River columns appear and vanish.
FIXED = {"features": "random", "learn_warmup": True, "n_jobs": None}


class RiverModel(base.Estimator):
    """A River model around an estimator.

    A subclass gives its ``estimator``, the arguments of it that are ``fixed``, ``defaults`` that differ, and its own
    arguments that come ``first``; constructor and docstring are made from these.
    """

    seed: int | None
    _estimator: Any
    _columns: Columns
    _estimator_class: type[ModelEstimator]
    _fixed: Mapping[str, Any]
    _shared: tuple[str, ...]

    def __init_subclass__(
        cls,
        estimator: type[ModelEstimator] | None = None,
        fixed: Mapping[str, Any] = FIXED,
        defaults: Mapping[str, Any] | None = None,
        first: tuple[Parameter, ...] = (),
        **options: Any,
    ) -> None:
        super().__init_subclass__(**options)
        if estimator is None:
            return
        arguments = arguments_of(estimator, fixed, defaults or {})
        cls._estimator_class, cls._fixed = estimator, fixed
        cls._shared = tuple(argument.name for argument in arguments if argument.name not in SEED.values())
        cls.__init__ = constructor([*first, *arguments])  # type: ignore[method-assign]
        cls.__doc__ = documented(cls.__doc__, estimator.__doc__, arguments)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # The constructor of each subclass is made from that of its estimator.
        raise NotImplementedError

    def _start(self) -> None:
        """Start with no rows learned. Arguments are checked here, so that the constructor raises the error."""
        if self.seed is not None and not _is_seed(self.seed):
            raise InputError(
                f"seed={self.seed!r} must be a whole number of at least 0, or None for another model each time"
            )
        self._columns = Columns()
        self._estimator = self._fresh(self.seed)

    def _fresh(self, seed: int | None) -> Any:
        """An estimator that has learned nothing."""
        given = {name: getattr(self, name) for name in self._shared}
        return self._estimator_class(**given, **self._fixed, random_state=seed)

    @property
    def n_samples_seen(self) -> int:
        """Rows learned so far."""
        return self._estimator.n_samples_seen_ if self._is_fitted else 0

    @property
    def feature_names(self) -> tuple[Hashable, ...]:
        """Features seen so far, in the order of their columns."""
        return self._columns.names

    @property
    def _is_fitted(self) -> bool:
        return hasattr(self._estimator, "model_")


@fill_docstrings(RIVER)
class RiverEnsemble(RiverModel):
    """A River model that learns labels. Subclasses define the kind of label."""

    _light: Mapping[str, Any]
    """Arguments of the small model."""

    @classmethod
    def light(cls, seed: int | None = None, **overrides: Any) -> Self:
        """Make a small model that is fast from the first row on, as :func:`iegp.presets.light`.

        Parameters
        ----------
        seed : int or None, default=None
            Seed of the frequencies.
        **overrides : object
            Arguments of the constructor that replace those of the preset.

        Returns
        -------
        River model
            Of this class, which has learned nothing.

        Examples
        --------
        >>> from iegp.adapters import RiverClassifier, RiverRegressor
        >>> model = RiverRegressor.light(seed=0)
        >>> model.n_frequencies, model.warmup
        (50, 256)
        >>> RiverClassifier.light(seed=0).n_frequencies
        50
        """
        return cls(**{**cls._light, **overrides}, seed=seed)

    def _start(self) -> None:
        super()._start()
        self._estimator.labels_ = self._first_codec()
        self._settings_of(self._fresh(seed=0))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """A small ensemble, so that River's checks are quick."""
        yield {"kernels": (RBF(1.0), RBF("dimension")), "n_frequencies": 5, "drift_var": (0.0, 1e-2), "warmup": 64}

    def _first_codec(self) -> Codec:
        """The codec of labels before any is seen."""
        raise NotImplementedError

    # -- learning --------------------------------------------------------------------------------------------------

    def learn_one(self, x: Features, y: Any, w: float = 1.0) -> None:
        """Learn a row.

        {parameters: label}
        """
        self._learn(Columns.read_row, x, self._encoded([y]), w)

    def learn_many(self, X: pd.DataFrame, y: pd.Series, w: ArrayLike = 1.0) -> None:
        """Learn rows in order: the same model as with :meth:`learn_one`, in less time.

        {parameters: w_per_row}
        """
        if len(X):
            self._learn(Columns.read_frame, X, self._encoded(one_per_row(y, X)), w)

    def _encoded(self, labels: Any) -> Any:
        """Labels, checked, as :meth:`_learn` takes them."""
        return self._estimator.labels_.encode(labels)

    def _learn(self, read: Read, x: Any, labels: Any, w: ArrayLike) -> None:
        """Learn rows with their weights; an error in any row leaves the model unchanged."""
        raise NotImplementedError

    # -- starting and growing --------------------------------------------------------------------------------------

    def _settings_of(self, estimator: Any) -> Any:
        settings = estimator.settings(self._estimator.labels_.n_outputs)
        if (settings.drift_per == "time") != (estimator.time_column is not None):
            raise InputError(
                f"drift_per={settings.drift_per!r} with time_column={estimator.time_column!r}: drift per unit of time "
                "needs the name of the feature that holds the time, and drift per row has none"
            )
        for kernel in settings.kernels:
            if any(isinstance(getattr(term, "length_scale", None), tuple) for term in kernel.terms):
                raise InputError(
                    f"{kernel!r:.200} has a length scale per column, but in River features appear and vanish; give one "
                    "number, or 'per-dimension' to have them fitted"
                )
        return settings

    def _split(self, x: Any) -> tuple[Any, Float | None]:
        """A row or a frame without the feature that holds the time, and the times."""
        name = self._estimator.time_column
        if name is None:
            return x, None
        if isinstance(x, Mapping):
            _require_time(name in x, name)
            return {own: value for own, value in x.items() if own != name}, as_times([x[name]])
        _require_time(hasattr(x, "iloc") and name in x.columns, name)
        return x.drop(columns=[name]), as_times(x[name])

    def _ready(self, read: Read, x: Any) -> tuple[Online, Columns, Float]:
        """A model that has a column for every feature of ``x``, its columns, and the rows; ``self`` is unchanged."""
        columns = self._columns
        rows, new = read(columns, x)
        if self._is_fitted and not new:
            return self._estimator.model_, columns, rows
        n_known = len(columns.names)
        columns = columns.with_names(new)
        rows, _ = read(columns, x)
        keys = columns.keys
        if self._is_fitted:
            return add_columns(self._estimator.model_, keys[n_known:], rows[0, n_known:]), columns, rows
        settings, n_outputs = self._settings_of(self._estimator), self._estimator.labels_.n_outputs
        return online.begin(settings, len(keys), n_outputs, keys, fills_gaps=True), columns, rows

    def _keep(self, model: Online, columns: Columns) -> None:
        self._estimator.model_, self._columns = model, columns

    def _asked(self, read: Read, x: Any) -> tuple[Any, Float, Float | None]:
        """An estimator, the rows to predict and their times.

        Before the first label it is the prior, which is the same for all rows.
        """
        x, times = self._split(x)
        rows, _ = read(self._columns, x)
        if self._is_fitted:
            return self._estimator, rows, times
        prior = self._fresh(seed=0)
        prior.labels_ = self._estimator.labels_
        prior.model_ = online.begin(self._settings_of(prior), 1, prior.labels_.n_outputs, fills_gaps=True)
        return prior, np.full((len(rows), 1), np.nan), times


def _require_time(is_there: bool, name: Hashable) -> None:
    if not is_there:
        raise InputError(
            f"there is no feature {name!r}, which holds the time (time_column); every row needs it. The model is "
            "unchanged."
        )


def _is_seed(seed: object) -> bool:
    return isinstance(seed, int | np.integer) and not isinstance(seed, bool) and bool(seed >= 0)


def one_per_row(y: Any, X: pd.DataFrame) -> Any:
    """Labels of the rows of a frame, as an array or a list."""
    labels = np.asarray(y) if hasattr(y, "__array__") else list(y)
    if len(labels) != len(X):
        raise InputError(
            f"y has {len(labels)} entries, but X has {len(X)} rows; pass one per row. The model is unchanged."
        )
    return labels


def as_draft(model: Online) -> Online:
    """A copy that is changed step by step and discarded if a step fails."""
    return replace(model, state=model.state.copy())


def series(values: Any, X: pd.DataFrame) -> pd.Series:
    """One value per row of ``X``."""
    return optional("pandas", "predict_many").Series(values, index=X.index)


def frame(values: Float, columns: list[Any], X: pd.DataFrame) -> pd.DataFrame:
    """One row per row of ``X``."""
    return optional("pandas", "predict_proba_many").DataFrame(values, index=X.index, columns=columns)
