"""The job itself, without files: batches of records in, answers out, everything that is known in one place.

Each record is one of: a row with its label (predicted, then learned), a row without (predicted and remembered), a late
label (teaches the row it belongs to), a duplicate (answered, not learned), or a label for nobody (counted).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from iegp.core.settings import Settings
from iegp.errors import InputError
from iegp.run.answers import Answers
from iegp.run.digest import Digest
from iegp.run.stream import plan as plans
from iegp.run.stream.batch import Batch
from iegp.run.stream.encoder import Column, Encoder, Problem
from iegp.run.stream.learner import Learner
from iegp.run.stream.pending import PREDICTED, Pending, Waiting
from iegp.run.stream.plan import Plan
from iegp.typing import Bool, Float

LEARN, ASK, LATE, DUPLICATE, UNKNOWN = "learn", "ask", "late", "duplicate", "unknown"


@dataclass
class Counters:
    """How many of what."""

    rows: int = 0
    """Rows answered."""
    learned: int = 0
    late: int = 0
    duplicates: int = 0
    unknown_ids: int = 0
    bad: int = 0

    def to_config(self) -> dict[str, int]:
        return asdict(self)


class OnBad(Protocol):
    """Told of a record of the batch that cannot be used; raises to stop the run."""

    def __call__(self, index: int, problem: Problem) -> None: ...


class Job:
    """A model, the meaning of its columns, and the rows that wait."""

    def __init__(self, plan: Plan, settings: Settings, given_columns: bool) -> None:
        self.plan = plan
        self.settings = settings
        self.given_columns = given_columns
        """Whether the source names all its columns beforehand."""
        n_open = settings.warmup or 1000
        self.encoder = Encoder(plan.time, n_open, plan.missing == "error")
        self.learner: Learner | None = None
        self.pending = Pending(plan.max_pending)
        self.counters = Counters()
        self.digest = Digest(plan.task, plan.level)
        self.n_threads = 1

    # -- absorbing -------------------------------------------------------------------------------------------------

    def absorb(self, batch: Batch, answer: Callable[[Answers], None], on_bad: OnBad) -> None:
        """Answer and learn the records in order.

        ``answer`` gets what was predicted. ``on_bad`` is told of records that cannot be used, before anything of them
        has touched the model; if it raises, all records before are absorbed and none after.
        """
        n = len(batch)
        while len(batch):
            features = self.plan.features_of(batch)
            start, new = self._next_growth(batch, features)
            if start == 0:
                # Looked at first, so that a record that cannot be used leaves no column behind.
                if self._is_for_nobody(batch, features):
                    batch = batch.part(1, len(batch))
                    continue
                problem = self._first_problem(batch.part(0, 1), features.part(0, 1)) or self._cannot_begin(features)
                if problem is not None:
                    on_bad(n - len(batch), problem)
                    batch = batch.part(1, len(batch))
                    continue
                self._grow(new, features)
                start, _ = self._next_growth(batch, features)
            stop = min(start, len(batch), self._rows_to_refit())
            part, part_features = batch.part(0, stop), features.part(0, stop)
            problem = self._first_problem(part, part_features)
            if problem is not None:
                part, part_features = part.part(0, problem.place), part_features.part(0, problem.place)
            for answers in self._absorb_part(part, part_features):
                self.digest.add(answers, late=answers.note == LATE)
                answer(answers)
            batch = batch.part(len(part), len(batch))
            if problem is not None:
                on_bad(n - len(batch), problem)
                batch = batch.part(1, len(batch))

    def predict(self, batch: Batch) -> Iterator[Answers]:
        """Answer records and learn nothing; the caller has made sure that they can be encoded."""
        learner = self._learner()
        encoder = Encoder.from_config(self.encoder.to_config(), self.encoder.sums.copy(), self.encoder.counts.copy())
        x = encoder.encode(self.plan.features_of(batch))
        rows = np.arange(self.counters.rows, self.counters.rows + len(batch))
        self.counters.rows += len(batch)
        labels = self.plan.labels_of(batch)
        for answers in learner.ask(x, rows, self.plan.ids_of(batch)):
            yield replace(answers, label=labels)

    def problems(self, batch: Batch) -> list[Problem]:
        """Records that :meth:`predict` cannot answer; their labels do not matter."""
        features = self.plan.features_of(batch)
        found = self.encoder.problems(features, np.ones(len(batch), dtype=bool))
        return found + self._too_far(np.full(len(batch), np.nan), features)

    def _learner(self) -> Learner:
        if self.learner is None:
            raise InputError("the model has seen no row yet; stream some first")
        return self.learner

    def _rows_to_refit(self) -> int:
        return self._learner().rows_to_refit

    # -- columns ---------------------------------------------------------------------------------------------------

    def _next_growth(self, batch: Batch, features: Batch) -> tuple[int, list[Column]]:
        if self.learner is None:
            return 0, self.encoder.first_columns(features, self.given_columns)
        if self.counters.rows >= self.encoder.n_open:
            return len(batch), []
        is_row = self._is_row(features, self.plan.ids_of(batch))
        return self.encoder.next_growth(features, is_row, self.counters.rows)

    def _is_for_nobody(self, batch: Batch, features: Batch) -> bool:
        """Whether the first record of all is a label, which can belong to no row; it is counted."""
        if self.learner is not None or self._is_row(features, self.plan.ids_of(batch))[0]:
            return False
        self.counters.unknown_ids += 1
        return True

    def _cannot_begin(self, features: Batch) -> Problem | None:
        """A model begins with a row that has a feature."""
        if self.learner is not None or self.encoder.first_columns(features, self.given_columns):
            return None
        reason = "no features: there is nothing beside the target and the id; use more --features, or ignore fewer"
        return Problem(0, None, "", reason)

    def _grow(self, new: list[Column], features: Batch) -> None:
        if self.learner is not None:
            self.learner.add_columns(*self.encoder.grow(new, features))
            return
        self.encoder.begin(new)
        has_text = any(values.dtype == object for name, values in features.columns.items() if name != self.plan.time)
        settings = self.settings
        if settings.features == "orthogonal" and (has_text or not self.given_columns):
            # Orthogonal frequencies couple all columns, so none could be added later.
            settings = replace(settings, features="random")
        self.learner = Learner.begin(
            self.plan.task,
            settings,
            len(self.encoder.columns),
            classes=self.plan.classes,
            order=self.plan.order,
            level=self.plan.level,
            cheap_intervals=self.plan.intervals == "normal",
            n_threads=self.n_threads,
        )

    def _first_problem(self, batch: Batch, features: Batch) -> Problem | None:
        """The first record that cannot be used, found before anything is changed."""
        labels = self.plan.labels_of(batch)
        found = [Problem(i, self.plan.target, text, why) for i, text, why in self.plan.label_problems(batch, labels)]
        found += self.encoder.problems(features, self._is_row(features, self.plan.ids_of(batch)))
        return min(found + self._too_far(labels, features), key=lambda problem: problem.place, default=None)

    def _too_far(self, labels: NDArray[Any], features: Batch) -> list[Problem]:
        """Numbers so far from all before them that arithmetic would fail."""
        learner, found = self.learner, []
        if learner is None:
            return []
        if not self.plan.has_classes:
            for index in np.flatnonzero(learner.label_too_far(labels)):
                found.append(Problem(int(index), self.plan.target, f"{labels[index]:g}", "too far from all before it"))
        for place, column in enumerate(self.encoder.columns):
            values = features.columns.get(column.source)
            if column.kind == "number" and values is not None and values.dtype == np.float64:
                far = learner.too_far_in(place, values)
                found += [
                    Problem(int(i), column.source, f"{values[i]:g}", "too far from all before it")
                    for i in np.flatnonzero(far)
                ]
        return found

    # -- answering -------------------------------------------------------------------------------------------------

    def _absorb_part(self, batch: Batch, features: Batch) -> Iterator[Answers]:
        """Records that can all be used, between two changes of the columns."""
        if not len(batch):
            return
        labels, ids = self.plan.labels_of(batch), self.plan.ids_of(batch)
        is_row = self._is_row(features, ids)
        kinds, waiting = self._kinds(is_row, labels, ids)
        x = np.empty((len(batch), len(self.encoder.columns)))
        x[is_row] = self.encoder.encode(features.where(is_row))
        start = 0
        while start < len(batch):
            stop = start + 1
            while stop < len(batch) and kinds[stop] == kinds[start]:
                stop += 1
            some = slice(start, stop)
            some_ids = None if ids is None else ids[some]
            yield from self._answer(kinds[start], x[some], labels[some], some_ids, waiting[some])
            start = stop

    def _is_row(self, features: Batch, ids: tuple[str | None, ...] | None) -> Bool:
        """(n,): whether a record is a row; one that has a name but no features is about a row."""
        if ids is None:
            return np.ones(len(features), dtype=bool)
        return np.asarray(self.encoder.has_features(features) | np.array([name is None for name in ids], dtype=bool))

    def _kinds(
        self, is_row: Bool, labels: NDArray[Any], ids: tuple[str | None, ...] | None
    ) -> tuple[NDArray[Any], list[Waiting | None]]:
        """What each record is, and the place among the waiting that it takes or gives back.

        Places change hands here, record by record, so that who waits does not depend on how records were cut.
        """
        is_known = plans.known(labels)
        kinds = np.where(is_known, LEARN, ASK).astype(object)
        waiting: list[Waiting | None] = [None] * len(kinds)
        for index, name in enumerate(ids or ()):
            if name is None:
                continue
            if not is_row[index]:
                waiting[index] = self.pending.take(name) if is_known[index] else None
                kinds[index] = UNKNOWN if waiting[index] is None else LATE
            elif not self.pending.see(name):
                kinds[index] = DUPLICATE
            elif not is_known[index]:
                waiting[index] = self.pending.reserve(name)
        return kinds, waiting

    def _answer(
        self, kind: str, x: Float, labels: NDArray[Any], ids: Any, waiting: list[Waiting | None]
    ) -> Iterator[Answers]:
        learner, n = self._learner(), len(x)
        if kind == UNKNOWN:
            self.counters.unknown_ids += n
            return
        if kind == LATE:
            self.counters.late += n
            for name, label, place in zip(ids, labels, waiting, strict=True):
                assert place is not None
                yield self._teach(name, label, place)
            return
        rows = np.arange(self.counters.rows, self.counters.rows + n)
        self.counters.rows += n
        if kind == LEARN:
            self.counters.learned += n
            yield from learner.learn(x, labels, rows, ids)
            return
        for answers in learner.ask(x, rows, ids):
            if kind == DUPLICATE:
                self.counters.duplicates += n
                yield replace(answers, note=DUPLICATE)
                continue
            self._remember(answers, x, waiting)
            yield answers

    def _remember(self, answers: Answers, x: Float, waiting: list[Waiting | None]) -> None:
        numbers = np.full((len(answers), len(PREDICTED)), np.nan)
        if answers.mean is not None:
            numbers = np.column_stack([getattr(answers, name) for name in PREDICTED])
        for index, place in enumerate(waiting):
            if place is not None:
                place.row, place.x = int(answers.row[index]), x[index].copy()
                place.predicted = tuple(numbers[index].tolist())

    def _teach(self, name: str, label: Any, waiting: Waiting) -> Answers:
        """A label that came late teaches the features it was predicted with; the answer tells that prediction again."""
        learner = self._learner()
        x = self.encoder.widened(waiting.x)
        labels = np.array([label, None], dtype=object)[:1] if self.plan.has_classes else np.array([label], dtype=float)
        (answers,) = learner.learn(x, labels, np.array([waiting.row]), (name,))
        self.counters.learned += 1
        answers = replace(answers, note=LATE)
        if self.plan.has_classes:
            return answers
        mean, std, lower, upper = (np.array([value]) for value in waiting.predicted)
        return replace(answers, mean=mean, std=std, lower=lower, upper=upper)
