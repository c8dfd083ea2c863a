"""What all River models share: settings, features that come and go, and a model that starts with the first label."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from iegp._imports import optional
from iegp.adapters.columns import Columns
from iegp.core import model as online
from iegp.core.editing.columns import add_columns
from iegp.core.kernels import RBF, Kernel
from iegp.core.model import Online
from iegp.core.settings import Settings
from iegp.errors import InputError
from iegp.estimators import parameters
from iegp.typing import Float

if TYPE_CHECKING:
    import pandas as pd

Features = Mapping[Any, Any]
Read = Callable[[Columns, Any], tuple[Float, list[Hashable]]]


class RiverModel(base.Estimator):
    """A River estimator around a model in the middle of a stream. Subclasses say what the labels are."""

    seed: int | None

    def _reset(self) -> None:
        """Nothing seen yet. Arguments are checked here, so that a wrong one is an error where it was written."""
        self._model: Online | None = None
        self._columns = Columns()
        check_seed(self.seed)
        self._settings(seed=0)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """A small ensemble, so that River's checks are quick."""
        yield {"kernels": (RBF(1.0), RBF("dimension")), "n_frequencies": 5, "drift_var": (0.0, 1e-2), "warmup": 64}

    # -- for subclasses --------------------------------------------------------------------------------------------

    def _likelihood(self) -> str:
        """What the labels are, in the words of the core."""
        raise NotImplementedError

    def _default_kernels(self) -> tuple[Kernel, ...]:
        raise NotImplementedError

    def _n_outputs(self) -> int:
        """Outputs or classes of a model that starts now."""
        return 1

    # -- starting and growing --------------------------------------------------------------------------------------

    def _settings(self, seed: int | None) -> Settings:
        # Orthogonal features couple the columns, and here columns come and go.
        own = self._get_params() | {"features": "random", "random_state": seed, "learn_warmup": True}
        settings = parameters.settings_from(own, self._default_kernels(), self._likelihood())
        for kernel in settings.kernels:
            if isinstance(kernel.length_scale, tuple):
                raise InputError(
                    f"{kernel!r:.200} has a length scale per column, but in River features come and go; give one "
                    "number, or 'per-dimension' to have them fitted"
                )
        return settings

    def _ready(self, read: Read, x: Any) -> tuple[Online, Columns, Float]:
        """A model that knows every feature of ``x``, its columns, and the rows; ``self`` is left as it was."""
        columns, model = self._columns, self._model
        rows, new = read(columns, x)
        if model is not None and not new:
            return model, columns, rows
        n_known = len(columns.names)
        columns = columns.with_names(new)
        rows, _ = read(columns, x)
        if model is None:
            settings, keys = self._settings(self.seed), columns.keys
            model = online.begin(settings, len(keys), self._n_outputs(), keys, fills_gaps=True)
        else:
            model = add_columns(model, columns.keys[n_known:], rows[0, n_known:])
        return model, columns, rows

    def _learn_numbers(self, read: Read, x: Any, labels: Float) -> None:
        """Learn rows whose labels are numbers; nothing changes unless every row went well."""
        model, columns, rows = self._ready(read, x)
        online.absorb(model, rows, labels)
        self._model, self._columns = model, columns

    # -- predicting ------------------------------------------------------------------------------------------------

    def _asked(self, read: Read, x: Any) -> tuple[Online, Float]:
        """A model to ask and the rows to ask it about: before any label, the prior, which is the same everywhere."""
        rows, _ = read(self._columns, x)
        if self._model is not None:
            return self._model, rows
        prior = online.begin(self._settings(seed=0), 1, self._n_outputs(), fills_gaps=True)
        return prior, np.full((len(rows), 1), np.nan)

    # -- looking ---------------------------------------------------------------------------------------------------

    @property
    def n_samples_seen(self) -> int:
        """Rows learned so far."""
        return 0 if self._model is None else self._model.n_seen

    @property
    def feature_names(self) -> tuple[Hashable, ...]:
        """Features seen so far, in the order of their columns."""
        return self._columns.names


def check_seed(seed: object) -> None:
    """A seed is a whole number, or None."""
    if seed is None:
        return
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"seed={seed!r} must be a whole number of at least 0, or None for another model each time")


def frozen(value: Any) -> Any:
    """Lists and arrays as tuples: nobody can change an argument once it was given."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return tuple(frozen(item) for item in value) if isinstance(value, list | tuple) else value


def as_draft(model: Online) -> Online:
    """A copy that may be changed step by step and thrown away if a step fails."""
    return replace(model, state=model.state.copy())


def series(values: Any, X: pd.DataFrame) -> pd.Series:
    """One value per row of ``X``."""
    return optional("pandas", "predict_many").Series(values, index=X.index)


def frame(values: Float, columns: list[Any], X: pd.DataFrame) -> pd.DataFrame:
    """One row per row of ``X``."""
    return optional("pandas", "predict_proba_many").DataFrame(values, index=X.index, columns=columns)
