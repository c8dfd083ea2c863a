"""Scores of predicted classes beside those of naive forecasts from the labels alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.errors import InputError
from iegp.storage.schema import LARGEST_COUNT, Field, take
from iegp.stream.digest.accumulators import FARTHEST, ScoreSums
from iegp.typing import Float, Int

MOST_CLASSES = 50
OTHER = MOST_CLASSES
UNKNOWN = -1


class KnownClasses:
    """Numbers of class labels; ``OTHER`` beyond ``MOST_CLASSES``, ``UNKNOWN`` for a label that has not come yet."""

    def __init__(self, labels: Iterable[Any] = ()) -> None:
        self._number: dict[Any, int] = {}
        self.overflowed = False
        for label in labels:
            self.number(label)

    def __len__(self) -> int:
        """Number of distinguished classes, the one for all others included."""
        return len(self._number) + self.overflowed

    @property
    def labels(self) -> tuple[Any, ...]:
        return tuple(self._number)

    def number(self, label: Any) -> int:
        """The number of a label, which is known from now on."""
        label = label.item() if isinstance(label, np.generic) else label
        if label is None or label != label:
            return UNKNOWN
        known = self._number.get(label)
        if known is not None:
            return known
        if len(self._number) == MOST_CLASSES:
            self.overflowed = True
            return OTHER
        self._number[label] = len(self._number)
        return len(self._number) - 1

    def numbers(self, labels: NDArray[Any] | Iterable[Any]) -> Int:
        return np.array([self.number(label) for label in labels], dtype=np.int64)

    def config(self) -> dict[str, Any]:
        labels = [label if isinstance(label, str | int | float | bool) else str(label) for label in self.labels]
        return {"labels": labels, "overflowed": self.overflowed}

    @classmethod
    def restore(cls, config: Any) -> KnownClasses:
        labels = config.get("labels") if isinstance(config, dict) else None
        plain = isinstance(labels, list) and all(isinstance(label, str | int | float | bool) for label in labels)
        if not plain or len(set(labels or ())) != len(labels or ()) or len(labels or ()) > MOST_CLASSES:
            raise InputError("the classes of the stored digest are damaged")
        known = cls(labels or ())
        known.overflowed = config.get("overflowed") is True
        return known


# How naive forecasts did, if the label of a row came late; NaN if it did not.
THEN = ("naive", "naive_right", "last_right")
COLUMNS = ("row", "label", "log_score", "predicted", "confidence", "n_known", "right", *THEN)
SUMS = ("n", "loss", "naive_loss", "last_loss", "n_log", "log", "naive_log")
RELIABILITY_BINS = 10
# Of the columns of rows that wait; classes are numbers up to that of all others, and there is at least one.
_RANGES = {
    "row": (0.0, FARTHEST - 1.0),
    "label": (0.0, MOST_CLASSES),
    "log_score": (-np.inf, np.inf),
    "predicted": (0.0, MOST_CLASSES),
    "confidence": (0.0, 1.0 + 1e-9),
    "n_known": (1.0, MOST_CLASSES + 1.0),
    "right": (0.0, 1.0),
    "naive": (0.0, 1.0),
    "naive_right": (0.0, 1.0),
    "last_right": (0.0, 1.0),
}


_TALLIES = {
    # number of the last label
    "last": Field((1,), -1, MOST_CLASSES, np.int64),
    # how often each class (row) was predicted to be another (column); the last is for all others
    "confusion": Field((MOST_CLASSES + 1, MOST_CLASSES + 1), 0, LARGEST_COUNT, np.int64),
    # rows, sum of confidence, right ones
    "reliability": Field((RELIABILITY_BINS, 3), 0.0, LARGEST_COUNT),
}


class ClassScores(ScoreSums):
    """Sums over the labelled rows; ``absorb`` takes blocks with the columns ``COLUMNS``, classes by number."""

    def __init__(self, delay: int = 0) -> None:
        super().__init__(SUMS, _TALLIES, delay)
        self.tallies["last"][:] = UNKNOWN

    def absorb(self, block: Float) -> None:
        row, label, predicted = (block[:, i].astype(np.int64) for i in (0, 1, 3))
        log_score, confidence, n_known, right = block[:, 2], block[:, 4], block[:, 5], block[:, 6] > 0.0
        found = _naive_forecasts(*self._seen_before(label), label, n_known).T
        is_late, then = ~np.isnan(block[:, 7]), block[:, 7:10].T
        naive, guessed, repeated = (np.where(is_late, old, new) for old, new in zip(then, found, strict=True))
        compared = ~np.isnan(log_score)
        log, naive_log = np.where(compared, log_score, 0.0), np.where(compared, np.log(naive), 0.0)
        one = np.ones(len(label))
        columns = [one, ~right, 1.0 - guessed, 1.0 - repeated]
        columns += [compared, log, naive_log]
        self.intervals.add(row, np.column_stack(columns))
        np.add.at(self.tallies["confusion"], (label, predicted), 1)
        self._tally_confidence(confidence, right)

    def _seen_before(self, label: Int) -> tuple[Float, Int]:
        """How often each class was known to have come before each row, (m, classes), and which was known last."""
        waiting = self.queue[:, 1].astype(np.int64)
        labels = np.concatenate([waiting, label])
        n_arrived = max(len(labels) - self.delay, 0)
        one_hot = np.zeros((n_arrived + 1, MOST_CLASSES + 1))
        one_hot[0] = self.tallies["confusion"].sum(axis=1) - np.bincount(waiting, minlength=MOST_CLASSES + 1)
        one_hot[np.arange(1, n_arrived + 1), labels[:n_arrived]] = 1.0
        place = np.maximum(len(waiting) + np.arange(len(label)) - self.delay, 0)
        last = np.concatenate([self.tallies["last"], labels[:n_arrived]])
        self.tallies["last"][:] = last[-1:]
        self.queue = np.column_stack([np.zeros(len(labels) - n_arrived), labels[n_arrived:]])
        return np.cumsum(one_hot, axis=0)[place], last[place]

    def known(self, waiting: Float, _slot: int | None = None) -> Float:
        """(MOST_CLASSES + 2,): how often each class came, and which came last; ``waiting`` is still to come."""
        labels = waiting[:, 1].astype(np.int64)
        seen = self.tallies["confusion"].sum(axis=1) + np.bincount(labels, minlength=MOST_CLASSES + 1)
        last = labels[-1] if len(labels) else self.tallies["last"][0]
        return np.append(seen, last).astype(np.float64)

    @staticmethod
    def known_schema(n: int) -> Field:
        """What :meth:`known` can give for n rows."""
        low, high = np.zeros(MOST_CLASSES + 2), np.full(MOST_CLASSES + 2, LARGEST_COUNT)
        low[-1], high[-1] = UNKNOWN, MOST_CLASSES
        return Field((n, MOST_CLASSES + 2), low, high, whole=True)

    def _tally_confidence(self, confidence: Float, right: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        edges = np.arange(1, RELIABILITY_BINS) / RELIABILITY_BINS
        group = np.searchsorted(edges, confidence, side="left")
        np.add.at(self.tallies["reliability"], group, np.column_stack([np.ones(len(group)), confidence, right]))

    def check(self, waiting: Float) -> None:
        """Refuse stored rows that could not have been waiting."""
        low, high = np.array(list(_RANGES.values())).T
        take({"rows waiting": waiting}, "rows waiting", Field((None, len(COLUMNS)), low, high, gaps=True))
        take({"queue": self.queue[:, 1]}, "queue", Field((None,), 0.0, MOST_CLASSES, whole=True))
        names = ("row", "label", "predicted", "n_known", "right")
        codes = waiting[:, [i for i, name in enumerate(COLUMNS) if name in names]]
        take({"rows waiting": codes}, "rows waiting", Field((None, None), whole=True))


def forecasts_then(known: Float, label: Int, n_known: Int) -> Float:
    """Columns ``THEN`` of rows with late labels, from what was known when they were answered (n, MOST_CLASSES + 2)."""
    return _naive_forecasts(known[:, :-1], known[:, -1], label, n_known)


def _naive_forecasts(seen: Float, last: Float | Int, label: Int, n_known: Float | Int) -> Float:
    """(n, 3): probability of each label by the frequencies ``seen`` (n, classes), and which guesses were right.

    Guesses are the most frequent class and the ``last`` one (n,).
    """
    # Every class counts once more than it was seen, so that none is impossible.
    naive = (seen[np.arange(len(label)), label] + 1.0) / (seen.sum(axis=1) + n_known)
    # Classes beyond the limit share a number and cannot be compared: there the naive forecasts count as wrong.
    is_distinguished = label < MOST_CLASSES
    guesses = np.argmax(seen, axis=1), last
    return np.column_stack([naive, *((guess == label) & is_distinguished for guess in guesses)])
