"""The job of ``iegp stream`` without files: batches of records in, answers out.

Each record is one of: a row with its label (predicted, then learned), a row without (predicted and remembered), a late
label (its row is learned), a duplicate (answered, not learned), or a label that matches no row (counted). With models
by key each row has a key; a late label belongs to the key of its row, even if it has another one itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from iegp.core.changes import Change
from iegp.core.compute.tolerances import MOST_CHANGES
from iegp.core.model import Online
from iegp.core.settings import Settings
from iegp.errors import InputError
from iegp.preprocessing.encoder import NUMBER, Column, Encoder, Problem
from iegp.preprocessing.time_features import TREND
from iegp.readers import Batch, is_missing, object_array
from iegp.storage.schema import flag
from iegp.stream import job_storage
from iegp.stream.answers import NUMBERS, Answers
from iegp.stream.counters import Counters
from iegp.stream.digest import Digest
from iegp.stream.learner import Answered, AnyLearner, ByKey, Learner
from iegp.stream.pending import Pending, Waiting
from iegp.stream.plan import Plan, many_classes
from iegp.typing import Arrays, Bool, Float, Int

# Rows that are absorbed at once; what a run answers depends on it in the last digits, so it is fixed.
BLOCK = 1024
# Of models by key: a key has few rows among so many, and each time its state has to be fetched from memory.
KEYED_BLOCK = 8192
NO_KEY = "no key: every row needs one, because each key has a model of its own"
_TOO_FAR = "too far from all values before it for arithmetic; remove or clip it"
_BACKWARDS = "time goes backwards: the row comes before one so far, and --drift-per time needs rows in order; sort them"
_LATE_WITH_DELAY = (
    "a label that comes after its row, in a stream whose --delay says when labels come: leave --delay out"
)
LEARN, ASK, LATE, DUPLICATE, UNKNOWN = "learn", "ask", "late", "duplicate", "unknown"


@dataclass(frozen=True)
class _Part:
    """Records between two changes: what is known about them before they are absorbed."""

    labels: NDArray[Any]
    ids: tuple[str | None, ...] | None
    is_row: Bool
    problems: tuple[Problem, ...]
    keys: tuple[str | None, ...] | None = None
    raw: Float = field(default_factory=lambda: np.empty((0, 0)))
    """(rows, d): features of those that are rows, gaps still open."""

    def before(self, place: int) -> _Part:
        ids, keys = (None if names is None else names[:place] for names in (self.ids, self.keys))
        return _Part(self.labels[:place], ids, self.is_row[:place], (), keys)


class OnBad(Protocol):
    """Called with a record of the batch that cannot be used; raises to stop the run."""

    def __call__(self, index: int, problem: Problem) -> None: ...


class Job:
    """A model, the meaning of its columns, and the rows that wait. ``by_key`` is needed if the plan names a key."""

    learns_part_blocks = True

    def __init__(self, plan: Plan, settings: Settings, given_columns: bool, by_key: ByKey | None = None) -> None:
        if plan.key is not None and by_key is None:
            raise InputError(f"the plan has the key {plan.key!r}, but by_key, which makes models by key, is missing")
        self.plan = plan
        self.settings = settings
        self.given_columns = given_columns
        """Whether the source names all its columns beforehand."""
        n_open = settings.warmup or 1000
        self.encoder = Encoder(plan.time, n_open, plan.missing == "error")
        if plan.key is not None:
            self.encoder.most_late = 0  # a fleet has the columns of its template
        self.by_key = by_key
        self.learner: AnyLearner | None = None
        self.pending = Pending(plan.max_pending)
        self.counters = Counters()
        self.changes: list[Change] = []
        """The last changes that were noticed, by the numbers of their rows in the stream."""
        self.digest = Digest(plan.task, plan.level, settings.delay)
        self.n_threads = 1

    def start_from(self, model: Online) -> None:
        """Continue with a model of numbers that has learned rows of the columns of the plan, in their order."""
        self.encoder.n_open = 0
        self.encoder.add([Column(NUMBER, name) for name in self.plan.features or ()])
        self.learner = Learner(self.plan, replace(model, fills_gaps=True), (), self.n_threads)

    @property
    def block(self) -> int:
        """How many rows are absorbed at once."""
        return BLOCK if self.plan.key is None else KEYED_BLOCK

    # -- absorbing -------------------------------------------------------------------------------------------------

    def absorb(self, batch: Batch, answer: Callable[[Answers], None], on_bad: OnBad) -> None:
        """Answer and learn the records in order.

        ``answer`` gets what was predicted. ``on_bad`` is called with records that cannot be used, before they
        have changed the model; if it raises, all records before are absorbed and none after.
        """
        n = len(batch)
        while len(batch):
            if self._is_unmatched_label(batch):
                batch = batch.part(1, len(batch))
                continue
            part, problem = self._next_part(batch)
            if part is not None and len(part.labels):
                for answers in self._absorb_part(part):
                    self.digest.add(answers, late=answers.note == LATE)
                    answer(answers)
                batch = batch.part(len(part.labels), len(batch))
            if problem is not None:
                on_bad(n - len(batch), problem)
                batch = batch.part(1, len(batch))

    def _next_part(self, batch: Batch) -> tuple[_Part | None, Problem | None]:
        """The first records, up to a change of the columns, a refit, or a record that cannot be used.

        Within them scaling and columns stay as they are, so that all checks can be made before anything is changed.
        """
        features = self.plan.features_of(batch)
        growth, new = self._next_growth(batch, features)
        if growth == 0:
            # A record that cannot be used must not bring columns either.
            one = features.part(0, 1)
            problem = self._problem_in(self._part_of(batch.part(0, 1), one), one) or self._cannot_begin(features)
            if problem is not None:
                return None, problem
            self._grow(new, features)
            growth, _ = self._next_growth(batch, features)
        stop = min(growth, len(batch), self._learner().rows_to_refit)
        features = features.part(0, stop)
        part = self._part_of(batch.part(0, stop), features)
        problem = self._problem_in(part, features)
        if problem is not None:
            part, features = part.before(problem.place), features.part(0, problem.place)
        raw = self.encoder.raw(features.where(part.is_row))
        too_far = self._too_far(part, raw)
        if too_far is not None:
            part, features, problem = part.before(too_far.place), features.part(0, too_far.place), too_far
            raw = raw[: int(part.is_row.sum())]
        self.encoder.count_unknown(features.where(part.is_row))
        return replace(part, raw=raw), problem

    def predict(self, batch: Batch) -> Answers:
        """Answer records and learn nothing; the caller has made sure that they can be encoded."""
        learner = self._learner()
        encoder = Encoder.from_config(self.encoder.to_config(), self.encoder.sums.copy(), self.encoder.counts.copy())
        x = encoder.encode(self.plan.features_of(batch))
        rows = np.arange(self.counters.rows, self.counters.rows + len(batch))
        self.counters.rows += len(batch)
        labels = self.plan.labels_of(batch)
        keys = self.plan.keys_of(batch)
        keys = None if keys is None else tuple(str(key) for key in keys)
        answers = Answers(learner.predict(x, keys), rows, labels, learner.classes, self.plan.ids_of(batch), keys)
        return replace(answers, is_new_key=learner.are_new(keys))

    def problems(self, batch: Batch) -> list[Problem]:
        """Records that :meth:`predict` cannot answer; their labels do not matter."""
        features = self.plan.features_of(batch)
        usable = np.ones(len(batch), dtype=bool)
        found = [*self._without_key(self.plan.keys_of(batch), usable), *self.encoder.problems(features, usable)]
        usable[[problem.place for problem in found]] = False
        raw = self.encoder.raw(features.where(usable))
        return [*found, *self._far_values(raw, usable), *self._backwards(raw, usable, in_order=False)]

    def _learner(self) -> AnyLearner:
        if self.learner is None:
            raise InputError("the model has seen no row yet; stream some first")
        return self.learner

    # -- columns ---------------------------------------------------------------------------------------------------

    def _next_growth(self, batch: Batch, features: Batch) -> tuple[int, list[Column]]:
        if self.learner is None:
            return 0, self.encoder.first_columns(features, self.given_columns)
        if self.counters.rows >= self.encoder.n_open and not self.encoder.takes_late:
            return len(batch), []
        is_row = self._is_row(features, self.plan.ids_of(batch))
        return self.encoder.next_growth(features, is_row, self.counters.rows)

    def _is_unmatched_label(self, batch: Batch) -> bool:
        """Whether the first record of all is a label, which matches no row; it is counted."""
        if self.learner is not None or self._is_row(self.plan.features_of(batch), self.plan.ids_of(batch))[0]:
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
            self.learner.add_columns(*self.encoder.grow(new, features, self.counters.rows))
            return
        self.encoder.add(new)
        has_text = any(values.dtype == object for name, values in features.columns.items() if name != self.plan.time)
        settings = self.settings
        if settings.features == "orthogonal" and (has_text or not self.given_columns):
            # Orthogonal frequencies couple all columns, so none could be added later.
            settings = replace(settings, features="random")
        learner = Learner.begin(self.plan, settings, len(self.encoder.columns), self.n_threads)
        self.learner = learner if self.plan.key is None or self.by_key is None else self.by_key.begin(learner)

    def _part_of(self, batch: Batch, features: Batch) -> _Part:
        labels, ids = self.plan.labels_of(batch), self.plan.ids_of(batch)
        texts = self.plan.label_problems(batch, labels)
        problems = [Problem(place, self.plan.target, text, reason) for place, text, reason in texts]
        problems += self._many_classes(labels)
        is_row, keys = self._is_row(features, ids), self.plan.keys_of(batch)
        if self.settings.delay:
            late = np.flatnonzero(~is_row & ~is_missing(labels))
            problems += [Problem(int(place), self.plan.id, "", _LATE_WITH_DELAY) for place in late]
        return _Part(labels, ids, is_row, (*problems, *self._without_key(keys, is_row)), keys)

    def _many_classes(self, labels: NDArray[Any]) -> list[Problem]:
        """The first label that would be one class too many."""
        if self.plan.task != "classification":
            return []
        known = self.plan.classes if self.learner is None else self.learner.classes
        found = many_classes(labels, known, self.plan.classes_limit)
        return [] if found is None else [Problem(found[0], self.plan.target, str(labels[found[0]]), found[1])]

    def _without_key(self, keys: tuple[str | None, ...] | None, is_row: Bool) -> list[Problem]:
        """Rows without a key, where there are models by key."""
        if keys is None or all(keys):
            return []
        return [Problem(i, self.plan.key, "", NO_KEY) for i, key in enumerate(keys) if is_row[i] and not key]

    def _problem_in(self, part: _Part, features: Batch) -> Problem | None:
        """The first record with a label or features that cannot be read."""
        found = [*part.problems, *self.encoder.problems(features, part.is_row)]
        return min(found, key=lambda problem: problem.place, default=None)

    def _too_far(self, part: _Part, raw: Float) -> Problem | None:
        """The first record with a number that is too large for the arithmetic, or a time that cannot be."""
        found = [*self._far_values(raw, part.is_row), *self._backwards(raw, part.is_row, in_order=True)]
        if not self.plan.has_classes:
            for record in np.flatnonzero(self._learner().label_too_far(part.labels))[:1]:
                found.append(Problem(int(record), self.plan.target, f"{part.labels[record]:g}", _TOO_FAR))
        return min(found, key=lambda problem: problem.place, default=None)

    def _backwards(self, raw: Float, is_row: Bool, in_order: bool) -> list[Problem]:
        """Rows among the records that come before rows so far, where drift is per unit of time."""
        if self.settings.drift_per == "row":
            return []
        records = np.flatnonzero(is_row)
        places = self.encoder.backwards(raw, in_order)
        return [Problem(int(records[row]), self.plan.time, f"{raw[row, TREND]:g} days", _BACKWARDS) for row in places]

    def _far_values(self, raw: Float, is_row: Bool) -> list[Problem]:
        """Values of the rows among the records that lie too far from all before."""
        found, records = [], np.flatnonzero(is_row)
        for row, place in np.argwhere(self._learner().too_far(raw)):
            source = self.encoder.columns[place].source
            found.append(Problem(int(records[row]), source, f"{raw[row, place]:g}", _TOO_FAR))
        return found

    # -- answering -------------------------------------------------------------------------------------------------

    def _absorb_part(self, part: _Part) -> Iterator[Answers]:
        """Records that can all be used, between two changes of the columns."""
        labels, ids, is_row, keys = part.labels, part.ids, part.is_row, part.keys
        kinds, waiting = self._kinds(is_row, labels, ids)
        x = self.encoder.filled(part.raw)
        if not is_row.all():
            x, rows = np.empty((len(labels), x.shape[1])), x
            x[is_row] = rows
        start = 0
        while start < len(labels):
            stop = start + 1
            while stop < len(labels) and kinds[stop] == kinds[start]:
                stop += 1
            some = slice(start, stop)
            some_ids, some_keys = (None if names is None else names[some] for names in (ids, keys))
            yield from self._answer(kinds[start], x[some], labels[some], some_ids, some_keys, waiting[some])
            start = stop

    def _is_row(self, features: Batch, ids: tuple[str | None, ...] | None) -> Bool:
        """(n,): whether a record is a row; one that has a name but no features is about a row."""
        if ids is None or not any(ids):
            return np.ones(len(features), dtype=bool)
        return np.asarray(self.encoder.has_features(features) | np.array([name is None for name in ids], dtype=bool))

    def _kinds(
        self, is_row: Bool, labels: NDArray[Any], ids: tuple[str | None, ...] | None
    ) -> tuple[NDArray[Any], list[Waiting | None]]:
        """What each record is, and the place among the waiting that it takes or gives back.

        Places are taken and given back record by record, so that the rows that wait do not depend on the cuts.
        """
        is_known = ~is_missing(labels)
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
        self, kind: str, x: Float, labels: NDArray[Any], ids: Any, keys: Any, waiting: list[Waiting | None]
    ) -> Iterator[Answers]:
        learner, n = self._learner(), len(x)
        if kind == UNKNOWN:
            self.counters.unknown_ids += n
            return
        if kind == LATE:
            self.counters.late += n
            for name, label, place in zip(ids, labels, waiting, strict=True):
                assert place is not None
                yield self._learn_late(name, label, place)
            return
        rows = np.arange(self.counters.rows, self.counters.rows + n)
        self.counters.rows += n
        if kind == LEARN:
            self.counters.learned += n
            yield from self._learn(x, labels, rows, ids, keys)
            return
        # The label of a duplicate is not used, and so not repeated either.
        unknown = np.full(n, None, dtype=object) if self.plan.has_classes else np.full(n, np.nan)
        if kind == DUPLICATE:
            self.counters.duplicates += n
            answers = Answers(learner.predict(x, keys), rows, unknown, learner.classes, ids, keys, note=DUPLICATE)
            yield replace(answers, time=self.encoder.seconds(x))
            return
        self.counters.unnamed += sum(place is None for place in waiting)
        answered = learner.ask(x, [place is not None for place in waiting], keys)
        answers = Answers(answered.predictions, rows, unknown, learner.classes, ids, keys, time=self.encoder.seconds(x))
        self._remember(answers, x, answered, waiting)
        yield answers

    def _learn(self, x: Float, labels: NDArray[Any], rows: Int, ids: Any, keys: Any) -> Iterator[Answers]:
        start = 0
        for predictions, classes in self._learner().learn(x, labels, keys):
            some = slice(start, start + predictions.n_rows)
            some_ids, some_keys = (None if names is None else names[some] for names in (ids, keys))
            answers = Answers(predictions, rows[some], labels[some], classes, some_ids, some_keys)
            seconds = self.encoder.seconds(x[some])
            yield replace(answers, time=seconds, changes=self._noticed(rows, some, seconds))
            start = some.stop

    def _noticed(self, rows: Int, some: slice, seconds: Float | None) -> tuple[Change, ...]:
        """Changes that were noticed in some of the rows that were learned last, with the times of these if known."""
        noticed = []
        for at, change in self._learner().noticed:
            if some.start <= at < some.stop:
                time = np.nan if seconds is None else float(seconds[at - some.start])
                noticed.append(change._replace(row=int(rows[at]), time=time))
        self.changes = [*self.changes, *noticed][-MOST_CHANGES:]
        self.counters.changes += len(noticed)
        return tuple(noticed)

    def _remember(self, answers: Answers, x: Float, answered: Answered, waiting: list[Waiting | None]) -> None:
        numbers = np.full((len(answers), len(NUMBERS)), np.nan)
        if not self.plan.has_classes:
            numbers = np.column_stack([np.asarray(answers.number(name)) for name in NUMBERS])
        naive = self.digest.naive(answers)
        for index, place in enumerate(waiting):
            if place is not None:
                place.row, place.x = int(answers.row[index]), x[index].copy()
                place.predicted = tuple(numbers[index].tolist())
                place.key = None if answers.keys is None else answers.keys[index]
                place.place, place.asked = answered.places[index], answered.asked[index]
                place.experts = self._learner().model.experts
                place.proba, place.classes = tuple(answers.predictions.proba[index].tolist()), answers.classes
                place.naive, place.n_known = naive[index], answered.n_known

    def _learn_late(self, name: str, label: Any, waiting: Waiting) -> Answers:
        """Learn a late label with the features its row was predicted with; the answer is the one given, now scored."""
        learner, x = self._learner(), self.encoder.widened(waiting.x)
        predictions = learner.learn_asked(waiting, x, label)
        self.counters.learned += 1
        labels = object_array([label]) if self.plan.has_classes else np.array([label], dtype=float)
        keys = None if waiting.key is None else (waiting.key,)
        return Answers(
            predictions,
            np.array([waiting.row]),
            labels,
            waiting.classes,
            (name,),
            keys,
            note=LATE,
            changes=self._noticed(*self._last_row(waiting)),
            naive=waiting.naive[None],
            time=self.encoder.seconds(x),
        )

    def _last_row(self, waiting: Waiting) -> tuple[Int, slice, Float | None]:
        """The row that was answered last, at which a change is noticed, and its time if it is known."""
        last = self.counters.rows - 1
        x = next((own.x for own in (waiting, *reversed(self.pending.rows.values())) if own.row == last), None)
        seconds = None if x is None else self.encoder.seconds(self.encoder.widened(x))
        return np.array([last]), slice(0, 1), seconds

    # -- storing ---------------------------------------------------------------------------------------------------

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Header of a model file, and its arrays."""
        return job_storage.to_parts(self)

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: Arrays, n_threads: int = 1, by_key: ByKey | None = None) -> Job:
        """The inverse of :meth:`to_parts`, to the bit; an error where parts are damaged or do not fit together."""
        settings = Settings.from_config(header["settings"])
        job = cls(Plan.from_config(header["plan"]), settings, flag("given_columns", header["given_columns"]), by_key)
        job.n_threads = n_threads
        job_storage.restore(job, header, arrays)
        return job
