"""Scores of each key of a run, in a few numbers per key."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from iegp.errors import InputError
from iegp.storage.schema import ANY_NUMBER, LARGEST_COUNT, Field, take
from iegp.stream.answers import Answers
from iegp.stream.digest.key_moments import RecentErrors, grown, nmse_of_sums
from iegp.typing import Arrays, Bool, Float, Int

# Fewer recent labels say little about how well a key is predicted.
ENOUGH_LABELS = 20
_SUMS = ("rows", "scored", "centre", "deviation", "square", "loss", "covered", "n_log", "log")
_COUNTS = ("rows", "scored", "covered", "n_log")


class KeyScore(NamedTuple):
    """One key; scores are NaN where there is nothing to score."""

    key: str
    rows: int
    """Rows answered."""
    scored: int
    """Rows that had both a prediction and a label."""
    nmse: float
    """Mean squared error over the variance of the key's own labels."""
    log_score: float
    """Mean over the scored rows."""
    coverage: float
    """Share of the labels inside their interval."""
    recent_nmse: float
    """As ``nmse``, of the key's latest labels alone; NaN while there are only those of its start."""


class KeyScores:
    """Sums by key, in order of appearance. How rows were cut into calls does not matter, to the bit."""

    def __init__(self) -> None:
        self._slot_of: dict[str, int] = {}
        self._sums: Arrays = {name: np.zeros(16) for name in _SUMS}
        self._recent = RecentErrors()

    def __len__(self) -> int:
        return len(self._slot_of)

    def add(self, answers: Answers, late: bool) -> Int:
        """Take rows of numbers in; ``late`` if they were counted before, without their labels.

        Returns the slots of their keys: numbers in the order of appearance.
        """
        slots = self._slots(answers.keys or ())
        label, log_score = np.asarray(answers.label, dtype=np.float64), answers.predictions.log_score
        mean, lower, upper = (np.asarray(answers.number(name)) for name in ("mean", "lower", "upper"))
        if not late:
            np.add.at(self._sums["rows"], slots, 1.0)
        scored = ~np.isnan(label) & ~np.isnan(mean)
        self._centre(slots[scored], label[scored])
        with np.errstate(over="ignore", invalid="ignore"):
            deviation = label - self._sums["centre"][slots]
            before = self._sums["scored"][slots[scored]].astype(np.int64)
            self._recent.add(slots[scored], before, deviation[scored], (label - mean)[scored] ** 2)
            covered = (lower <= label) & (label <= upper)
            self._sum(slots, scored, deviation=deviation, square=deviation**2, loss=(label - mean) ** 2)
            self._sum(slots, scored, scored=np.ones(len(label)), covered=covered)
            compared = scored & ~np.isnan(log_score)
            self._sum(slots, compared, n_log=np.ones(len(label)), log=log_score)
        return slots

    def slot(self, key: str) -> int:
        """The slot of a key, or the one that it would get."""
        return self._slot_of.get(key, len(self._slot_of))

    def _slots(self, keys: tuple[str, ...]) -> Int:
        slot_of = self._slot_of
        for key in keys:
            slot_of.setdefault(key, len(slot_of))
        self._sums = {name: grown(sums, len(slot_of)) for name, sums in self._sums.items()}
        return np.array([slot_of[key] for key in keys], dtype=np.int64)

    def _centre(self, slots: Int, label: Float) -> None:
        """Spreads are taken around a key's first label, so that a large offset costs no digits."""
        found, first = np.unique(slots, return_index=True)
        new = self._sums["scored"][found] == 0.0
        self._sums["centre"][found[new]] = label[first[new]]

    def _sum(self, slots: Int, chosen: Bool, **columns: Float | Bool) -> None:
        """Row by row: whole blocks would round as they were cut."""
        for name, values in columns.items():
            np.add.at(self._sums[name], slots[chosen], np.asarray(values, dtype=np.float64)[chosen])

    # -- looking ---------------------------------------------------------------------------------------------------

    def busiest(self, at_most: int) -> list[KeyScore]:
        """The keys with the most rows, most first."""
        return self._entries(np.argsort(-self._of("rows"), kind="stable")[:at_most])

    def worst(self, at_most: int) -> list[KeyScore]:
        """The keys with the largest nMSE of recent labels, largest first, among those with enough of them."""
        nmse = self._recent.nmse(len(self))
        known = np.flatnonzero(~np.isnan(nmse) & (self._recent.count(len(self)) >= ENOUGH_LABELS))
        return self._entries(known[np.argsort(-nmse[known], kind="stable")][:at_most])

    def _of(self, name: str) -> Float:
        return self._sums[name][: len(self)]

    def _entries(self, slots: Int) -> list[KeyScore]:
        names, recent = list(self._slot_of), self._recent.nmse(len(self))
        nmse = nmse_of_sums(*map(self._of, ("scored", "deviation", "square", "loss")))
        with np.errstate(divide="ignore", invalid="ignore"):
            log_score, coverage = self._of("log") / self._of("n_log"), self._of("covered") / self._of("scored")
        rows, scored = self._of("rows").astype(int).tolist(), self._of("scored").astype(int).tolist()
        means = np.column_stack([nmse, log_score, coverage, recent]).tolist()
        return [KeyScore(names[i], rows[i], scored[i], *means[i]) for i in slots.tolist()]

    # -- storing ---------------------------------------------------------------------------------------------------

    def config(self) -> list[str]:
        return list(self._slot_of)

    def arrays(self, prefix: str) -> Arrays:
        return {f"{prefix}.{name}": self._of(name).copy() for name in _SUMS} | self._recent.arrays(prefix, len(self))

    @classmethod
    def restore(cls, config: Any, arrays: Arrays, prefix: str) -> KeyScores:
        """The inverse; an error where the parts are not what they must be."""
        if not isinstance(config, list) or not all(isinstance(key, str) for key in config):
            raise InputError("the keys of the stored digest are none; the checkpoint is damaged")
        if len(set(config)) != len(config):
            raise InputError("a key of the stored digest is there twice; the checkpoint is damaged")
        scores = cls()
        counted = Field((len(config),), 0.0, LARGEST_COUNT, whole=True)
        fields = dict.fromkeys(_SUMS, Field((len(config),), **ANY_NUMBER)) | dict.fromkeys(_COUNTS, counted)
        sums = {name: take(arrays, f"{prefix}.{name}", field) for name, field in fields.items()}
        scores._slot_of = {key: slot for slot, key in enumerate(config)}
        scores._sums = sums
        scores._recent.load(arrays, prefix, len(config))
        return scores
