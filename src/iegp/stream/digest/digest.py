"""The accumulator itself: takes answers in, keeps little, stores and restores to the bit."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from iegp.core.compute.tolerances import MAX_DELAY
from iegp.errors import InputError
from iegp.storage.schema import count, take
from iegp.stream.answers import Answers
from iegp.stream.digest import class_scores, number_scores
from iegp.stream.digest.accumulators import BlockBuffer, Latest, ScoreSums, Thinned
from iegp.stream.digest.class_scores import OTHER, UNKNOWN, ClassScores, KnownClasses
from iegp.stream.digest.key_scores import KeyScores
from iegp.stream.digest.number_scores import NumberScores
from iegp.stream.digest.results import Curves, Points, Results, Table
from iegp.stream.digest.surprises import FIRST_LABELS, Surprises
from iegp.typing import Arrays, Bool, Float, Int

TASKS = ("regression", "count", "classification", "ordinal")
MOST_POINTS, MOST_MOMENTS, MOST_RECENT = 2000, 512, 400
NUMBER_POINTS = ("label", "mean", "std", "lower", "upper", "time")
CLASS_POINTS = ("label", "predicted", "confidence", "p_label", "time")


class Digest:
    """A run in constant memory: counts, scores beside naive ones, calibration, and thinned curves.

    ``add`` takes answers in the order of their rows. How they were cut into calls does not matter, to the bit, as long
    as a row comes with the same classes.

    Parameters
    ----------
    task : {"regression", "count", "classification", "ordinal"}
    level : float, default=0.95
        Level of the intervals ``lower`` to ``upper`` of the answers.
    delay : int, default=0
        Later rows (of its key) that are predicted before a row's label is known; naive forecasts know no more.

    Examples
    --------
    >>> import numpy as np
    >>> from iegp.stream.answers import Answers, predictions_of
    >>> zero, one = np.zeros(4), np.ones(4)
    >>> digest = Digest("regression")
    >>> y = np.array([-1.0, 1.0, 0.5, -0.5])
    >>> predicted = predictions_of(log_score=-one, mean=zero, std=one, lower=-2 * one, upper=2 * one)
    >>> digest.add(Answers(predicted, np.arange(4), y))
    >>> digest.results().n_rows, digest.results().coverage
    (4, 1.0)
    """

    def __init__(self, task: str, level: float = 0.95, delay: int = 0) -> None:
        if task not in TASKS:
            raise InputError(f"task={task!r} is unknown; choose one of {', '.join(map(repr, TASKS))}")
        if not 0.0 < level < 1.0:
            raise InputError(f"level={level!r} must lie between 0 and 1, such as 0.95")
        self.task, self.level, self.delay = task, level, delay
        self.n_rows = self.n_labelled = 0
        self.last_row = -1
        self.keys: KeyScores | None = None
        """By key, if there are models by key."""
        self._is_number = task in ("regression", "count")
        self._known = KnownClasses()
        self._scores: NumberScores | ClassScores = (
            NumberScores(task, delay=delay) if self._is_number else ClassScores(delay)
        )
        self._pending = BlockBuffer(len(number_scores.COLUMNS if self._is_number else class_scores.COLUMNS))
        self._columns_kept = NUMBER_POINTS if self._is_number else CLASS_POINTS
        self._points = Thinned(MOST_POINTS, len(self._columns_kept))
        self._recent = Latest(MOST_RECENT, len(self._columns_kept))
        self._surprises = Surprises(len(self._columns_kept))
        self._strip = Thinned(MOST_MOMENTS, 0)
        self._weights: Thinned | None = None

    def add(self, answers: Answers, *, late: bool = False) -> None:
        """Take in the next rows; ``late`` if they were taken in before, without the labels that they have now."""
        if not len(answers):
            return
        self._check_keys(answers)
        row = np.asarray(answers.row, dtype=np.int64)
        self._check_order(row, late)
        self._check_experts(answers)
        points, labelled = self._numbers(answers) if self._is_number else self._classes(answers)
        known = ~np.isnan(points[:, 0]) if self._is_number else points[:, 0] != UNKNOWN
        self._add_surprises(answers, row, points, known)
        self.n_labelled += int(known.sum())
        if late:
            self._fill_in(row[known], points[known])
        else:
            self.n_rows, self.last_row = self.n_rows + len(row), int(row[-1])
            self._points.add(row, points)
            self._recent.add(row, points)
            self._keep_tables(row, answers)
        if self.keys is not None:
            labelled = np.column_stack([labelled, self.keys.add(answers, late)])
        for block in self._pending.add(labelled[known]):
            _absorb(self._scores, block)

    def naive(self, answers: Answers) -> Float:
        """What naive forecasts know now, (n, ...), of rows that are to be added next and may get their labels later.

        They come back as ``naive`` of the answers to late labels: forecasts use what was known then.
        """
        self._check_keys(answers)
        if self.keys is None:
            return np.tile(self._scores.known(self._pending.rows, None), (len(answers), 1))
        slots = [self.keys.slot(key) for key in answers.keys or ()]
        known = {slot: self._scores.known(self._pending.rows, slot) for slot in set(slots)}
        return np.array([known[slot] for slot in slots])

    def check_naive(self, known: Float) -> None:
        """Refuse stored rows (n, ...) that :meth:`naive` cannot have given."""
        if len(known):
            take({"naive": known}, "naive", self._scores.known_schema(len(known)))

    def results(self) -> Results:
        """Summarise the run so far; the digest is not changed."""
        scores = copy.deepcopy(self._scores)
        if len(self._pending.rows):
            _absorb(scores, self._pending.rows.copy())
        tallies, k = scores.tallies, len(self._known)
        weights = self._weights or Thinned(MOST_MOMENTS, 0)
        inside = tallies.get("inside", np.zeros(0))
        n_spread = tallies["pit"].sum() if self._is_number else 0.0
        return Results(
            task=self.task,
            level=self.level,
            delay=self.delay,
            by_key=self.keys is not None,
            n_rows=self.n_rows,
            n_labelled=self.n_labelled,
            curves=_curves(scores),
            predictions=self._named_points(self._points, self._points.step),
            recent=self._named_points(self._recent, 1),
            surprises=self._surprises.results(self._columns_kept),
            weights=_table(weights),
            label_variance=scores.scored.variance if isinstance(scores, NumberScores) else float("nan"),
            pit=tallies.get("pit", np.zeros(0)),
            levels=number_scores.LEVELS.copy(),
            inside=inside / n_spread if n_spread else np.full(len(inside), np.nan),
            residuals=tallies.get("residuals", np.zeros(0, dtype=np.int64)),
            residual_edges=number_scores.RESIDUAL_EDGES.copy(),
            classes=self._known.labels,
            n_classes=k,
            strip=_table(self._strip),
            confusion=tallies.get("confusion", np.zeros((0, 0), dtype=np.int64))[:k, :k],
            reliability=_mean_reliability(tallies.get("reliability", np.zeros((0, 3)))),
        )

    def _named_points(self, kept: Thinned | Latest, step: int) -> Points:
        return Points(
            kept.row.copy(), step, {name: kept.values[:, i].copy() for i, name in enumerate(self._columns_kept)}
        )

    @property
    def n_experts(self) -> int | None:
        """How many experts have weights in the table; None if there is none yet."""
        return None if self._weights is None else self._weights.width

    def config(self) -> dict[str, Any]:
        """What is not an array, ready for JSON."""
        config = {
            "task": self.task,
            "level": self.level,
            "delay": self.delay,
            "n_rows": self.n_rows,
            "n_labelled": self.n_labelled,
            "last_row": self.last_row,
            "classes": self._known.config(),
            "n_experts": self.n_experts,
            "strip_width": self._strip.width,
            "surprises": copy.deepcopy(self._surprises.names),
        }
        return config if self.keys is None else config | {"keys": self.keys.config()}

    def arrays(self) -> Arrays:
        """Everything else."""
        parts: dict[str, BlockBuffer | ScoreSums | Thinned | Latest | Surprises] = {
            "pending": self._pending,
            "scores": self._scores,
            "points": self._points,
            "recent": self._recent,
            "surprises": self._surprises,
            "strip": self._strip,
        }
        arrays: Arrays = {}
        for prefix, part in parts.items():
            arrays.update(part.arrays(prefix))
        if self._weights is not None:
            arrays.update(self._weights.arrays("weights"))
        if self.keys is not None:
            arrays.update(self.keys.arrays("keys"))
        return arrays

    @classmethod
    def restore(cls, config: dict[str, Any], arrays: Arrays) -> Digest:
        """The digest of :meth:`config` and :meth:`arrays`, to the bit; ``ValueError`` if they are damaged."""
        counts = {name: count(name, config.get(name)) for name in ("n_rows", "n_labelled", "strip_width")}
        level = config.get("level")
        if not isinstance(level, float):
            raise InputError(f"level={level!r} of the stored digest is no number; the checkpoint is damaged")
        digest = cls(config.get("task", ""), level, count("delay", config.get("delay"), high=MAX_DELAY))
        digest.n_rows, digest.n_labelled = counts["n_rows"], counts["n_labelled"]
        # None yet is stored as -1.
        digest.last_row = -1 if config.get("last_row") == -1 else count("last_row", config.get("last_row"))
        digest._known = KnownClasses.restore(config.get("classes"))
        digest._strip = Thinned.restore(MOST_MOMENTS, counts["strip_width"], arrays, "strip")
        width = len(digest._columns_kept)
        digest._points = Thinned.restore(MOST_POINTS, width, arrays, "points")
        digest._recent = Latest.restore(MOST_RECENT, width, arrays, "recent")
        digest._surprises = Surprises.restore(width, config.get("surprises"), arrays, "surprises")
        if config.get("n_experts") is not None:
            digest._weights = Thinned.restore(MOST_MOMENTS, count("n_experts", config["n_experts"]), arrays, "weights")
        if config.get("keys") is not None:
            digest._begin_keys(KeyScores.restore(config["keys"], arrays, "keys"))
        digest._pending.load(arrays, "pending")
        digest._scores.load(arrays, "scores")
        digest._scores.check(digest._pending.rows)
        digest._check_slots()
        return digest

    def _begin_keys(self, keys: KeyScores) -> None:
        """From the first row on each row has a key, and is compared with forecasts from the labels of that key."""
        if not self._is_number:
            raise InputError(f"models by key are of numbers; the stored digest is of a {self.task}")
        self.keys = keys
        self._scores = NumberScores(self.task, has_keys=True, delay=self.delay)
        self._pending = BlockBuffer(len(number_scores.KEYED_COLUMNS))

    def _check_keys(self, answers: Answers) -> None:
        """Rows have keys from the first on, or never; classes are not compared by key."""
        if not self._is_number:
            return
        if self.n_rows == 0 and answers.keys is not None:
            self._begin_keys(KeyScores())
        if (answers.keys is None) != (self.keys is None):
            raise InputError("some rows have keys and some have none; begin a new digest for them")

    def _check_slots(self) -> None:
        """Refuse stored rows of keys that there are not."""
        if self.keys is None or not isinstance(self._scores, NumberScores) or self._scores.by_key is None:
            return
        slots = np.concatenate([self._pending.rows[:, -1], self._scores.queue[:, 0]])
        known = (slots >= 0.0) & (slots < len(self.keys)) & (slots == np.floor(slots))
        if not np.all(known) or len(self._scores.by_key) > len(self.keys):
            raise InputError("rows of unknown keys in the stored digest; the checkpoint is damaged")

    def _numbers(self, answers: Answers) -> tuple[Float, Float]:
        """Columns of ``NUMBER_POINTS`` and of ``number_scores.COLUMNS``, (n, ...) each."""
        label = np.asarray(answers.label, dtype=np.float64)
        bands = [_column(answers, name) for name in ("mean", "std", "lower", "upper")]
        pit = answers.number("pit")
        pit = np.full(len(label), np.nan) if pit is None else pit
        known = np.full((len(label), len(number_scores.KNOWN)), np.nan) if answers.naive is None else answers.naive
        labelled = np.column_stack([answers.row, label, answers.predictions.log_score, *bands, pit, known])
        return np.column_stack([label, *bands, _time(answers)]), labelled

    def _classes(self, answers: Answers) -> tuple[Float, Float]:
        """Columns of ``CLASS_POINTS`` and of ``class_scores.COLUMNS``, (n, ...) each."""
        columns, proba = self._columns(answers)
        label, n_known = self._label_numbers(answers)
        best, each = np.argmax(proba, axis=1), np.arange(len(proba))
        predicted, confidence = columns[best], proba[each, best]
        own = columns[None, :] == label[:, None]
        p_label = np.where(label == UNKNOWN, np.nan, np.sum(np.where(own, proba, 0.0), axis=1))
        points = np.column_stack([label, predicted, confidence, p_label, _time(answers)])
        named = answers.predicted
        right = np.array([name is not None and name == own for name, own in zip(named, answers.label, strict=True)])
        numbers = [answers.row, label, answers.predictions.log_score, predicted, confidence, n_known, right]
        then = np.full((len(label), len(class_scores.THEN)), np.nan)
        if answers.naive is not None:
            then = class_scores.forecasts_then(answers.naive, label, n_known)
        return points, np.column_stack([*numbers, then])

    def _columns(self, answers: Answers) -> tuple[Int, Float]:
        """Numbers of the classes, and their probabilities; before any class is known, all goes to the others."""
        if not answers.classes:
            return np.array([OTHER]), np.zeros((len(answers), 1))
        return self._known.numbers(answers.classes), answers.predictions.proba

    def _label_numbers(self, answers: Answers) -> tuple[Int, Int]:
        """Number of each label, and how many classes were known when it came."""
        label, n_known = np.empty(len(answers), dtype=np.int64), np.empty(len(answers), dtype=np.int64)
        for i, value in enumerate(answers.label):
            label[i] = self._known.number(value)
            n_known[i] = len(self._known)
        return label, n_known

    def _fill_in(self, row: Int, points: Float) -> None:
        """Put late labels, and how probable they were thought, beside the predictions that are still kept."""
        for column, name in enumerate(self._columns_kept):
            if name in ("label", "p_label"):
                self._points.amend(row, column, points[:, column])
                self._recent.amend(row, column, points[:, column])

    def _add_surprises(self, answers: Answers, row: Int, points: Float, known: Bool) -> None:
        """Keep the least expected labels; not those at the beginning, all of which are unexpected."""
        if self._is_number:
            with np.errstate(all="ignore"):
                surprise = np.abs(points[:, 0] - points[:, 1]) / points[:, 2]
        else:
            surprise = np.maximum(1.0 - points[:, CLASS_POINTS.index("p_label")], 0.0)
        counted = known & np.isfinite(surprise) & (self.n_labelled + np.cumsum(known) > FIRST_LABELS)
        self._surprises.add(answers, row, surprise, points, counted)

    def _keep_tables(self, row: Int, answers: Answers) -> None:
        weights = answers.predictions.weights
        if weights.shape[1]:
            self._weights = self._weights or Thinned(MOST_MOMENTS, weights.shape[1])
            self._weights.add(row, weights)
        if not self._is_number:
            columns, proba = self._columns(answers)
            if answers.classes:
                self._strip.widen(int(columns.max()) + 1, 0.0)
            shares = np.zeros((len(row), self._strip.width))
            for source, column in enumerate(columns[: len(answers.classes)]):
                shares[:, column] += proba[:, source]
            self._strip.add(row, shares)

    def _check_order(self, row: Int, late: bool) -> None:
        """Points are thinned by their number, which takes rows in order; late ones have been seen before."""
        ordered = late or bool(np.all(np.diff(row) > 0))
        if not ordered or (row.max() > self.last_row if late else row[0] <= self.last_row):
            raise InputError(f"rows {row[0]} to {row[-1]} do not follow row {self.last_row}; add rows in order, once")

    def _check_experts(self, answers: Answers) -> None:
        given = answers.predictions.weights.shape[1]
        if given and self._weights is not None and given != self._weights.width:
            raise InputError(f"{given} experts after {self._weights.width}: begin a new digest for a new ensemble")


def _column(answers: Answers, name: str) -> Float:
    values = answers.number(name)
    if values is None:
        raise InputError(f"answers have no {name}, which this task needs")
    return np.asarray(values, dtype=np.float64)


def _time(answers: Answers) -> Float:
    return np.full(len(answers), np.nan) if answers.time is None else answers.time


def _absorb(scores: NumberScores | ClassScores, block: Float) -> None:
    # Squares of labels beyond 1e154 are infinite, and their scores with them: no reason to warn.
    with np.errstate(over="ignore", invalid="ignore"):
        scores.absorb(block)


def _curves(scores: NumberScores | ClassScores) -> Curves:
    filled = np.flatnonzero(scores.intervals.sums[:, 0])
    end = int(filled[-1]) + 1 if len(filled) else 0
    return Curves(scores.intervals.length, {name: sums[:end] for name, sums in scores.intervals.curves().items()})


def _table(kept: Thinned) -> Table:
    return Table(kept.row.copy(), kept.step, kept.values.copy())


def _mean_reliability(sums: Float) -> Float:
    n = sums[:, :1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.hstack([n, np.where(n > 0.0, sums[:, 1:] / n, np.nan)])
