"""A model in the middle of a stream of records: it answers rows, learns them, and grows columns and classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.core import model as online
from iegp.core.compute.tolerances import FARTHEST_VALUE
from iegp.core.editing.columns import add_columns
from iegp.core.editing.new_class import add_class
from iegp.core.editing.new_level import add_level, mirrored
from iegp.core.likelihoods.poisson import LARGEST_COUNT
from iegp.core.model import Online
from iegp.core.settings import Settings
from iegp.core.state import Trace
from iegp.errors import InputError
from iegp.stream.answers import Answers
from iegp.typing import Arrays, Bool, Float, Int


class Learner:
    """Rows (n, d) and labels in, answers out. Labels are numbers (n,), or names of classes, None or NaN if unknown.

    A class that was never seen is predicted with what is known, then becomes a class; ordered ones take their place by
    size if they are numbers. With ``order`` only those named are known.
    """

    def __init__(
        self,
        task: str,
        model: Online,
        classes: Sequence[str] = (),
        order: Sequence[str] | None = None,
        level: float = 0.95,
        cheap_intervals: bool = False,
        n_threads: int = 1,
    ) -> None:
        self.task = task
        self.model = model
        self.order = None if order is None else tuple(order)
        self.classes = tuple(order or classes)
        self.level = level
        self.cheap_intervals = cheap_intervals
        self.n_threads = n_threads

    @classmethod
    def begin(cls, task: str, settings: Settings, n_columns: int, **options: Any) -> Learner:
        """A learner that has seen nothing. Classes that are not declared leave a place for one without a name."""
        declared = options.get("order") or options.get("classes") or ()
        n_outputs = max(2, len(declared)) if task in ("classification", "ordinal") else 1
        return cls(task, online.begin(settings, n_columns, n_outputs, fills_gaps=True), **options)

    # -- what may come next ----------------------------------------------------------------------------------------

    @property
    def rows_to_refit(self) -> int:
        """How many rows can be learned before scaling and hyperparameters are found anew."""
        return online.rows_to_refit(self.model)

    def too_far(self, x: Float) -> NDArray[np.bool_]:
        """Which values (n, d) lie so far from all before that arithmetic would fail."""
        return _too_far(x, self.model.scaling.x_mean, self.model.scaling.x_scale)

    def label_too_far(self, y: Float) -> NDArray[np.bool_]:
        """The same for labels (n,) that are numbers."""
        if self.task == "count":
            return np.asarray(y > LARGEST_COUNT)
        return _too_far(y, self.model.scaling.y_mean[0], self.model.scaling.y_scale[0])

    def add_columns(self, first_values: Float, past: Float) -> None:
        """More columns, after those that are there; ``past`` says what the rows before count as, NaN: unknown."""
        model, d = self.model, self.model.n_columns
        self.model = add_columns(model, range(d, d + len(first_values)), first_values)
        self.model.kept_x[:, d:] = past

    # -- answering -------------------------------------------------------------------------------------------------

    def learn(
        self, x: Float, labels: NDArray[Any], row: Int, ids: Any = None, keys: tuple[str, ...] | None = None
    ) -> list[Answers]:
        """Predict each row, then learn it, whosever it is."""
        return list(self._learn(x, labels, row, ids, keys))

    def _learn(self, x: Float, labels: NDArray[Any], row: Int, ids: Any, keys: Any) -> Iterator[Answers]:
        for start, stop, is_new in self._spells(labels):
            x_part, y_part, row_part = x[start:stop], labels[start:stop], row[start:stop]
            ids_part, keys_part = (None if names is None else names[start:stop] for names in (ids, keys))
            if is_new:
                # Nobody could predict a class that nobody knew: the row is answered with what is known, then learned.
                (answer,) = self.ask(x_part, row_part, ids_part, keys_part)
                self._add_class(y_part[0])
                online.absorb(self.model, x_part, self._numbers(y_part), self.n_threads)
                yield replace(answer, label=y_part)
                continue
            blind = self._is_blind
            level = None if self.cheap_intervals or self._has_classes else self.level
            trace = online.learn(self.model, x_part, self._numbers(y_part), self.n_threads, level)
            yield replace(self._answers(trace, y_part, row_part, ids_part, blind), keys=keys_part)

    def ask(self, x: Float, row: Int, ids: Any = None, keys: tuple[str, ...] | None = None) -> list[Answers]:
        """Predict each row as if it came next; nothing is learned."""
        return [replace(answers, keys=keys) for answers in self._ask(x, row, ids)]

    def _ask(self, x: Float, row: Int, ids: Any) -> list[Answers]:
        n = len(x)
        unknown = np.full(n, None, dtype=object) if self._has_classes else np.full(n, np.nan)
        log_score = np.full(n, np.nan)
        if self._has_classes:
            proba = online.predict_classes(self.model, x)[:, : len(self.classes)]
            return [Answers(row, unknown, log_score, proba=proba, classes=self.classes, ids=ids)]
        if self._is_blind:
            return [_without_prediction(Answers(row, unknown, log_score, *_nothing(n), ids=ids))]
        if self.task == "count":
            dist: Any = online.predict_counts(self.model, x, np.ones(n))
            mean, std = dist.mean, dist.std
        else:
            dist = online.predict(self.model, x)
            mean, std = dist.mean[:, 0], dist.std[:, 0]
        if self.cheap_intervals:
            lower, upper = self.normal_interval(mean, std)
        else:
            lower, upper = (np.asarray(end, dtype=np.float64).reshape(n) for end in dist.interval(self.level))
        return [Answers(row, unknown, log_score, mean, std, lower, upper, ids=ids)]

    def are_new(self, _keys: tuple[str, ...] | None, /) -> Bool | None:
        """There are no models by key here, so none can be missing."""
        return None

    def to_parts(self) -> tuple[dict[str, Any] | None, Arrays]:
        """What a checkpoint holds beside the model: nothing."""
        return None, {}

    # -- private ---------------------------------------------------------------------------------------------------

    @property
    def _has_classes(self) -> bool:
        return self.task in ("classification", "ordinal")

    @property
    def _is_blind(self) -> bool:
        """Whether not even the units of the target are known yet."""
        return self.task == "regression" and self.model.n_seen == 0 and self.model.settings.standardize

    def _spells(self, labels: NDArray[Any]) -> Iterator[tuple[int, int, bool]]:
        """Stretches of rows whose classes are known, and single rows whose class is new."""
        if not self._has_classes:
            # The first row alone, because it is answered with nothing.
            first = 1 if self._is_blind and len(labels) > 1 else 0
            if first:
                yield 0, 1, False
            yield first, len(labels), False
            return
        start = 0
        while start < len(labels):
            if labels[start] not in self.classes:
                yield start, start + 1, True
                start += 1
                continue
            known, stop = set(self.classes), start + 1
            while stop < len(labels) and labels[stop] in known:
                stop += 1
            yield start, stop, False
            start = stop

    def _numbers(self, labels: NDArray[Any]) -> Float:
        """Labels as the core takes them, (n, columns of y)."""
        if self._has_classes:
            number_of = {name: float(number) for number, name in enumerate(self.classes)}
            return np.array([[number_of[label]] for label in labels])
        y = np.asarray(labels, dtype=np.float64)
        return np.column_stack([y, np.ones(len(y))]) if self.task == "count" else np.ascontiguousarray(y[:, None])

    def _answers(self, trace: Trace, labels: NDArray[Any], row: Int, ids: Any, blind: bool) -> Answers:
        if self._has_classes:
            proba = trace.mean[:, : len(self.classes)]
            return Answers(
                row, labels, trace.log_score, proba=proba, classes=self.classes, weights=trace.weights, ids=ids
            )
        mean, std = trace.mean[:, 0], trace.std[:, 0]
        if self.cheap_intervals:
            lower, upper = self.normal_interval(mean, std)
        else:
            lower, upper = trace.lower[:, 0], trace.upper[:, 0]
        pit = trace.pit[:, 0] if len(trace.pit) else None
        answers = Answers(
            row, labels, trace.log_score, mean, std, lower, upper, pit=pit, weights=trace.weights, ids=ids
        )
        return _without_prediction(answers) if blind else answers

    def normal_interval(self, mean: Float, std: Float) -> tuple[Float, Float]:
        """Mean ± z std: what a Gaussian with these moments would give, at no cost."""
        reach = NormalDist().inv_cdf(0.5 + 0.5 * self.level) * std
        lower = mean - reach
        return np.maximum(lower, 0.0) if self.task == "count" else lower, mean + reach

    def _add_class(self, label: str) -> None:
        if self.task == "classification":
            if len(self.classes) == self.model.n_outputs:
                self.model = add_class(self.model)
            self.classes = (*self.classes, label)
            return
        if self.order is not None:
            raise InputError(f"the label {label!r} is none of those in order ({', '.join(self.order)})")
        keys = [_size(name) for name in self.classes]
        place = sum(key < _size(label) for key in keys)
        if len(keys) == 1 and place == 0:
            # The level that has no name yet was thought to lie above the only one seen; it lies below.
            self.model = mirrored(self.model)
        elif len(keys) > 1:
            self.model = add_level(self.model, place)
        self.classes = (*self.classes[:place], label, *self.classes[place:])


def _too_far(values: Float, centre: Float | float, scale: Float | float) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        return np.asarray(np.abs((values - centre) / scale) > FARTHEST_VALUE)


def _size(label: str) -> float:
    """The place of an ordered label on the line; names must be numbers unless their order was given."""
    try:
        return float(label)
    except ValueError as error:
        raise InputError(
            f"the label {label!r} is not a number, so its place in the order is not known; name all labels from lowest "
            "to highest with --order low,middle,high"
        ) from error


def _nothing(n: int) -> tuple[Float, Float, Float, Float, Float]:
    gap = np.full(n, np.nan)
    return gap, gap, gap, gap, gap


def _without_prediction(answers: Answers) -> Answers:
    mean, std, lower, upper, pit = _nothing(len(answers))
    log_score = np.full(len(answers), np.nan)
    return replace(answers, mean=mean, std=std, lower=lower, upper=upper, pit=pit, log_score=log_score)
