"""Base classes of all estimators: the core model, learning, attributes of the experts, storing."""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from iegp._compile_ahead import expect
from iegp._docstrings import fill_docstrings
from iegp._writers import one_writer
from iegp.core import model as online
from iegp.core.compute.threads import n_threads_from
from iegp.core.editing.columns import add_columns
from iegp.core.likelihoods import BUILT_IN, named
from iegp.core.model import Online
from iegp.core.predictions import Predictions
from iegp.core.relevance import input_relevance
from iegp.core.settings import Settings
from iegp.core.weighted import Weighted
from iegp.errors import InputError, ModelFileError
from iegp.estimators import parameters
from iegp.estimators.checks import check_x, require_y, unchanged_on_error, unmasked
from iegp.estimators.defaults import Default, EnsembleArguments
from iegp.estimators.experts_table import ExpertTable, experts_of
from iegp.estimators.shared_docs import METHODS
from iegp.estimators.times import as_times, place_of, with_numbers
from iegp.labels import ClassLabels, Codec, Labels, weighted
from iegp.preprocessing.encoder import Encoder
from iegp.preprocessing.tables import check_records, column_names, needs_encoder
from iegp.readers import Batch
from iegp.storage import ensemble_state, model_file
from iegp.storage.memory_limit import check_bytes, describe, expected_bytes
from iegp.storage.schema import count
from iegp.typing import Arrays, Float

# Rows, labels as columns of numbers, and times.
Checked = tuple[Float | Batch, Float, Float | None]


@fill_docstrings(METHODS)
class ModelEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators. The attribute ``model_`` is the model of the core, once rows have been learned."""

    model_: Any
    # Key of the model in the header of a model file, and the module that converts models to and from arrays.
    _part: str
    _storage: Any
    # Place of the column of X that holds times, if there is one.
    _time_place: int | None = None
    # Columns of X beside the times, and what becomes of them, if they are more than numbers.
    _sources: tuple[str, ...] = ()
    _encoder: Encoder | None = None

    def _n_features(self, model: Any) -> int:
        """Columns of X."""
        n_columns = model.n_columns if self._encoder is None else len(self._sources)
        return int(n_columns + (0 if self._time_place is None else 1))

    @property
    def n_samples_seen_(self) -> int:
        """Rows learned so far."""
        return int(self._fitted().n_seen)

    def adopt(self, model: Any, feature_names: Sequence[Any] | None = None) -> None:
        """Use a model of the core as the fitted model.

        Parameters
        ----------
        model : Online or LatentOnline
            Model of the core; its arrays are not copied.
        feature_names : sequence of str, default=None
            Names of the columns.
        """
        # Models of fleets, histories and older files refuse gaps; an estimator takes them.
        self.model_ = replace(model, fills_gaps=True) if isinstance(model, Online) else model
        self.n_features_in_ = self._n_features(model)
        if feature_names is not None:
            self.feature_names_in_ = np.array(feature_names, dtype=object)

    @one_writer
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a safetensors file, atomically. :func:`iegp.load` restores it bit by bit.

        {parameters: path_to_write}
        """
        model_file.write(path, *self.to_parts())

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return the contents of a model file.

        Returns
        -------
        header : dict
            Plain data, ready for JSON.
        arrays : dict of ndarrays
            Arrays of the model; not copies.
        """
        header: dict[str, Any] = {
            "estimator": type(self).__name__,
            "iegp": version("iegp"),
            "parameters": parameters.to_config(self.get_params(deep=False)),
            self._part: None,
        }
        arrays: Arrays = {}
        if self.__sklearn_is_fitted__():
            header[self._part], arrays = self._storage.take(self.model_)
            header |= self._own_header()
            names = getattr(self, "feature_names_in_", None)
            header["feature_names"] = None if names is None else [str(name) for name in names]
        return header, arrays

    def restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        """Restore the result of :meth:`to_parts`; an error where the parts do not fit together.

        Parameters
        ----------
        header, arrays : dict
            As returned by :meth:`to_parts`.
        """
        if header[self._part] is None:
            with contextlib.suppress(InputError):  # of arguments that are refused when a model begins
                check_bytes(*self._requested_memory())
            return
        model, names = self._storage.restore(header[self._part], arrays), header["feature_names"]
        self._restore_own(model, header)
        is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
        n_columns = self._n_features(model)
        if names is not None and not (is_list and len(names) == n_columns):
            raise ModelFileError(f"feature_names is not a list of {n_columns} names")
        self.adopt(model, names)

    def _requested_memory(self) -> tuple[int, str]:
        """Estimate the memory of a model that begins with the constructor arguments.

        Returns
        -------
        n_bytes : int
            At the least: columns that are not known yet count as one.
        parameters : str
            The arguments that decide it.
        """
        raise NotImplementedError

    def _own_header(self) -> dict[str, Any]:
        """Entries of the header beside the model of the core."""
        return {}

    def _restore_own(self, model: Any, header: dict[str, Any]) -> None:
        """Restore the entries of :meth:`_own_header`, after checking that they fit the model."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _fitted(self) -> Any:
        # scikit-learn's check takes longer than many a prediction.
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        return self.model_


class StreamEstimator(ModelEstimator, EnsembleArguments):
    """Base of the estimators that learn labels with an ensemble of experts. Subclasses define the kind of label.

    ``model_`` is the model of the core and ``labels_`` the codec of its labels. The argument ``extra`` of the methods
    here is what a kind of label needs beside y: exposures, or the list of classes.
    """

    model_: Online
    labels_: Codec
    _part, _storage = "online", ensemble_state
    _likelihoods: tuple[str, ...]
    """Names of the likelihoods that a model of this class may have."""
    _default: Default
    _codec: type[Codec]
    _label: str
    """Content of y for each row, for messages."""
    _is_snapshot: bool = False

    # -- experts ---------------------------------------------------------------------------------------------------

    @property
    def expert_weights_(self) -> Float:
        """Current weights of the experts, (n_experts,)."""
        return np.asarray(np.exp(self._fitted().state.log_weights))

    @property
    def experts_(self) -> ExpertTable:
        """The experts, in the order of ``expert_weights_``; printed as a table, largest weight first."""
        return experts_of(self._fitted())

    @property
    def lags_(self) -> tuple[int, ...]:
        """How many rows back the labels are that are inputs; with ``lags="auto"`` chosen when the warm-up ends."""
        return tuple(self._fitted().experts.ensemble.lags.offsets.tolist())

    @property
    def relevance_(self) -> dict[str, float]:
        """How much each input column matters, by name: shares that sum to one, lags of the label last.

        A column is as relevant as the functions of the experts are steep along it, by the length scales of their
        kernels; the weights of the experts average that. Length scales are fitted on the warm-up rows: a column that
        was constant there has a share of 0.
        """
        model, found = self._fitted(), dict.fromkeys(self._own_names(), 0.0)
        shares = input_relevance(model).tolist()
        encoded = list(found) if self._encoder is None else [column.source for column in self._encoder.columns]
        # Lags of classes, and of several outputs, have several inputs each: one after another with every lag.
        lags = [f"lag {offset}" for offset in self.lags_]
        names = [*encoded, *lags * ((len(shares) - len(encoded)) // max(len(lags), 1))]
        for name, share in zip(names, shares, strict=True):
            found[name] = found.get(name, 0.0) + share
        return found

    @property
    def has_encoded_columns(self) -> bool:
        """Whether columns of X hold text, dates or objects, which become several inputs each."""
        return self._encoder is not None

    def _own_names(self) -> list[str]:
        """Names of the columns of X beside the times."""
        return [name for place, name in enumerate(column_names(self)) if place != self._time_place]

    def settings(self, n_outputs: int) -> Settings:
        """Return the checked constructor arguments.

        Parameters
        ----------
        n_outputs : int
            Number of outputs, or of classes.

        Returns
        -------
        Settings
            Settings of the core.
        """
        arguments = self.get_params(deep=False)
        return parameters.settings_from(arguments, self._default, self._likelihood(n_outputs))

    def _requested_memory(self) -> tuple[int, str]:
        # A seed that is drawn would change the state of NumPy's generator.
        arguments = self.get_params(deep=False) | {"random_state": 0}
        settings = parameters.settings_from(arguments, self._default, self._likelihood(2))
        return expected_bytes(settings), describe(settings)

    @one_writer
    def snapshot(self) -> Self:
        """Copy the model for predicting only, for instance in one thread while another continues to learn.

        Take it in the thread that learns, between two calls. It costs a copy of the model's arrays.

        Returns
        -------
        estimator
            Of the same class, as this one is now. It predicts and can be saved, and refuses to learn.
        """
        model = self._fitted()
        taken = copy.copy(self)
        taken.model_, taken._is_snapshot = copy.deepcopy(model), True
        return taken

    # -- learning --------------------------------------------------------------------------------------------------

    @one_writer
    def _fit(self, X: ArrayLike, y: ArrayLike, extra: Any, time: ArrayLike | None) -> Self:
        expect(type(self).__name__)
        with unchanged_on_error(self):
            rows, columns, times = self._begin(X, y, extra, time)
            self._absorb(rows, columns, times)
            online.view_batch(self.model_, self._encoded(rows), columns)
        return self

    @one_writer
    def _partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        extra: Any,
        check_input: bool,
        time: ArrayLike | None,
        sample_weight: ArrayLike | None,
    ) -> Self:
        with unchanged_on_error(self):
            rows, columns, times = self._continue(X, y, extra, check_input, time)
            self._absorb(rows, weighted(columns, sample_weight), times)
        return self

    @one_writer
    def _warm_up(self, X: ArrayLike, y: ArrayLike, extra: Any, time: ArrayLike | None) -> Self:
        with unchanged_on_error(self):
            rows, columns, times = self._begin(X, y, extra, time)
            for _ in self._parts(rows, columns, times):
                pass  # all columns are there before the first row is learned
            self.model_ = online.warm_up(self.model_, self._encoded(rows), columns, times)
        return self

    def _absorb(self, rows: Float | Batch, columns: Float | Weighted, times: Float | None) -> None:
        for part in self._parts(rows, columns, times):
            online.absorb(self.model_, *part[:2], n_threads_from(self.n_jobs), part[2])

    def _predict_and_learn(
        self, rows: Float | Batch, columns: Float | Weighted, times: Float | None, level: float | None = None
    ) -> Predictions:
        """Predict every row, then learn it."""
        n_threads = n_threads_from(self.n_jobs)
        return Predictions.concatenate(
            [online.learn(self.model_, x, y, n_threads, level, t) for x, y, t in self._parts(rows, columns, times)]
        )

    def _parts(
        self, rows: Float | Batch, columns: Float | Weighted, times: Float | None
    ) -> Iterator[tuple[Float, Float | Weighted, Float | None]]:
        """Rows between two changes of the columns; the model has those of a part when it is given."""
        if not isinstance(rows, Batch):
            yield rows, columns, times
            return
        # Copies, which are discarded if a part cannot be learned.
        self.model_ = replace(self.model_, state=self.model_.state.copy())
        assert self._encoder is not None
        self._encoder, start = copy.deepcopy(self._encoder), 0
        while start < len(rows):
            rest, n_seen = rows.part(start, len(rows)), self.model_.n_seen
            n, new = self._encoder.next_growth(rest, np.ones(len(rest), dtype=bool), n_seen)
            if n == 0:
                self._add_columns(*self._encoder.grow(new, rest, n_seen))
                continue
            stop = start + n
            labels = columns.part(start, stop) if isinstance(columns, Weighted) else columns[start:stop]
            yield self._encoder.raw(rest.part(0, n)), labels, None if times is None else times[start:stop]
            start = stop

    def _add_columns(self, first_values: Float, past: Float) -> None:
        d = self.model_.n_columns
        self.model_ = add_columns(self.model_, range(d, d + len(first_values)), first_values, past)

    def _encoded(self, rows: Float | Batch) -> Float:
        """Rows as the model takes them, with the columns that it has."""
        if not isinstance(rows, Batch):
            return rows
        assert self._encoder is not None
        return self._encoder.raw(rows)

    def _begin(self, X: ArrayLike, y: ArrayLike, extra: Any, time: ArrayLike | None = None) -> Checked:
        """Check the first rows, and start a new model in place of any that was there."""
        self._check_learns()
        self._encoder = Encoder() if needs_encoder(with_numbers(X, self.time_column)) else None
        rows, labels = self._check(X, y, extra, reset=True)
        if self.time_column is not None and self.drift_per != "time":
            raise InputError(f"time_column={self.time_column!r} is for drift_per='time'; set that too, or leave it out")
        self._time_place = place_of(self.time_column, getattr(self, "feature_names_in_", None), self.n_features_in_)
        rows, times = self._split(rows, time)
        self.labels_ = self._first_codec(labels, extra)
        columns = self._encode(labels, extra)
        n_outputs = self.labels_.n_outputs
        settings, n_columns = self._begin_columns(rows, self.settings(n_outputs))
        self.model_ = online.begin(settings, n_columns, n_outputs, fills_gaps=True)
        return rows, columns, times

    def _begin_columns(self, rows: Float | Batch, settings: Settings) -> tuple[Settings, int]:
        """Settings and number of columns of a model that starts with these rows."""
        if not isinstance(rows, Batch):
            return settings, rows.shape[1]
        assert self._encoder is not None
        self._sources, self._encoder.n_open = tuple(rows.columns), settings.warmup or self._encoder.n_open
        self._encoder.begin_with(rows)
        if not self._encoder.columns:
            raise InputError(
                "row 0 of X has no value in any column, so nothing is known of them; begin with another row"
            )
        # Orthogonal frequencies couple all columns, so none could be added later.
        return replace(settings, features="random"), len(self._encoder.columns)

    def _continue(
        self, X: ArrayLike, y: ArrayLike, extra: Any, check_input: bool, time: ArrayLike | None = None
    ) -> Checked:
        """Check further rows; the first call starts a model."""
        if not self.__sklearn_is_fitted__():
            return self._begin(X, y, extra, time)
        self._check_learns()
        if not check_input and self._encoder is None:
            given, times = self._split(np.asarray(X), time)
            return given, self._encode(np.asarray(y), extra, unchecked=True), times
        rows, labels = self._check(X, y, extra, reset=False)
        rows, times = self._split(rows, time)
        return rows, self._encode(labels, extra), times

    def _check_learns(self) -> None:
        if self._is_snapshot:
            raise InputError(
                f"this {type(self).__name__} is a snapshot, which predicts and does not learn; call the method of the "
                "model that it was taken from, or sklearn.base.clone it for a new one"
            )

    def _split(self, rows: Float | Batch, time: ArrayLike | None) -> tuple[Float | Batch, Float | None]:
        """Rows without the column of times, and the times."""
        place = self._time_place
        if place is None:
            return rows, None if time is None else as_times(time)
        if time is not None:
            raise InputError(f"time is given, but it is column {place} of X (time_column); leave one of them out")
        if isinstance(rows, Batch):
            name, own = column_names(self)[place], dict(rows.columns)
            return Batch(own, rows.lines), as_times(own.pop(name))
        return np.delete(rows, place, axis=1), rows[:, place].copy()

    def _check(self, X: ArrayLike, y: ArrayLike, extra: Any, reset: bool) -> tuple[Float | Batch, Labels]:
        """Rows (n, d) and as many labels; the codec checks the values of the labels."""
        require_y(self, y, self._label)
        rows = self._check_rows(X, reset)
        labels = self._read(unmasked(y), extra, reset)
        if len(rows) != len(labels):
            check_consistent_length(rows, labels)
        return rows, labels

    def _rows_to_predict(
        self, X: ArrayLike, check_input: bool, time: ArrayLike | None = None
    ) -> tuple[Float, Float | None]:
        """Rows and their times, if these are known."""
        self._fitted()
        checked = check_input or self._encoder is not None
        rows, times = self._split(self._check_rows(X) if checked else np.asarray(X), time)
        return self._encoded(rows), times

    def _check_rows(self, X: ArrayLike, reset: bool = False) -> Float | Batch:
        """Rows (n, d), or records where there is an encoder."""
        X = unmasked(with_numbers(X, self.time_column))
        if self._encoder is None:
            return check_x(self, X, reset, gaps=True)
        return check_records(self, X, self._encoder.kinds, reset)

    # -- for subclasses --------------------------------------------------------------------------------------------

    def _likelihood(self, n_outputs: int) -> str:
        """The likelihood that the arguments ask for, for so many outputs or classes."""
        raise NotImplementedError

    def _read(self, y: ArrayLike, extra: Any, reset: bool) -> Labels:
        """Any container y as an array of labels."""
        raise NotImplementedError

    def _first_codec(self, labels: Labels, extra: Any) -> Codec:
        """The codec of a model that starts with these labels."""
        raise NotImplementedError

    def _encode(self, labels: Labels, extra: Any, unchecked: bool = False) -> Float:
        """Columns of numbers for the core."""
        del extra
        return self.labels_.encode_unchecked(labels) if unchecked else self.labels_.encode(labels)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags

    def _may_have(self, likelihood: str) -> bool:
        """Whether a model of this class may have this likelihood: built in, or user-defined for such labels."""
        if likelihood in self._likelihoods:
            return True
        takes_users = "likelihood" in self.get_params(deep=False) and likelihood not in BUILT_IN
        return takes_users and named(likelihood).has_classes == issubclass(self._codec, ClassLabels)

    def _own_header(self) -> dict[str, Any]:
        header = self.labels_.to_config()
        if self._encoder is not None:
            header |= {"sources": list(self._sources), "encoder": self._encoder.to_config()}
        return header if self._time_place is None else header | {"time_place": self._time_place}

    def _restore_own(self, model: Online, header: dict[str, Any]) -> None:
        if not self._may_have(model.settings.likelihood):
            raise ModelFileError(f"a {type(self).__name__} cannot have the likelihood {model.settings.likelihood!r}")
        self.labels_ = self._codec.from_config(header, model.n_outputs)
        if "encoder" in header:
            self._restore_encoder(model, header["encoder"], header["sources"])
        if "time_place" in header:
            self._time_place = count("time_place", header["time_place"], high=self._n_features(model))

    def _restore_encoder(self, model: Online, config: dict[str, Any], sources: Any) -> None:
        unused = np.zeros(len(config["columns"]))  # gaps are left to the model
        self._encoder, self._sources = Encoder.from_config(config, unused, unused), tuple(sources)
        known = {column.source for column in self._encoder.columns}
        if not all(isinstance(name, str) for name in sources) or len(set(sources)) != len(sources):
            raise ModelFileError("the columns of X are not different names")
        if len(self._encoder.columns) != model.n_columns or not known <= set(sources):
            raise ModelFileError("the columns of the encoder are not those of the model")
