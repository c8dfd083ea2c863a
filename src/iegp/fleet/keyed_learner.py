"""One model per key in a stream of records: first one model for all rows, then a fleet of its copies.

One shared model learns all rows until nothing is left to decide about it: its warm-up is over, and with it the last
refit of scaling and hyperparameters, and no column can come any more. From then on it is the template of a fleet: every
key starts from what the shared model knows and learns its own rows alone.

Lags are labels of the row's own key from the first row on. While the model is shared, rows bring them as columns, out
of the last labels of each key, with which the key's own model then begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.core import late
from iegp.core import model as online
from iegp.core.changes import Change
from iegp.core.late import Asked
from iegp.core.model import Online
from iegp.core.predictions import Predictions
from iegp.core.predictive.mixture import Mixture
from iegp.errors import IegpError, InputError
from iegp.fleet.fleet import Fleet
from iegp.fleet.routing import rows_by_key
from iegp.storage.schema import Field, check_arrays, count
from iegp.stream.answers import predictions_of
from iegp.stream.learner import Answered, Learner, steps_ahead
from iegp.stream.pending import Waiting
from iegp.typing import Arrays, Bool, Float

# How long all rows share a model that has no warm-up; as long as a job takes new columns in.
_SHARED_ROWS = 1000


@dataclass
class _Template:
    """What a fleet needs of an estimator."""

    model_: Online
    single_output_: bool = True


@dataclass(frozen=True)
class Fleets:
    """How a learner of all rows becomes one of models by key; ``on_start`` is called with a fleet when it starts.

    ``template_rows`` is that of :class:`Fleet`.
    """

    on_start: Callable[[Fleet], None] = lambda _: None
    template_rows: float | None = None

    def begin(self, shared: Learner) -> KeyedLearner:
        if shared.model.settings.lags:
            shared.model = online.bringing_lags(shared.model)
        return KeyedLearner(shared, None, self)

    def restore(self, shared: Learner, config: dict[str, Any] | None, arrays: Arrays) -> KeyedLearner:
        """Out of a checkpoint; an error where its parts do not fit together."""
        config, fleet = config or {}, None
        recent = _recent_from(config.get("recent", []), arrays)
        if "keys" in config:
            fleet = Fleet.from_parts(shared.model, config, arrays, shared.n_threads)
            if not fleet.single_output or not all(isinstance(key, str) for key in fleet.keys):
                raise ValueError("the fleet is none of a stream")
        learner = KeyedLearner(shared, fleet, self, recent)
        if fleet is None and learner.rows_to_share <= 0:
            raise ValueError("the models of the keys are missing")
        has_lags = bool(shared.model.settings.lags)
        if shared.model.rows_bring_lags != (has_lags and fleet is None) or (recent and not has_lags):
            raise ValueError("the labels that keys have seen do not fit the model")
        return learner


class KeyedLearner:
    """A learner of rows that each belong to a key; see :class:`iegp.stream.learner.AnyLearner`."""

    def __init__(
        self,
        shared: Learner,
        fleet: Fleet | None,
        fleets: Fleets,
        recent: Mapping[str, tuple[float, ...]] | None = None,
    ) -> None:
        self.shared = shared
        self.fleet = fleet
        self.recent = dict(recent or {})
        """With lags: the last labels of each key that has no model of its own, newest last; none after the first rows
        of all, so that memory stays bounded by them."""
        self.clocks = shared.clocks
        """Rows passed by the models of keys that have predicted some; None: by that of all rows, where others begin."""
        self._fleets = fleets

    @property
    def model(self) -> Online:
        """The shared model; once there is a fleet, its template."""
        return self.shared.model

    @property
    def noticed(self) -> list[tuple[int, Change]]:
        """Changes in rows that all keys share; the models of keys are not watched."""
        return [] if self.fleet is not None else self.shared.noticed

    @property
    def classes(self) -> tuple[str, ...]:
        return ()

    @property
    def rows_to_share(self) -> int:
        """Rows that the shared model still learns."""
        settings = self.model.settings
        # A warm-up counts labels, which come late with a delay.
        n_shared = settings.warmup + settings.delay if settings.warmup else _SHARED_ROWS
        return n_shared - self.model.n_seen

    @property
    def rows_to_refit(self) -> int:
        """How many rows can be learned before the shared model is fitted anew, or the fleet starts."""
        refit = self.shared.rows_to_refit
        return refit if self.fleet is not None else min(refit, self.rows_to_share)

    def too_far(self, x: Float) -> Bool:
        return self.shared.too_far(x)

    def label_too_far(self, y: Float) -> Bool:
        return self.shared.label_too_far(y)

    def add_columns(self, first_values: Float, past: Float) -> None:
        """Only before there is a fleet: its columns are fixed."""
        if self.fleet is not None:
            raise InputError("a fleet has the columns of its template and takes no more; start anew with all of them")
        self.shared.add_columns(first_values, past)

    # -- answering -------------------------------------------------------------------------------------------------

    def learn(
        self, x: Float, labels: NDArray[Any], keys: tuple[str, ...] | None = None, /
    ) -> list[tuple[Predictions, tuple[str, ...]]]:
        """Predict each row with the model of its key, then learn it."""
        if self.fleet is None:
            rows, recent = self._with_lags(x, keys or (), labels)
            learned = self.shared.learn(rows, labels)
            self.recent = recent
            self._start_if_due()
            return learned
        self._begin_models(keys or ())
        self._catch_up(keys or ())
        cheap = self.shared.cheap_intervals
        try:
            run = self.fleet.learn(list(keys or ()), self._filled(x), labels, None if cheap else self.shared.level)
        except MemoryError as error:
            raise IegpError(
                f"no memory for more than {len(self.fleet):,} keys of {self.fleet.bytes_per_key:,} bytes each; "
                "choose a smaller model (--model light, fewer n_frequencies) or a column with fewer keys"
            ) from error
        lower, upper = self.shared.normal_interval(run.mean, run.std) if cheap else (run.lower, run.upper)
        scores = {"pit": run.pit, "weights": run.weights}
        return [(predictions_of(run.log_score, mean=run.mean, std=run.std, lower=lower, upper=upper, **scores), ())]

    def predict(self, x: Float, keys: tuple[str, ...] | None = None, /) -> Predictions:
        """Predict each row as if it came next, one of an unknown key with the template; nothing is learned."""
        if self.fleet is None:
            return self.shared.predict(self._with_lags(x, keys or ())[0])
        if any(key in self.recent or (key in self.clocks and self.clocks[key].behind) for key in set(keys or ())):
            return self._mixed(self._ask(x, keys or (), moves=False)[0], keys or ())
        return self._of_numbers(self.fleet.predict_dist(list(keys or ()), self._filled(x)), keys or ())

    def _catch_up(self, keys: tuple[str, ...]) -> None:
        """Rows that were predicted since the last of their key have passed; those that come now are learned."""
        for key, n in Counter(keys).items() if len(self.clocks) > 1 else ():
            clock = self.clocks.get(key)
            if clock is None:
                continue
            if clock.behind:
                model = self._model_of(key)
                online.pass_rows(model, clock.behind)
                self._put(key, model)
            clock.came(n)

    def ask(self, x: Float, wanted: Sequence[bool], keys: tuple[str, ...] | None = None, /) -> Answered:
        """Predict each row, which comes next of its key and has no label yet."""
        names = keys or ()
        if self.fleet is None:
            self.clocks.update(dict.fromkeys(names, self.shared.clock))
            return self.shared.ask(self._with_lags(x, names)[0], wanted)
        asked, places = self._ask(x, names, moves=True)
        return Answered(
            self._mixed(asked, names), [row if w else None for row, w in zip(asked, wanted, strict=True)], places
        )

    def _ask(self, x: Float, keys: tuple[str, ...], moves: bool) -> tuple[list[Asked], list[int]]:
        """What the experts of its key answer to each row; the clocks move if the rows have come."""
        x, found = self._filled(x), dict[int, tuple[Asked, int]]()
        for key, rows in rows_by_key(keys):
            clock, model = self.clocks.get(key) or replace(self.shared.clock), self._model_of(key)
            n_steps = steps_ahead(model, clock)
            if not moves:
                found |= {i: (online.ask(model, x[i : i + 1], n_steps), clock.rows) for i in rows}
                continue
            asked = online.ask(model, x[rows], n_steps)
            found |= {i: (asked.row(j), clock.rows + j) for j, i in enumerate(rows)}
            if model.waiting is None:
                clock.rows += len(rows)
                self.clocks[key] = clock
        return [found[i][0] for i in range(len(keys))], [found[i][1] for i in range(len(keys))]

    def _mixed(self, asked: list[Asked], keys: tuple[str, ...]) -> Predictions:
        ensemble = self.model.experts.ensemble
        return self._of_numbers(Mixture.concatenate([late.mixture(ensemble, row) for row in asked]), keys)

    def _of_numbers(self, dist: Mixture, keys: tuple[str, ...]) -> Predictions:
        assert self.fleet is not None
        if self.model.conformal is None:
            return self.shared.of_numbers(dist)
        return self.shared.of_numbers(dist, self.fleet.interval(list(keys), dist, self.shared.level))

    def learn_asked(self, waiting: Waiting, x: Float, label: Any) -> Predictions:
        """Learn a row that was predicted earlier, whose label has arrived; the answer that was given is scored."""
        if self.fleet is None or waiting.key is None:
            key = (waiting.key or "",)
            rows, recent = self._with_lags(x, key, np.array([label]))
            if self.model.rows_bring_lags:
                rows = np.concatenate([x, self._lags_seen(waiting)], axis=1)
            scored = self.shared.learn_asked(waiting, rows, label)
            self.recent = recent
            self._start_if_due()
            return scored
        late_label, scored = self.shared.scored(waiting, label)
        model, clock = self._model_of(waiting.key), self.clocks[waiting.key]
        if late_label.asked is None:
            # Experts were fitted anew since; lags are a few labels of the key, in the order of its columns.
            late_label = late_label._replace(lags=online.usual_labels(model, self._lags_seen(waiting)))
        online.learn_asked(model, self._filled(x), late_label._replace(n_steps=clock.arrived(waiting.place)))
        self._put(waiting.key, model)
        return scored

    def _lags_seen(self, waiting: Waiting) -> Float:
        """(1, lags): labels that a row was predicted with; NaN where there was none, as before the first of all."""
        n = self.model.experts.ensemble.lags.n_columns
        return np.full((1, n), np.nan) if waiting.asked is None else _in_user_units(waiting.asked)

    def _model_of(self, key: str) -> Online:
        """A copy of the model of a key, which may be new."""
        assert self.fleet is not None
        if key in self.fleet:
            return self.fleet.online(key)
        return online.without_brought_lags(self.fleet.template, _labels(self.recent.get(key, ())))

    def _put(self, key: str, model: Online) -> None:
        assert self.fleet is not None
        self.fleet.put(key, model)
        self.recent.pop(key, None)
        self.model.n_passed = model.n_passed

    def are_new(self, keys: tuple[str, ...] | None, /) -> Bool | None:
        """Which keys the template answers for; None while one model answers for all."""
        if self.fleet is None or keys is None:
            return None
        return np.array([key not in self.fleet for key in keys], dtype=bool)

    def _start_if_due(self) -> None:
        if self.rows_to_share > 0:
            return
        if self.shared.clock.behind:
            self.shared.catch_up()
        self.clocks.update({key: replace(self.shared.clock) for key in self.clocks})
        if self.model.rows_bring_lags:
            self.shared.model = online.without_brought_lags(self.model, _labels(()))
        rows = self._fleets.template_rows
        self.fleet = Fleet(_Template(self.model), n_jobs=self.shared.n_threads, template_rows=rows)
        # A checkpoint holds the model that new keys start from.
        self.shared.model = replace(self.model, state=self.fleet.template.state.copy())
        self._fleets.on_start(self.fleet)

    def _begin_models(self, keys: tuple[str, ...]) -> None:
        """Models of keys whose labels were seen before there were models by key."""
        for key in dict.fromkeys(keys) if self.recent else ():
            if key in self.recent:
                self._put(key, self._model_of(key))

    def _with_lags(
        self, x: Float, keys: tuple[str, ...], labels: NDArray[Any] | None = None
    ) -> tuple[Float, dict[str, tuple[float, ...]]]:
        """Rows for the shared model, each with the labels of its key before it; and those of all keys after them."""
        lags, recent = self.model.experts.ensemble.lags, dict(self.recent)
        if not self.model.rows_bring_lags:
            return x, recent
        seen = np.full((len(x), len(lags.offsets)), np.nan)
        for i, key in enumerate(keys):
            own = recent.get(key, ())
            seen[i] = [own[-offset] if offset <= len(own) else np.nan for offset in lags.offsets]
            if labels is not None:
                recent[key] = (*own, float(labels[i]))[-lags.n_recent :]
        return np.concatenate([x, seen], axis=1), recent

    def _filled(self, x: Float) -> Float:
        """A value that is absent counts as the centre of its column, as it does to the shared model."""
        gaps = np.isnan(x)
        return np.where(gaps, self.model.scaling.x_mean, x) if gaps.any() else x

    # -- storing ---------------------------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, Any] | None, Arrays]:
        """What a checkpoint holds beside the template: the keys and their states."""
        config, arrays = (None, {}) if self.fleet is None else self.fleet.to_parts()
        if not self.recent:
            return config, arrays
        labels = np.array([label for own in self.recent.values() for label in own])
        names = [[key, len(own)] for key, own in self.recent.items()]
        return (config or {}) | {"recent": names}, arrays | {"recent": labels}


def _labels(own: Sequence[float]) -> Float:
    """(n, 1)"""
    return np.array(own, dtype=np.float64).reshape(-1, 1)


def _in_user_units(asked: Asked) -> Float:
    """(1, lags): what a row saw when it was predicted; one that was the mean, as an absent one is, stays the mean."""
    centre, scale = asked.units
    return np.where(asked.lags == 0.0, np.nan, centre + scale * asked.lags)


def _recent_from(config: list[Any], arrays: Arrays) -> dict[str, tuple[float, ...]]:
    """The last labels of keys out of a checkpoint."""
    if not config:
        return {}
    ends = np.cumsum([count("labels of a key", n) for _, n in config])
    if not all(isinstance(key, str) for key, _ in config):
        raise ValueError("the keys of labels are none")
    check_arrays({"recent": Field((int(ends[-1]),))}, arrays)
    parts = np.split(arrays["recent"], ends[:-1])
    return {key: tuple(part.tolist()) for (key, _), part in zip(config, parts, strict=True)}
