"""Fleets: one model per key, all with the same experts, held as one stacked state."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iegp.core import ensemble as ens
from iegp.core import keyed
from iegp.core.compute.threads import n_threads_from
from iegp.core.model import Online, to_user_mixture
from iegp.core.predictions import Predictions, allocate_predictions, in_user_units
from iegp.core.predictive.components import Components
from iegp.core.predictive.mixture import Mixture
from iegp.core.state import State
from iegp.errors import InputError
from iegp.fleet import files as fleet_file
from iegp.fleet.checks import Key, check_keys, check_labels, check_rows
from iegp.fleet.pages import Pages
from iegp.fleet.routing import Routed, Task, route, run_tasks
from iegp.fleet.run import FleetRun
from iegp.fleet.template import Template, take
from iegp.typing import Arrays, Float, Int

DTYPES = ("float64", "float32")
# Rows of a call that are worked on at once; bounds the memory of a call.
CALL_ROWS = 65536


class Fleet:
    """Many independent models with the same dictionary of experts, one per key: a sensor, a customer, a machine.

    Every key starts as a copy of the template, and from then on its results are those of a single model that is fed the
    rows of that key (to 1e-8). Scaling, frequencies and hyperparameters are the template's; states lie stacked in
    memory, and the keys of a call are spread over threads.

    Parameters
    ----------
    template : IEGPRegressor
        A model past its warm-up. What it has learned is what every key knows at first; it is not changed.
    keys : iterable of str or int, default=()
        Keys to make room for; others appear when their first row does.
    dtype : {"float64", "float32"}, default="float64"
        How beliefs are stored between calls. float32 halves the memory; computations stay in float64, and beliefs are
        rounded once per call, to seven digits (``docs/scale.md`` says what that does to predictions).
    n_jobs : int or None, default=None
        Threads over which keys are spread; -1 uses all cores. Results do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from iegp import Fleet, IEGPRegressor
    >>> from iegp.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(400)
    >>> fleet = Fleet(IEGPRegressor([RBF(1.0)], n_frequencies=10, random_state=0).warm_up(X[:200], y[:200]))
    >>> keys = np.where(np.arange(200) % 2, "pump", "fan")
    >>> fleet.learn(keys, X[200:], y[200:])
    FleetRun(200 rows of 2 keys: mean log score ..., nMSE ...)
    >>> fleet.keys, fleet.predict("pump", [[0.0]]).shape
    (['fan', 'pump'], (1,))
    """

    def __init__(
        self, template: Template, keys: Iterable[Key] = (), *, dtype: str = "float64", n_jobs: int | None = None
    ) -> None:
        taken = take(template, "a fleet", "keep one model per key instead")
        if dtype not in DTYPES:
            raise InputError(f"dtype={dtype!r} is not known; use one of {', '.join(map(repr, DTYPES))}")
        model = replace(taken.model, state=taken.model.state.copy())
        self._begin(model, taken.single_output, taken.feature_names, dtype)
        self.n_jobs = n_jobs
        n_threads_from(n_jobs)
        self._add(check_keys(list(keys)))

    def _begin(self, model: Online, single_output: bool, names: tuple[str, ...] | None, dtype: str) -> None:
        self.dtype = dtype
        self._model, self.single_output, self.feature_names = model, single_output, names
        self._pages = Pages(model.state, dtype)
        self._slot_of: dict[Key, int] = {}

    # -- looking ---------------------------------------------------------------------------------------------------

    @property
    def keys(self) -> list[Key]:
        """All keys, in order of appearance."""
        return list(self._slot_of)

    def __len__(self) -> int:
        return len(self._slot_of)

    def __contains__(self, key: object) -> bool:
        return key in self._slot_of

    @property
    def bytes_per_key(self) -> int:
        """Size of one key's state."""
        return self._pages.bytes_per_key

    @property
    def nbytes(self) -> int:
        """Size of all states."""
        return self._pages.nbytes

    @property
    def n_samples_seen_(self) -> dict[Key, int]:
        """Rows learned by each key, those of the template included."""
        return dict(zip(self._slot_of, self._gather("rows")[:, 0].astype(int).tolist(), strict=True))

    @property
    def expert_weights_(self) -> Float:
        """(n_keys, n_experts): how much each key trusts each expert now, in the order of ``keys``."""
        return np.asarray(np.exp(self._gather("log_weights")))

    def online(self, key: Key) -> Online:
        """A copy of one key's model as the core knows it; ``IEGPRegressor.from_fleet`` makes an estimator of it."""
        if key not in self._slot_of:
            raise InputError(f"key {key!r:.60} is not in this fleet of {len(self)} keys; it appears with its first row")
        return replace(self._model, state=self._pages.state(self._slot_of[key]))

    def __repr__(self) -> str:
        ensemble = self._model.experts.ensemble
        return (
            f"Fleet({len(self)} keys, {ensemble.n_experts} experts of {ensemble.layout.feature_counts()} features, "
            f"{self.dtype}, {self.bytes_per_key / 1024:.0f} KiB per key)"
        )

    # -- learning --------------------------------------------------------------------------------------------------

    def learn(self, keys: Any, X: ArrayLike, y: ArrayLike, level: float | None = None) -> FleetRun:
        """Predict each row with the model of its key, then learn it. Rows of a key count in the order they have here.

        ``keys`` is one per row, or a single one for all; new ones start from the template. ``level`` asks for central
        intervals, which cost extra. Bad input is found before any key learns anything. An interrupt (Ctrl-C) waits for
        keys that are being worked on: a key has learned all of its rows of a portion of the call, or none.
        """
        if level is not None and not (isinstance(level, int | float | np.number) and 0.0 < level < 1.0):
            raise InputError(f"level={level!r} must be a number between 0 and 1, such as 0.95, or None")
        rows = check_rows(X, self._model.n_columns, self.feature_names)
        names = check_keys(keys, len(rows))
        labels = check_labels(y, len(rows), self._model.n_outputs, self.single_output)
        x, targets = self._model.scaling.standardise_x(rows), self._model.scaling.standardise_y(labels)
        slots = self._add(names)
        parts = [
            self._learn(slots[i : i + CALL_ROWS], x[i : i + CALL_ROWS], targets[i : i + CALL_ROWS], level)
            for i in range(0, max(len(x), 1), CALL_ROWS)
        ]
        predictions = in_user_units(Predictions.concatenate(parts), self._model.experts.ensemble, self._model.scaling)
        return FleetRun.of_predictions(predictions, labels, self.single_output, level=level, keys=_objects(names))

    def _learn(self, slots: Int, x: Float, y: Float, level: float | None) -> Predictions:
        """Predictions of standardised rows, in their order."""
        ensemble, n_threads = self._model.experts.ensemble, n_threads_from(self.n_jobs)
        routed = route(slots, self._pages.keys_per_page, n_threads)
        x, y = x[routed.order], y[routed.order]
        out = allocate_predictions(ensemble, len(x))
        mixture = _components(0 if level is None else len(x), ensemble.n_experts, self._model.n_outputs)
        learn = keyed.learn_keys if self.dtype == "float64" else keyed.learn_keys_in_float32

        def work(task: Task) -> None:
            rows = keyed.RowsByKey(task.slots, task.edges, x, y)
            learn(ensemble, self._pages.pages[task.page], rows, out, mixture)

        run_tasks(work, routed.tasks, n_threads)
        if level is not None:
            out = ens.with_intervals(out, mixture._replace(weights=out.weights), y, level)
        return Predictions(*(_unsorted(routed, part) if len(part) else part for part in out))

    # -- predicting ------------------------------------------------------------------------------------------------

    @overload
    def predict(self, keys: Any, X: ArrayLike, return_std: Literal[False] = ...) -> Float: ...
    @overload
    def predict(self, keys: Any, X: ArrayLike, return_std: Literal[True]) -> tuple[Float, Float]: ...
    def predict(self, keys: Any, X: ArrayLike, return_std: bool = False) -> Float | tuple[Float, Float]:
        """Predictive mean of each row by its key's model; with ``return_std`` also the standard deviation *of y*.

        A key that is not in the fleet is predicted by the template, and does not appear by this.
        """
        dist = self.predict_dist(keys, X)
        return (dist.mean, dist.std) if return_std else dist.mean

    def predict_dist(self, keys: Any, X: ArrayLike) -> Mixture:
        """The whole predictive distribution of each row, in the order of the rows. Changes nothing."""
        rows = check_rows(X, self._model.n_columns, self.feature_names)
        names = check_keys(keys, len(rows))
        x = self._model.scaling.standardise_x(rows)
        slots = np.array([self._slot_of.get(name, -1) for name in names], dtype=np.int64)
        whole = _components(len(x), self._model.experts.ensemble.n_experts, self._model.n_outputs)
        known, unknown = np.flatnonzero(slots >= 0), np.flatnonzero(slots < 0)
        template = State(*(array[None] for array in self._model.state))
        for chosen, pages in ((known, self._pages.pages), (unknown, [template])):
            if len(chosen):
                parts = self._predict(np.maximum(slots[chosen], 0), x[chosen], pages)
                for array, part in zip(whole, parts, strict=True):
                    array[chosen] = part
        return to_user_mixture(self._model.scaling, Mixture.trusted(*whole, self.single_output))

    def _predict(self, slots: Int, x: Float, pages: list[State]) -> Components:
        ensemble, n_threads = self._model.experts.ensemble, n_threads_from(self.n_jobs)
        routed = route(slots, self._pages.keys_per_page, n_threads)
        x = x[routed.order]
        mixture = _components(len(x), ensemble.n_experts, self._model.n_outputs)

        def work(task: Task) -> None:
            keyed.predict_keys(ensemble, pages[task.page], keyed.RowsByKey(task.slots, task.edges, x, x), mixture)

        run_tasks(work, routed.tasks, n_threads)
        return Components(*(_unsorted(routed, part) for part in mixture))

    # -- storing ---------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all keys to one safetensors file, atomically. :meth:`load` brings them back, to the bit."""
        header, pages = self._stored()
        fleet_file.write(path, self._model, header, pages)

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """All but the template, as part of another file: plain data and arrays, which are not copies."""
        header, pages = self._stored()
        return header | {"n_pages": len(pages)}, fleet_file.page_arrays(pages)

    def _stored(self) -> tuple[dict[str, Any], list[State]]:
        header = {"single_output": self.single_output, "dtype": self.dtype, "keys": self.keys}
        header["feature_names"] = None if self.feature_names is None else list(self.feature_names)
        return header, [self._pages.filled(number) for number in range(len(self._pages.pages))]

    @classmethod
    def load(cls, path: str | os.PathLike[str], n_jobs: int | None = None) -> Self:
        """A fleet saved with :meth:`save`. Nothing in the file is executed."""
        n_threads_from(n_jobs)
        return cls._from_stored(fleet_file.read(path, DTYPES), n_jobs)

    @classmethod
    def from_parts(cls, model: Online, header: dict[str, Any], arrays: Arrays, n_jobs: int | None = None) -> Self:
        """The fleet with this template that :meth:`to_parts` took apart; an error where the parts do not fit."""
        return cls._from_stored(fleet_file.checked(model, header, arrays, DTYPES), n_jobs)

    @classmethod
    def _from_stored(cls, stored: fleet_file.Stored, n_jobs: int | None) -> Self:
        fleet = cls.__new__(cls)
        fleet.n_jobs = n_jobs
        fleet._begin(stored.model, stored.single_output, stored.names, stored.dtype)
        fleet._add(stored.keys)
        pages = fleet._pages
        for field in State._fields:
            done = 0
            for part in stored.parts(field):
                for i in range(0, len(part), pages.keys_per_page):
                    _fill(pages, field, done + i, part[i : i + pages.keys_per_page])
                done += len(part)
        return fleet

    # -- private ---------------------------------------------------------------------------------------------------

    def _add(self, names: list[Key]) -> Int:
        """Slots of the keys, new ones made from the template."""
        new = dict.fromkeys(name for name in names if name not in self._slot_of)
        if new:
            self._pages.grow(len(new))
            self._slot_of.update(zip(new, range(len(self._slot_of), len(self._slot_of) + len(new)), strict=True))
        return np.array([self._slot_of[name] for name in names], dtype=np.int64)

    def _gather(self, field: str) -> Any:
        pages = self._pages
        parts = [getattr(pages.filled(number), field) for number in range(len(pages.pages))]
        empty = np.empty((0, *getattr(self._model.state, field).shape))
        return np.concatenate([empty, *parts])


def _objects(names: list[Key]) -> NDArray[Any]:
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array


def _components(n: int, n_experts: int, n_outputs: int) -> Components:
    shape = n, n_experts, n_outputs
    return Components(np.empty(shape[:2]), np.empty(shape), np.empty(shape), np.empty(shape))


def _unsorted(routed: Routed, sorted_rows: Float) -> Float:
    rows = np.empty_like(sorted_rows)
    rows[routed.order] = sorted_rows
    return rows


def _fill(pages: Pages, field: str, first: int, part: Float) -> None:
    """Write states of consecutive slots, which may lie on two pages."""
    page, place = divmod(first, pages.keys_per_page)
    here = min(len(part), pages.keys_per_page - place)
    getattr(pages.pages[page], field)[place : place + here] = part[:here]
    if here < len(part):
        getattr(pages.pages[page + 1], field)[: len(part) - here] = part[here:]
