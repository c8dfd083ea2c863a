"""What a stream's rows are answered with: one prediction per row, made before its label was used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.typing import Bool, Float

# The note of a row whose key has no model of its own.
NEW_KEY = "new key"
TASKS = ("regression", "classification", "count", "ordinal")
NUMBERS = ("mean", "std", "lower", "upper")
"""What is predicted of a number."""


def column_kinds(has_classes: bool, key_field: str | None = None) -> dict[str, str]:
    """Columns of a file of answers: whole, number, text or proba; ``key_field`` is what the key is called, if any."""
    kinds = {"row": "whole", "id": "text"} | ({} if key_field is None else {key_field: "text"})
    kinds |= {"predicted": "text", "proba": "proba"} if has_classes else dict.fromkeys(NUMBERS, "number")
    kinds |= {"log_score": "number"} | ({} if has_classes else {"pit": "number"})
    return kinds | {"label": "text" if has_classes else "number", "note": "text"}


@dataclass(frozen=True)
class Answers:
    """Predictions of consecutive rows, each made before its label was used.

    What was not known when a row was predicted is NaN (None among classes): its label, its scores, and everything about
    the very first number of a stream, whose units nobody can know.
    """

    row: NDArray[np.int64]
    """(n,): number of the row in the stream, from 0."""
    label: NDArray[Any]
    """(n,): numbers, or the names of classes."""
    log_score: Float
    """(n,): log predictive density or probability of the label."""
    mean: Float | None = None
    """(n,): of numbers and counts; likewise ``std`` and the ends of the central interval."""
    std: Float | None = None
    lower: Float | None = None
    upper: Float | None = None
    pit: Float | None = None
    """(n,): predicted probability of a smaller label; regression only."""
    proba: Float | None = None
    """(n, K): probabilities of ``classes``."""
    classes: tuple[Any, ...] = ()
    weights: Float | None = None
    """(n, n_experts): those used for the prediction."""
    ids: tuple[str | None, ...] | None = None
    """What the rows are called, where the stream says so."""
    keys: tuple[str, ...] | None = None
    """Whose rows they are, where there is one model per key."""
    note: str = ""
    """"late": the label of a row that was answered before; "duplicate": a row whose id was there already."""
    is_new_key: Bool | None = None
    """(n,): rows of a key that has no model of its own; the model that all keys start from answered."""

    def __len__(self) -> int:
        return len(self.row)

    def part(self, start: int, stop: int, weights: Float | None = None) -> Answers:
        """Some of the rows, with these weights if they are given."""
        chosen: dict[str, Any] = {
            name: value[start:stop]
            for name, value in vars(self).items()
            if isinstance(value, np.ndarray) or (name in ("ids", "keys") and value is not None)
        }
        return replace(self, **chosen | ({} if weights is None else {"weights": weights}))

    @property
    def notes(self) -> list[str]:
        """(n,): what is noted beside each row, "" where nothing is."""
        if self.is_new_key is None:
            return [self.note] * len(self)
        return [NEW_KEY if is_new else self.note for is_new in self.is_new_key]

    @property
    def predicted(self) -> NDArray[Any]:
        """(n,): the most probable class of each row, None while no class is known."""
        if not self.classes:
            return np.full(len(self), None, dtype=object)
        assert self.proba is not None
        return np.asarray(np.array(self.classes, dtype=object)[self.proba.argmax(axis=1)])

    @property
    def has_classes(self) -> bool:
        return self.mean is None

    def columns(self, key_field: str | None = None) -> list[tuple[str, str, Any]]:
        """Name, kind and values (n,) of every column of a file; None: all missing."""
        own = {"id": self.ids, "note": self.notes} | ({} if key_field is None else {key_field: self.keys})
        kinds = column_kinds(self.has_classes, key_field)
        return [(name, kind, own[name] if name in own else getattr(self, name)) for name, kind in kinds.items()]
