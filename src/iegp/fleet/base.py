"""Base classes of all fleets: keys, checks, units, files. An engine (NumPy, PyTorch, Ray) holds states and computes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Self, overload

import numpy as np

from iegp._docstrings import fill_docstrings
from iegp._writers import one_writer
from iegp.core.editing.new_key import for_new_keys
from iegp.core.model import Online, followed
from iegp.core.predictive.mixture import Mixture
from iegp.core.settings import check_choice
from iegp.core.state import State
from iegp.errors import InputError
from iegp.fleet import files as fleet_file
from iegp.fleet.checks import Key, check_keys, check_labels, check_rows, check_template_rows
from iegp.fleet.shared_docs import FLEET
from iegp.fleet.template import Template, take
from iegp.typing import Arrays, Float, Int

DTYPES = ("float64", "float32")


class Moments(NamedTuple):
    """Mean and standard deviation of predicted rows, in the shape of y."""

    mean: Float
    std: Float


@fill_docstrings(FLEET)
class FleetBase:
    """One model per key. A subclass holds the states and implements :meth:`predict_dist`."""

    _model: Online
    """The template: scaling, experts, and the state that a new key starts from."""
    single_output: bool
    feature_names: tuple[str, ...] | None

    @property
    def template(self) -> Online:
        """The model of the core that every key starts from."""
        return self._model

    @property
    def keys(self) -> list[Key]:
        """All keys."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def predict(self, keys: Any, X: Any, return_std: Literal[False] = ...) -> Float: ...
    @overload
    def predict(self, keys: Any, X: Any, return_std: Literal[True]) -> tuple[Float, Float]: ...
    def predict(self, keys: Any, X: Any, return_std: bool = False) -> Float | tuple[Float, Float]:
        """Predict each row with the model of its key. Changes nothing.

        Parameters
        ----------
        {keys_to_predict}
        X : array-like (n, d)
            Rows; a :class:`TorchFleet` takes tensors, too.
        {return_std}

        Returns
        -------
        ndarray, or a pair of them
            Predictive means in the shape of y, and standard deviations if asked for.
        """
        dist = self._moments(keys, X)
        return (dist.mean, dist.std) if return_std else dist.mean

    def _moments(self, keys: Any, X: Any) -> Mixture | Moments:
        """Mean and standard deviation of each row; an engine that needs no mixture for them overrides this."""
        return self.predict_dist(keys, X)

    def predict_dist(self, keys: Any, X: Any) -> Mixture:
        """Predict the whole distribution of each row, in the order of the rows. Changes nothing.

        {parameters: keys_to_predict}

        Returns
        -------
        Mixture
            Of Gaussian and Student-t components, one mixture per row, in the units of y.
        """
        raise NotImplementedError

    def _check_rows(self, X: Any) -> Float:
        return check_rows(X, self._model.n_columns, self.feature_names)

    def _check_labels(self, y: Any, n_rows: int) -> Float:
        return check_labels(y, n_rows, self._model.n_outputs, self.single_output)


@fill_docstrings(FLEET)
class LocalFleet(FleetBase):
    """A fleet whose states are in this process: key number ``slot`` has the state number ``slot``.

    An engine implements :meth:`_grow`, :meth:`_state`, :meth:`_field`, :meth:`_pieces`, :meth:`_fill` and
    :attr:`bytes_per_key`.
    """

    dtype: str
    is_plain = True
    """Whether rows of a key cannot wait for their labels, nor intervals keep their level."""

    def _begin(self, model: Online, single_output: bool, names: tuple[str, ...] | None, dtype: str) -> None:
        """Start without keys; the states that an engine allocates begin as that of ``model``."""
        check_choice("dtype", dtype, DTYPES)
        self.dtype = dtype
        # Keys are not watched for changes.
        self._model = replace(model, conformal=followed(model)[0], changes=None, unfollowed=(), unfollowed_times=())
        self.single_output, self.feature_names = single_output, names
        self._slot_of: dict[Key, int] = {}
        self._allocate()

    def _begin_from(
        self, template: Template, keys: Iterable[Key], dtype: str, template_rows: float | None = None
    ) -> None:
        """Start from an estimator past its warm-up, which is not changed."""
        check_template_rows(template_rows)
        taken = take(template, f"a {type(self).__name__}", "keep one model per key instead", self.is_plain)
        state = taken.model.state.copy()
        # A new key has no labels yet; those that the template has seen are of other keys.
        model = replace(taken.model, state=state._replace(recent=np.zeros_like(state.recent)), batch=None)
        if template_rows is not None:
            model = for_new_keys(model, template_rows)
        self._begin(model, taken.single_output, taken.feature_names, dtype)
        self._add(check_keys(list(keys)))

    # -- of the engine ---------------------------------------------------------------------------------------------

    def _allocate(self) -> None:
        """Prepare for states of the model's shapes."""
        raise NotImplementedError

    def _grow(self, n_more: int) -> None:
        """Add states, each a copy of the template's."""
        raise NotImplementedError

    def _state(self, slot: int) -> State:
        """Copy one state, in float64."""
        raise NotImplementedError

    def _field(self, name: str) -> Float:
        """One of the small fields of :class:`State`, of all keys: (n_keys, ...)."""
        raise NotImplementedError

    def _pieces(self) -> list[State]:
        """All states as they are stored, in consecutive pieces."""
        raise NotImplementedError

    def _fill(self, first: int, states: State) -> None:
        """Write states of consecutive slots."""
        raise NotImplementedError

    @property
    def bytes_per_key(self) -> int:
        """Size of one key's state."""
        raise NotImplementedError

    # -- keys ------------------------------------------------------------------------------------------------------

    @property
    def keys(self) -> list[Key]:
        """All keys, in order of appearance."""
        return list(self._slot_of)

    def __len__(self) -> int:
        return len(self._slot_of)

    def __contains__(self, key: object) -> bool:
        return key in self._slot_of

    @property
    def nbytes(self) -> int:
        """Size of all states."""
        return len(self) * self.bytes_per_key

    @property
    def n_samples_seen_(self) -> dict[Key, int]:
        """Rows learned by each key, those of the template included."""
        return dict(zip(self._slot_of, self._field("rows")[:, 0].astype(int).tolist(), strict=True))

    @property
    def expert_weights_(self) -> Float:
        """(n_keys, n_experts): weights of the experts of each key, in the order of ``keys``."""
        return np.asarray(np.exp(self._field("log_weights")))

    def online(self, key: Key) -> Online:
        """Copy the core's model of one key; ``IEGPRegressor.from_fleet`` makes an estimator of it.

        {parameters}

        Returns
        -------
        Online
            Independent of the fleet.
        """
        if key not in self._slot_of:
            raise InputError(f"key {key!r:.60} is not in this fleet of {len(self)} keys; it appears with its first row")
        return replace(self._model, state=self._state(self._slot_of[key]))

    def put(self, key: Key, model: Online) -> None:
        """Replace the state of a key, which may be new.

        Parameters
        ----------
        key : str or int
            The key.
        model : Online
            As :meth:`online` gave it, having learned more.
        """
        (slot,) = self._add(check_keys([key]))
        self._model.n_passed = model.n_passed
        states = State(*(array[None] for array in model.state))
        self._fill(int(slot), states)

    def __repr__(self) -> str:
        ensemble = self._model.experts.ensemble
        experts = f"{ensemble.n_experts} experts of {ensemble.layout.feature_counts()} features"
        size = f"{self.bytes_per_key / 1024:.0f} KiB per key"
        return f"{type(self).__name__}({len(self)} keys, {experts}, {self._storage()}, {size})"

    def _storage(self) -> str:
        return self.dtype

    def _add(self, names: list[Key]) -> Int:
        """Slots of the keys, new ones made from the template."""
        new = dict.fromkeys(name for name in names if name not in self._slot_of)
        if new:
            self._grow(len(new))
            self._slot_of.update(zip(new, range(len(self._slot_of), len(self._slot_of) + len(new)), strict=True))
        return np.array([self._slot_of[name] for name in names], dtype=np.int64)

    def _slots(self, names: list[Key]) -> Int:
        """Slots of the keys, -1 for those that are not in the fleet."""
        return np.array([self._slot_of.get(name, -1) for name in names], dtype=np.int64)

    # -- files -----------------------------------------------------------------------------------------------------

    @one_writer
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all keys to one safetensors file, atomically; every kind of fleet reads it.

        {parameters}
        """
        fleet_file.write(path, self._model, self._header(), self._pieces(), self._more_arrays())

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Take the fleet apart, without its template, to be stored as part of another file.

        Returns
        -------
        dict
            Plain data, ready for JSON.
        dict of arrays
            States of all keys; not copies.
        """
        pieces = self._pieces()
        return self._header() | {"n_pages": len(pieces)}, fleet_file.page_arrays(pieces) | self._more_arrays()

    def _more_arrays(self) -> Arrays:
        """What an engine stores beside the states."""
        return {}

    def _header(self) -> dict[str, Any]:
        names = None if self.feature_names is None else list(self.feature_names)
        return {
            "single_output": self.single_output,
            "dtype": self.dtype,
            "keys": self.keys,
            "feature_names": names,
        }

    def _restore(self, stored: fleet_file.Stored) -> Self:
        """Restore the contents of a file."""
        if stored.model.settings.conformal and self.is_plain:
            raise InputError(
                "the file holds a fleet with conformal='online', which tracks how often labels are missed; "
                f"load it with iegp.Fleet, not with {type(self).__name__}"
            )
        if stored.model.settings.delay and self.is_plain:
            raise InputError(
                f"the file holds a fleet with delay={stored.model.settings.delay}, whose rows wait; "
                f"load it with iegp.Fleet, not with {type(self).__name__}"
            )
        self._begin(stored.model, stored.single_output, stored.names, stored.dtype)
        self._add(stored.keys)
        first = 0
        for parts in zip(*map(stored.parts, State._fields), strict=True):
            self._fill(first, State(*parts))
            first += len(parts[0])
        return self
