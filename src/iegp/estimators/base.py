"""What all estimators share: looking at the experts, storing, and starting a model."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from iegp.core import model as online
from iegp.core.compute.threads import n_threads_from
from iegp.core.model import Online
from iegp.core.predictions import Predictions
from iegp.core.settings import Settings
from iegp.errors import ModelFileError
from iegp.estimators import parameters
from iegp.estimators.experts_table import ExpertTable, experts_of
from iegp.storage import ensemble_state as snapshot
from iegp.storage import model_file as modelfile
from iegp.typing import Arrays, Float


class StreamEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator around a model in the middle of a stream. Subclasses check labels and say what they mean."""

    _online: Online

    # -- looking ---------------------------------------------------------------------------------------------------

    @property
    def expert_weights_(self) -> Float:
        """How much each expert is trusted now, (n_experts,)."""
        check_is_fitted(self)
        return np.exp(self._online.state.log_weights)

    @property
    def experts_(self) -> ExpertTable:
        """Who is in the ensemble, in the order of ``expert_weights_``; prints as a table, most trusted first."""
        check_is_fitted(self)
        return experts_of(self._online)

    @property
    def n_samples_seen_(self) -> int:
        """Rows learned so far."""
        check_is_fitted(self)
        return self._online.n_seen

    # -- storing ---------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a safetensors file, atomically. :func:`iegp.load` brings it back, to the bit."""
        header: dict[str, Any] = {
            "estimator": type(self).__name__,
            "iegp": version("iegp"),
            "parameters": parameters.to_config(self.get_params(deep=False)),
            "online": None,
        }
        arrays: Arrays = {}
        if self.__sklearn_is_fitted__():
            header["online"], arrays = snapshot.take(self._online)
            header |= self._own_header()
            names = getattr(self, "feature_names_in_", None)
            header["feature_names"] = None if names is None else [str(name) for name in names]
        modelfile.write(path, header, arrays)

    def _own_header(self) -> dict[str, Any]:
        """What a subclass has to store beyond the core's model."""
        raise NotImplementedError

    def _restore_own(self, model: Online, header: dict[str, Any]) -> None:
        """Take back what :meth:`_own_header` gave, after checking that it fits the model."""
        raise NotImplementedError

    def _restore(self, model: Online, header: dict[str, Any]) -> None:
        names = header["feature_names"]
        if model.settings.likelihood not in self._likelihoods():
            raise ModelFileError(f"a {type(self).__name__} cannot have the likelihood {model.settings.likelihood!r}")
        self._restore_own(model, header)
        if names is not None:
            if (
                not isinstance(names, list)
                or len(names) != model.n_columns
                or not all(isinstance(n, str) for n in names)
            ):
                raise ModelFileError(f"feature_names is not a list of {model.n_columns} names")
            self.feature_names_in_ = np.array(names, dtype=object)
        self._online, self.n_features_in_ = model, model.n_columns

    # -- for subclasses --------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_online")

    def _likelihoods(self) -> tuple[str, ...]:
        """Names of the likelihoods that a model of this class may have."""
        raise NotImplementedError

    def _settings(self, n_outputs: int) -> Settings:
        """Checked constructor arguments, for so many outputs or classes."""
        raise NotImplementedError

    def _start(self, n_columns: int, n_outputs: int) -> None:
        """A model that has seen nothing takes the place of any that was there."""
        self._online = online.begin(self._settings(n_outputs), n_columns, n_outputs)

    def _absorb(self, rows: Float, labels: Float) -> None:
        online.absorb(self._online, rows, labels, n_threads_from(self.get_params(deep=False)["n_jobs"]))

    def _warm_up(self, rows: Float, labels: Float) -> None:
        self._online = online.warmed_up(self._online.settings, rows, labels, self._online.n_outputs)

    def _learn(self, rows: Float, labels: Float, level: float | None = None) -> Predictions:
        return online.learn(self._online, rows, labels, n_threads_from(self.get_params(deep=False)["n_jobs"]), level)
