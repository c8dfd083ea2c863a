"""Fleets: one model per key, all with the same experts, held as one stacked state."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from iegp._docstrings import fill_docstrings
from iegp._writers import one_writer
from iegp.core import ensemble as ens
from iegp.core import keyed
from iegp.core import model as online
from iegp.core.compute.threads import n_threads_from
from iegp.core.conformal import Conformal
from iegp.core.delay import Waiting
from iegp.core.followers import Followers
from iegp.core.model import Online, to_user_mixture
from iegp.core.predictions import Predictions, allocate_predictions, in_user_units, some_rows
from iegp.core.predictive.components import Components
from iegp.core.predictive.mixture import Mixture
from iegp.core.state import State
from iegp.fleet import files as fleet_file
from iegp.fleet.base import DTYPES, LocalFleet
from iegp.fleet.checks import Key, check_keys, check_level
from iegp.fleet.pages import Pages
from iegp.fleet.routing import Task, route, rows_by_key, run_tasks
from iegp.fleet.run import FleetRun
from iegp.fleet.shared_docs import FLEET
from iegp.fleet.template import Template
from iegp.readers import object_array
from iegp.typing import Arrays, Float, Int

# Rows of a call that are worked on at once; bounds the memory of a call.
CALL_ROWS = 65536


@fill_docstrings(FLEET)
class Fleet(LocalFleet):
    """Many independent models with the same dictionary of experts, one per key: a sensor, a customer, a machine.

    Every key starts as a copy of the template, and from then on its results are those of a single model that is fed the
    rows of that key (to 1e-8). Scaling, frequencies and hyperparameters are the template's; states are stacked in
    memory, and the keys of a call are spread over threads. A template with a ``delay`` gives every key that delay,
    counted in rows of the key; keys are then learned one after another.

    Parameters
    ----------
    template : IEGPRegressor
        A model past its warm-up, and the state in which every key starts; it is not changed.
    {keys_to_start_with}
    dtype : {"float64", "float32"}, default="float64"
        How beliefs are stored between calls. float32 halves the memory; computations stay in float64, and beliefs are
        rounded once per call, to seven digits (``docs/scale.md`` has the effect on predictions).
    n_jobs : int or None, default=None
        Threads over which keys are spread; -1 uses all cores. Results do not depend on it.
    {template_rows}

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

    is_plain = False

    def __init__(
        self,
        template: Template,
        keys: Iterable[Key] = (),
        *,
        dtype: str = "float64",
        n_jobs: int | None = None,
        template_rows: float | None = None,
    ) -> None:
        n_threads_from(n_jobs)
        self.n_jobs = n_jobs
        self._begin_from(template, keys, dtype, template_rows)

    # -- states ----------------------------------------------------------------------------------------------------

    def _allocate(self) -> None:
        self._pages = Pages(self._model.state, self.dtype)
        self._waiting: list[Waiting] = []
        """With a delay: the rows of each key that wait for their labels."""
        self._conformal: list[Conformal] = []
        """Where intervals keep their level: what each key tracks."""

    def _grow(self, n_more: int) -> None:
        self._pages.grow(n_more)
        if self._model.waiting is not None:
            self._waiting += [self._model.waiting] * n_more
        if self._model.conformal is not None:
            self._conformal += [self._model.conformal] * n_more

    def _state(self, slot: int) -> State:
        return self._pages.state(slot)

    def _field(self, name: str) -> Float:
        empty = np.empty((0, *getattr(self._model.state, name).shape))
        return np.concatenate([empty, *(getattr(piece, name) for piece in self._pieces())])

    def _pieces(self) -> list[State]:
        return [self._pages.filled(number) for number in range(len(self._pages.pages))]

    def _fill(self, first: int, states: State) -> None:
        self._pages.put(np.arange(first, first + len(states.rows)), states)

    @property
    def bytes_per_key(self) -> int:
        """Size of one key's state."""
        return self._pages.bytes_per_key

    @property
    def n_samples_seen_(self) -> dict[Key, int]:
        learned = super().n_samples_seen_
        waiting = zip(learned, self._waiting, strict=True) if self._waiting else ()
        return learned | {key: learned[key] + len(rows.x) for key, rows in waiting}

    def online(self, key: Key) -> Online:
        model, slot = super().online(key), self._slot_of[key]
        if self._conformal:
            model.conformal = self._conformal[slot]
        return replace(model, waiting=self._waiting[slot]) if self._waiting else model

    def put(self, key: Key, model: Online) -> None:
        super().put(key, model)
        if model.waiting is not None:
            self._waiting[self._slot_of[key]] = model.waiting
        conformal, _ = online.followed(model)
        if conformal is not None:
            self._conformal[self._slot_of[key]] = conformal

    # -- learning --------------------------------------------------------------------------------------------------

    @one_writer
    def learn(self, keys: Any, X: ArrayLike, y: ArrayLike, level: float | None = None) -> FleetRun:
        """Predict each row with the model of its key, then learn it, the rows of a key in their order.

        Input is checked before any key learns. An interrupt (Ctrl-C) takes effect when the running tasks are done: each
        key has then learned all of its rows of a portion of the call, or none.

        {parameters}

        {returns_run}
        """
        check_level(level)
        if self._model.conformal is not None and level is not None:
            self._model.conformal.number_of(level)
        rows = self._check_rows(X)
        names = check_keys(keys, len(rows))
        labels = self._check_labels(y, len(rows))
        if self._model.settings.delay:
            predictions = self._learn_late(names, rows, labels, level)
            return FleetRun.of_predictions(
                predictions, labels, self.single_output, level=level, keys=object_array(names)
            )
        x, targets = self._model.scaling.standardise_x(rows), self._model.scaling.standardise_y(labels)
        slots = self._add(names)
        parts = [
            self._learn(slots[i : i + CALL_ROWS], x[i : i + CALL_ROWS], targets[i : i + CALL_ROWS], level)
            for i in range(0, max(len(x), 1), CALL_ROWS)
        ]
        predictions = in_user_units(Predictions.concatenate(parts), self._model.experts.ensemble, self._model.scaling)
        return FleetRun.of_predictions(predictions, labels, self.single_output, level=level, keys=object_array(names))

    def _learn(self, slots: Int, x: Float, y: Float, level: float | None) -> Predictions:
        """Predictions of standardised rows, in their order."""
        ensemble, n_threads = self._model.experts.ensemble, n_threads_from(self.n_jobs)
        routed = route(slots, self._pages.keys_per_page, n_threads)
        x, y = x[routed.order], y[routed.order]
        out = allocate_predictions(ensemble, len(x))
        has_mixture = level is not None or bool(self._conformal)
        mixture = _components(len(x) if has_mixture else 0, ensemble.n_experts, self._model.n_outputs)
        learn = keyed.learn_keys if self.dtype == "float64" else keyed.learn_keys_in_float32

        def work(task: Task) -> None:
            rows = keyed.RowsByKey(task.slots, task.edges, x, y)
            learn(ensemble, self._pages.pages[task.page], rows, out, mixture)

        run_tasks(work, routed.tasks, n_threads)
        mixture = mixture._replace(weights=out.weights)
        if self._conformal:
            out = self._follow(ens.with_pit(out, mixture, y), mixture, y, slots[routed.order], level)
        elif level is not None:
            out = ens.with_intervals(out, mixture, y, level)
        return Predictions(*(_sorted_back(part, routed.order) if len(part) else part for part in out))

    def _follow(self, out: Predictions, mixture: Components, y: Float, slots: Int, level: float | None) -> Predictions:
        """Intervals that keep their level, key by key; rows are sorted by key."""
        edges = np.flatnonzero(np.diff(slots, prepend=-1, append=-1))
        parts = [some_rows(out, 0, 0)] if not len(slots) else []
        for a, b in pairwise(edges.tolist()):
            followers = Followers(self._conformal[slots[a]])
            components = Components(*(array[a:b] for array in mixture))
            parts.append(followers.follow(some_rows(out, a, b), components, y[a:b], level))
            assert followers.conformal is not None
            self._conformal[slots[a]] = followers.conformal
        return Predictions.concatenate(parts)

    def _learn_late(self, names: list[Key], x: Float, y: Float, level: float | None) -> Predictions:
        """Predict, then learn, rows with a delay: what a single model does, key by key, in the units of y."""
        self._add(names)
        parts, order = [online.learn(self._copy(), x[:0], y[:0], level=level)], np.empty(0, dtype=np.int64)
        for key, rows in rows_by_key(names):
            model = self.online(key)
            parts.append(online.learn(model, x[rows], y[rows], level=level))
            self.put(key, model)
            order = np.append(order, rows)
        whole = Predictions.concatenate(parts)
        return Predictions(*(_sorted_back(part, order) if len(part) else part for part in whole))

    def _copy(self) -> Online:
        """The template, which learning the copy does not change."""
        return replace(self._model, state=self._model.state.copy())

    # -- predicting ------------------------------------------------------------------------------------------------

    def predict_dist(self, keys: Any, X: ArrayLike) -> Mixture:
        rows = self._check_rows(X)
        names = check_keys(keys, len(rows))
        if self._model.settings.delay:
            return self._predict_late(names, rows)
        x = self._model.scaling.standardise_x(rows)
        slots = self._slots(names)
        whole = _components(len(x), self._model.experts.ensemble.n_experts, self._model.n_outputs)
        known, unknown = np.flatnonzero(slots >= 0), np.flatnonzero(slots < 0)
        template = State(*(array[None] for array in self._model.state))
        for chosen, pages in ((known, self._pages.pages), (unknown, [template])):
            if len(chosen):
                parts = self._predict(np.maximum(slots[chosen], 0), x[chosen], pages)
                for array, part in zip(whole, parts, strict=True):
                    array[chosen] = part
        return to_user_mixture(self._model.scaling, Mixture.unchecked(*whole, self.single_output))

    def predict_interval(self, keys: Any, X: ArrayLike, level: float = 0.95) -> tuple[Float, Float]:
        """Predict an interval for each row with the model of its key. Changes nothing.

        Parameters
        ----------
        {keys_to_predict}
        {X}
        level : float, default=0.95
            Probability of the interval; one that the template keeps, if it has ``conformal="online"``.

        Returns
        -------
        lower, upper : ndarray
            Ends of the intervals, in the shape and units of y.
        """
        dist = self.predict_dist(keys, X)
        return self.interval(check_keys(keys, len(dist)), dist, level)

    def interval(self, names: list[Key], dist: Mixture, level: float) -> tuple[Float, Float]:
        """Compute the intervals of rows with a known distribution.

        Parameters
        ----------
        names : list of str or int
            Keys of the rows.
        dist : Mixture
            As :meth:`predict_dist` gave it.
        level : float
            As in :meth:`predict_interval`.

        Returns
        -------
        lower, upper : ndarray
            Ends of the intervals, in the shape and units of y.
        """
        if self._model.conformal is None:
            return dist.interval(level)
        lower, upper = np.empty((2, len(dist), self._model.n_outputs))
        for key, rows in rows_by_key(names):
            own = self._conformal[self._slot_of[key]] if key in self else self._model.conformal
            model = replace(self._model, conformal=own)
            lower[rows], upper[rows] = online.interval(model, dist[np.array(rows)], level)
        return (lower[:, 0], upper[:, 0]) if self.single_output else (lower, upper)

    def _predict_late(self, names: list[Key], x: Float) -> Mixture:
        """Predict rows with a delay, key by key: every label given so far is used."""
        parts, order = [online.predict(self._model, x[:0])], np.empty(0, dtype=np.int64)
        for key, rows in rows_by_key(names):
            parts.append(online.predict(self.online(key) if key in self else self._model, x[rows]))
            order = np.append(order, rows)
        mixture = Mixture.concatenate(parts)
        whole = Components(*(_sorted_back(getattr(mixture, name), order) for name in Components._fields))
        return Mixture.unchecked(*whole, self.single_output)

    def _predict(self, slots: Int, x: Float, pages: list[State]) -> Components:
        ensemble, n_threads = self._model.experts.ensemble, n_threads_from(self.n_jobs)
        routed = route(slots, self._pages.keys_per_page, n_threads)
        x = x[routed.order]
        mixture = _components(len(x), ensemble.n_experts, self._model.n_outputs)

        def work(task: Task) -> None:
            keyed.predict_keys(ensemble, pages[task.page], keyed.RowsByKey(task.slots, task.edges, x, x), mixture)

        run_tasks(work, routed.tasks, n_threads)
        return Components(*(_sorted_back(part, routed.order) for part in mixture))

    # -- files -----------------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | os.PathLike[str], n_jobs: int | None = None) -> Self:
        """Load a fleet saved with :meth:`save`, to the bit. Nothing in the file is executed.

        Parameters
        ----------
        path : str or path
            The file.
        n_jobs : int or None, default=None
            Threads over which keys are spread; -1 uses all cores.

        Returns
        -------
        Fleet
            With the states and the dtype of the file.
        """
        return cls._without_keys(n_jobs)._restore(fleet_file.read(path, DTYPES))

    @classmethod
    def from_parts(cls, model: Online, header: dict[str, Any], arrays: Arrays, n_jobs: int | None = None) -> Self:
        """Put together what :meth:`to_parts` took apart; an error where the parts do not fit.

        Parameters
        ----------
        model : Online
            The template.
        header, arrays : dict
            As :meth:`to_parts` gave them.
        n_jobs : int or None, default=None
            Threads over which keys are spread; -1 uses all cores.

        Returns
        -------
        Fleet
            Equal to the bit.
        """
        return cls._without_keys(n_jobs)._restore(fleet_file.checked(model, header, arrays, DTYPES))

    @classmethod
    def _without_keys(cls, n_jobs: int | None) -> Self:
        n_threads_from(n_jobs)
        fleet = cls.__new__(cls)
        fleet.n_jobs = n_jobs
        return fleet

    def empty_copy(self) -> Self:
        """Make a fleet with the same template and no keys.

        Returns
        -------
        Fleet
            Which shares nothing that learning changes.
        """
        empty = self._without_keys(self.n_jobs)
        empty._begin(self._model, self.single_output, self.feature_names, self.dtype)
        return empty

    def copy_keys(self, source: Fleet, keys: list[Key]) -> None:
        """Add keys with the states that they have in another fleet of the same template, to the bit.

        Parameters
        ----------
        source : Fleet
            The other fleet; it is not changed.
        keys : list of str or int
            Some of its keys.
        """
        slots, places = source._slots(keys), self._add(keys)
        for i in range(0, len(keys), self._pages.keys_per_page):
            part = slice(i, i + self._pages.keys_per_page)
            self._pages.put(places[part], source._pages.take(slots[part]))
        for slot, place in zip(slots, places, strict=True):
            if source._waiting:
                self._waiting[place] = source._waiting[slot]
            if source._conformal:
                self._conformal[place] = source._conformal[slot]

    def _more_arrays(self) -> Arrays:
        arrays = fleet_file.waiting_arrays(self._waiting) if self._waiting else {}
        return arrays | (fleet_file.conformal_arrays(self._conformal) if self._conformal else {})

    def _restore(self, stored: fleet_file.Stored) -> Self:
        super()._restore(stored)
        if self._waiting:
            self._waiting = fleet_file.waiting_from(stored)
        if self._conformal:
            self._conformal = fleet_file.conformal_from(stored)
        return self


def _components(n: int, n_experts: int, n_outputs: int) -> Components:
    shape = n, n_experts, n_outputs
    return Components(np.empty(shape[:2]), np.empty(shape), np.empty(shape), np.empty(shape))


def _sorted_back(rows: Float, place: Int) -> Float:
    """Rows of which the i-th belongs at ``place[i]``."""
    whole = np.empty_like(rows)
    whole[place] = rows
    return whole
