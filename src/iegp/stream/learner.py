"""A model in the middle of a stream of records: it predicts rows, learns them, and adds columns and classes.

:class:`AnyLearner` is what a job needs of a learner, so that one model for all rows and one model per key are used
alike. Models by key are a fleet (``iegp.fleet``), which this package does not import: a job is given a :class:`ByKey`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from iegp.core import late
from iegp.core import model as online
from iegp.core.changes import Change
from iegp.core.compute.tolerances import FARTHEST_INPUT, FARTHEST_VALUE, LARGEST_COUNT
from iegp.core.editing.columns import add_columns
from iegp.core.late import Asked, Label
from iegp.core.model import Online
from iegp.core.predictions import Predictions
from iegp.core.settings import Settings
from iegp.labels import ClassLabels, Codec, CountLabels, NumberLabels, grow
from iegp.preprocessing.time_features import TREND
from iegp.readers import object_array
from iegp.stream.answers import NUMBERS, predictions_of
from iegp.stream.pending import Clock, Waiting
from iegp.stream.plan import Plan
from iegp.typing import Arrays, Bool, Float


class Answered(NamedTuple):
    """Rows that were predicted and may get their labels later."""

    predictions: Predictions
    asked: list[Asked | None]
    """What the experts answered to the rows that may be labelled later."""
    places: Sequence[int]
    """Numbers of the rows in the clocks of their models."""
    n_known: int | None = None
    """Labels of the warm-up that were known to them, if lags depend on them."""


class Learner:
    """Rows (n, d) and labels in, predictions out. Labels are numbers (n,), or names of classes, None or NaN if unknown.

    A class that was never seen is predicted with what is known, then becomes a class; ordered ones take their place by
    size if they are numbers. With ``order`` only those named are known.
    """

    def __init__(self, plan: Plan, model: Online, classes: Sequence[str], n_threads: int = 1) -> None:
        self.task, self.level = plan.task, plan.level
        self.cheap_intervals = plan.intervals == "normal"
        self.model = model
        self.labels = _codec_of(plan, classes)
        self.n_threads = n_threads
        self.noticed: list[tuple[int, Change]] = []
        """Changes noticed in the rows that were learned last, each with the place of its row among them."""
        self.clocks: dict[str | None, Clock] = {None: Clock()}
        """How far the model has come; with a delay it counts the rows that wait itself."""

    @classmethod
    def begin(cls, plan: Plan, settings: Settings, n_columns: int, n_threads: int = 1) -> Learner:
        """A learner that has seen nothing. Classes that are not declared leave a place for one without a name."""
        n_outputs = _codec_of(plan, plan.classes).n_outputs
        model = online.begin(settings, n_columns, n_outputs, fills_gaps=True)
        return cls(plan, model, plan.classes, n_threads)

    @property
    def clock(self) -> Clock:
        """How far the model of all rows has come."""
        return self.clocks[None]

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes known so far, in the order of their numbers."""
        return self.labels.classes if isinstance(self.labels, ClassLabels) else ()

    # -- what may come next ----------------------------------------------------------------------------------------

    @property
    def rows_to_refit(self) -> int:
        """How many rows can be learned before scaling and hyperparameters are found anew."""
        return online.rows_to_refit(self.model)

    def too_far(self, x: Float) -> NDArray[np.bool_]:
        """Which values (n, d) lie so far from all before that arithmetic would fail."""
        return _too_far(x, self.model.scaling.x_mean, self.model.scaling.x_scale, FARTHEST_INPUT)

    def label_too_far(self, y: Float) -> NDArray[np.bool_]:
        """Which labels (n,) that are numbers lie too far, as :meth:`too_far`."""
        if self.task == "count":
            return np.asarray(y > LARGEST_COUNT)
        return _too_far(y, self.model.scaling.y_mean[0], self.model.scaling.y_scale[0], FARTHEST_VALUE)

    def add_columns(self, first_values: Float, past: Float) -> None:
        """More columns, after those that are there; ``past`` says what the rows before count as, NaN: unknown."""
        d = self.model.n_columns
        self.model = add_columns(self.model, range(d, d + len(first_values)), first_values, past)

    # -- answering -------------------------------------------------------------------------------------------------

    def learn(
        self, x: Float, labels: NDArray[Any], _keys: tuple[str, ...] | None = None, /
    ) -> list[tuple[Predictions, tuple[str, ...]]]:
        """Predict each row, then learn it, whatever its key.

        Returns the predictions of consecutive rows, and the classes that were known then.
        """
        self.catch_up()
        first = self.model.n_seen
        learned = list(self._learn(x, labels))
        self._notice(first)
        self.clock.came(len(x))
        return learned

    def _notice(self, first: int) -> None:
        """Changes in the rows of the model from ``first`` on."""
        changes = self.model.changes
        self.noticed = [] if changes is None else [(change.row - first, change) for change in changes.since(first)]

    def catch_up(self) -> None:
        """Rows that were predicted since the last one learned have passed; a later label of theirs is an old one."""
        if self.clock.behind:
            online.pass_rows(self.model, self.clock.behind)
            self.clock.learned = self.clock.rows

    def _learn(self, x: Float, labels: NDArray[Any]) -> Iterator[tuple[Predictions, tuple[str, ...]]]:
        for start, stop, is_new in self._segments(labels):
            x_part, y_part, classes = x[start:stop], labels[start:stop], self.classes
            if is_new:
                # A class that is not known cannot be predicted: the row is answered with what is known, then learned.
                predictions = self.predict(x_part)
                self._grow(y_part[0])
                online.absorb(self.model, x_part, self.labels.encode(y_part), self.n_threads, self._times(x_part))
            else:
                predictions = self._predict_and_learn(x_part, self.labels.encode(y_part))
            yield predictions, classes

    def predict(self, x: Float, _keys: tuple[str, ...] | None = None, /) -> Predictions:
        """Predict each row as if it came next; nothing is learned."""
        n, model, times = len(x), self.model, self._times(x)
        if self._has_no_units:
            return _nothing(n)
        if self.clock.behind:
            model = replace(model, state=model.state.copy())
            online.pass_rows(model, self.clock.behind)
        if self._has_classes:
            return self._class_predictions(online.predict_classes(model, x, time=times))
        if self.task == "count":
            return self.of_numbers(online.predict_counts(model, x, np.ones(n), time=times))
        return self.of_numbers(online.predict(model, x, time=times))

    def ask(self, x: Float, wanted: Sequence[bool], _keys: tuple[str, ...] | None = None, /) -> Answered:
        """Predict each row, which comes next and has no label yet."""
        n, places = len(x), range(self.clock.rows, self.clock.rows + len(x))
        if self._has_no_units:
            answered = Answered(_nothing(n), [None] * n, places)
        else:
            asked = online.ask(self.model, x, steps_ahead(self.model, self.clock), self._times(x))
            rows = [asked.row(i) if wanted[i] else None for i in range(n)]
            answered = Answered(self.answered(asked), rows, places)
        if not self.model.settings.delay:
            self.clock.rows += n
        return answered._replace(n_known=online.note_asked(self.model) if any(wanted) else None)

    def answered(self, asked: Asked) -> Predictions:
        """The predictions of the ensemble, out of those of its experts."""
        ensemble = self.model.experts.ensemble
        if self._has_classes:
            return self._class_predictions(late.classes(ensemble, asked))
        if self.task == "count":
            return self.of_numbers(late.counts(ensemble, asked, np.ones(len(asked.used))))
        return self.of_numbers(late.mixture(ensemble, asked))

    def learn_asked(self, waiting: Waiting, x: Float, label: Any) -> Predictions:
        """Learn a row that was predicted earlier, whose label has arrived; the answer that was given is scored."""
        if label is not None and isinstance(self.labels, ClassLabels) and label not in self.labels.classes:
            self._grow(label)
        late_label, scored = self.scored(waiting, label)
        place = waiting.place
        late_label = late_label._replace(n_steps=self.clock.arrived(place), delay=self.clock.rows_after(place))
        first = self.model.n_seen
        online.learn_asked(self.model, x, late_label, None if self.model.clock is None else x[:, TREND])
        self._notice(first)
        return scored

    def scored(self, waiting: Waiting, label: Any) -> tuple[Label, Predictions]:
        """A label that has come late, and the answer that was given, with its scores."""
        ensemble = self.model.experts.ensemble
        y = self.labels.encode(object_array([label]) if self._has_classes else np.array([label]))
        asked = waiting.asked
        current = Label(y, asked if waiting.experts is self.model.experts else None, 1, n_known=waiting.n_known)
        if self._has_classes:
            known = label in waiting.classes
            log_score = np.log(waiting.proba[waiting.classes.index(label)]) if known else np.nan
            return current, predictions_of(np.array([log_score]), proba=np.array([waiting.proba]))
        numbers: dict[str, Float] = {n: np.array([v]) for n, v in zip(NUMBERS, waiting.predicted, strict=True)}
        if asked is None:
            return current, predictions_of(np.array([np.nan]), **numbers)
        with_pit = self.task == "regression" and not self.cheap_intervals
        pit = late.mixture(ensemble, asked).cdf([label]) if with_pit else None
        current = current._replace(interval=(waiting.predicted[2], waiting.predicted[3]))
        far = abs(label - waiting.predicted[0]) > ensemble.glitch * waiting.predicted[1]
        log_score = late.log_score(ensemble, Label(y, asked, 1))
        return current._replace(is_far=bool(far)), predictions_of(np.array([log_score]), pit=pit, **numbers)

    def are_new(self, _keys: tuple[str, ...] | None, /) -> Bool | None:
        """There are no models by key here, so none can be missing."""
        return None

    def to_parts(self) -> tuple[dict[str, Any] | None, Arrays]:
        """What a checkpoint holds beside the model: nothing."""
        return None, {}

    # -- private ---------------------------------------------------------------------------------------------------

    def _times(self, x: Float) -> Float | None:
        """(n,): days since the start, where drift is per unit of time; none before what was learned."""
        clock = self.model.clock
        if clock is None:
            return None
        times = x[:, TREND]
        return times.copy() if np.isnan(clock.newest) else np.maximum(times, clock.newest)

    def _class_predictions(self, proba: Float) -> Predictions:
        return predictions_of(np.full(len(proba), np.nan), proba=proba[:, : len(self.classes)])

    def of_numbers(self, dist: Any, ends: tuple[Float, Float] | None = None) -> Predictions:
        """Mean, standard deviation and interval of each row's distribution; ``ends`` of the intervals, if known."""
        mean, std = (np.asarray(part).reshape(-1) for part in (dist.mean, dist.std))
        if self.cheap_intervals:
            lower, upper = self.normal_interval(mean, std)
        elif ends is not None:
            lower, upper = ends
        elif self.model.conformal is not None:
            lower, upper = (end[:, 0] for end in online.interval(self.model, dist, self.level))
        else:
            lower, upper = (np.asarray(end, dtype=np.float64).reshape(-1) for end in dist.interval(self.level))
        return predictions_of(np.full(len(mean), np.nan), mean=mean, std=std, lower=lower, upper=upper)

    @property
    def _has_classes(self) -> bool:
        return self.task in ("classification", "ordinal")

    @property
    def _has_no_units(self) -> bool:
        """Whether the units of the target are not known yet."""
        return self.task == "regression" and self.model.state.rows[0] == 0.0 and self.model.settings.standardize

    def _segments(self, labels: NDArray[Any]) -> Iterator[tuple[int, int, bool]]:
        """Cut rows into segments of known classes and single rows of a new class."""
        if isinstance(self.labels, ClassLabels):
            yield from self.labels.segments(labels)
            return
        # The rows before the first label arrives apart, because they are answered with nothing.
        first = min(self._rows_without_units(), len(labels) - 1)
        if first > 0:
            yield 0, first, False
        yield max(first, 0), len(labels), False

    def _rows_without_units(self) -> int:
        """How many more rows come before the units of the target are known."""
        return self.model.settings.delay + 1 - self.model.n_seen if self._has_no_units else 0

    def _grow(self, label: str) -> None:
        assert isinstance(self.labels, ClassLabels)
        self.model, self.labels = grow(self.model, self.labels, label)

    def _predict_and_learn(self, x: Float, y: Float) -> Predictions:
        has_no_units = self._has_no_units
        level = None if self.cheap_intervals or self._has_classes else self.level
        predictions = online.learn(self.model, x, y, self.n_threads, level, self._times(x))
        if has_no_units:
            return _nothing(len(x))._replace(weights=predictions.weights)
        if self._has_classes:
            return predictions._replace(proba=predictions.proba[:, : len(self.classes)], pit=predictions.pit[:0])
        if level is None:
            lower, upper = self.normal_interval(predictions.mean, predictions.std)
            predictions = predictions._replace(lower=lower, upper=upper)
        return predictions if self.task == "regression" else predictions._replace(pit=predictions.pit[:0])

    def normal_interval(self, mean: Float, std: Float) -> tuple[Float, Float]:
        """Mean ± z std: what a Gaussian with these moments would give, at no cost."""
        reach = NormalDist().inv_cdf(0.5 + 0.5 * self.level) * std
        lower = mean - reach
        return np.maximum(lower, 0.0) if self.task == "count" else lower, mean + reach


def _codec_of(plan: Plan, classes: Sequence[str]) -> Codec:
    """How labels become numbers; ordered ones sort by size unless their order is given."""
    if plan.task == "ordinal":
        names, is_fixed = tuple(plan.order or classes), plan.order is not None
        return ClassLabels(names, is_ordered=True, is_fixed=is_fixed, key=float, argument="order")
    if plan.task == "classification":
        return ClassLabels(tuple(classes))
    return CountLabels() if plan.task == "count" else NumberLabels()


def _too_far(values: Float, centre: Float | float, scale: Float | float, farthest: float) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        return np.asarray(np.abs((values - centre) / scale) > farthest)


def _nothing(n: int) -> Predictions:
    """Predictions of rows before the units of the target are known: all NaN."""
    gap = np.full(n, np.nan)
    return predictions_of(gap, mean=gap, std=gap, lower=gap, upper=gap, pit=gap)


def steps_ahead(model: Online, clock: Clock) -> int:
    """How many rows after the last that was learned the next one comes.

    With a delay only labelled rows wait, and are counted by the model.
    """
    return 1 + (clock.behind if model.waiting is None else len(model.waiting.x))


class AnyLearner(Protocol):
    """Rows (n, d) and labels in, predictions out; see :class:`Learner`, the plain one."""

    @property
    def model(self) -> Online:
        """The model of all rows; of models by key the one that each key starts from."""
        ...

    @property
    def classes(self) -> tuple[str, ...]: ...

    @property
    def rows_to_refit(self) -> int:
        """How many rows can be learned before something about all of them is found anew."""
        ...

    def too_far(self, x: Float) -> Bool: ...

    def label_too_far(self, y: Float) -> Bool: ...

    def add_columns(self, first_values: Float, past: Float) -> None: ...

    def learn(
        self, x: Float, labels: NDArray[Any], keys: tuple[str, ...] | None = None, /
    ) -> list[tuple[Predictions, tuple[str, ...]]]:
        """Predict each row, then learn it: predictions of consecutive rows, and the classes that were known then."""
        ...

    def predict(self, x: Float, keys: tuple[str, ...] | None = None, /) -> Predictions:
        """Predict each row as if it came next; nothing is learned."""
        ...

    def ask(self, x: Float, wanted: Sequence[bool], keys: tuple[str, ...] | None = None, /) -> Answered:
        """Predict each row, which comes next and has no label yet."""
        ...

    def learn_asked(self, waiting: Waiting, x: Float, label: Any) -> Predictions:
        """Learn a row that was predicted earlier, whose label has arrived; the answer that was given is scored."""
        ...

    @property
    def noticed(self) -> list[tuple[int, Change]]:
        """Changes noticed in the rows that were learned last, each with the place of its row among them."""
        ...

    @property
    def clocks(self) -> dict[str | None, Clock]:
        """How far each model has come, by key; None is that of all rows."""
        ...

    def are_new(self, keys: tuple[str, ...] | None, /) -> Bool | None:
        """(n,): keys without a model of their own; None while there are no models by key."""
        ...

    def to_parts(self) -> tuple[dict[str, Any] | None, Arrays]:
        """What a checkpoint holds beside the model: plain data and arrays."""
        ...


class ByKey(Protocol):
    """How a learner of all rows becomes one of models by key."""

    def begin(self, shared: Learner) -> AnyLearner:
        """Around a learner that has seen nothing."""
        ...

    def restore(self, shared: Learner, config: dict[str, Any] | None, arrays: Arrays) -> AnyLearner:
        """Around a learner out of a checkpoint, and what :meth:`AnyLearner.to_parts` gave."""
        ...
