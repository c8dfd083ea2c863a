"""The rows of a run with the least expected labels: a few, however long the run."""

from __future__ import annotations

from typing import Any

import numpy as np

from iegp.errors import InputError
from iegp.storage.schema import ANY_NUMBER, LARGEST_COUNT, Field, take
from iegp.stream.answers import Answers
from iegp.stream.digest.results import Surprise
from iegp.typing import Arrays, Bool, Float, Int

MOST_SURPRISES = 10
# A model that has seen so few labels is surprised by any.
FIRST_LABELS = 20
# Longer ids and keys are cut, so that the digest stays small.
_LONGEST_NAME = 200


class Surprises:
    """The rows of largest surprise, the largest first; of equal ones the earlier row."""

    def __init__(self, width: int) -> None:
        self.row: Int = np.zeros(0, dtype=np.int64)
        self.surprise: Float = np.zeros(0)
        self.points: Float = np.zeros((0, width))
        self.names: list[list[str | None]] = []
        """Id and key of each row, where it has them."""

    def add(self, answers: Answers, row: Int, surprise: Float, points: Float, chosen: Bool) -> None:
        """Take rows in: their ``surprise`` (n,) and ``points`` (n, width); ``chosen`` are those that count."""
        floor = self.surprise[-1] if len(self.row) == MOST_SURPRISES else -np.inf
        places = np.flatnonzero(chosen & (surprise >= floor))
        if not len(places):
            return
        # Of many rows only these can be among the largest.
        places = places[np.lexsort((row[places], -surprise[places]))][:MOST_SURPRISES]
        names = [[_name(answers.ids, place), _name(answers.keys, place)] for place in places.tolist()]
        rows = np.concatenate([self.row, row[places]])
        surprises = np.concatenate([self.surprise, surprise[places]])
        order = np.lexsort((rows, -surprises))[:MOST_SURPRISES]
        self.points = np.concatenate([self.points, points[places]])[order]
        self.row, self.surprise, names = rows[order], surprises[order], self.names + names
        self.names = [names[place] for place in order.tolist()]

    def results(self, columns: tuple[str, ...]) -> tuple[Surprise, ...]:
        """The rows, with their points by name."""
        rows = zip(self.row.tolist(), self.names, self.surprise.tolist(), self.points.tolist(), strict=True)
        return tuple(
            Surprise(row, name, key, surprise, dict(zip(columns, points, strict=True)))
            for row, (name, key), surprise, points in rows
        )

    def arrays(self, prefix: str) -> Arrays:
        kept = {"row": self.row, "surprise": self.surprise, "points": self.points}
        return {f"{prefix}.{name}": values.copy() for name, values in kept.items()}

    @classmethod
    def restore(cls, width: int, names: Any, arrays: Arrays, prefix: str) -> Surprises:
        """The inverse of :meth:`arrays` and ``names``."""
        kept = cls(width)
        kept.row = take(arrays, f"{prefix}.row", Field((None,), 0, LARGEST_COUNT, np.int64))
        kept.surprise = take(arrays, f"{prefix}.surprise", Field((len(kept.row),), 0.0, np.inf))
        kept.points = take(arrays, f"{prefix}.points", Field((len(kept.row), width), **ANY_NUMBER))
        if len(kept.row) > MOST_SURPRISES or not _are_names(names, len(kept.row)):
            raise InputError("the surprising rows of the stored digest are damaged")
        kept.names = names
        return kept


def _name(names: tuple[str | None, ...] | None, place: int) -> str | None:
    name = None if names is None else names[place]
    return None if name is None else name[:_LONGEST_NAME]


def _are_names(names: Any, n: int) -> bool:
    if not isinstance(names, list) or len(names) != n:
        return False
    return all(isinstance(pair, list) and len(pair) == 2 and _are_texts(pair) for pair in names)


def _are_texts(values: list[Any]) -> bool:
    return all(value is None or isinstance(value, str) for value in values)
