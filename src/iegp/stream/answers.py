"""Answers to the rows of a stream: predictions made before a label was used, with row numbers, ids, keys and labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.core.changes import Change
from iegp.core.predictions import Predictions
from iegp.typing import Bool, Float, Int

# The note of a row of a key without a model of its own.
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


def predictions_of(log_score: Float, **columns: Float | None) -> Predictions:
    """Predictions out of some of their arrays, numbers as (n,); what is not given has no rows, or no columns."""
    n, n_outputs = len(log_score), int(columns.get("mean") is not None)
    shapes = dict.fromkeys(("mean", "std", "proba", "weights"), (n, 0))
    shapes |= dict.fromkeys(("lower", "upper", "pit"), (0, n_outputs))
    none = Predictions(log_score=log_score, **{name: np.empty(shape) for name, shape in shapes.items()})
    return none._replace(**{name: _in_columns(values) for name, values in columns.items() if values is not None})


def _in_columns(values: Float) -> Float:
    return values[:, None] if values.ndim == 1 else values


@dataclass(frozen=True)
class Answers:
    """Consecutive rows, each predicted before its label was used.

    What was not known when a row was predicted is NaN (None among classes): its label, its scores, and everything about
    the first number of a stream, before which its units are not known.
    """

    predictions: Predictions
    """In the units of the labels; probabilities are those of ``classes``. Without weights where nothing was learned."""
    row: Int
    """(n,): number of the row in the stream, from 0."""
    label: NDArray[Any]
    """(n,): numbers, or the names of classes."""
    classes: tuple[Any, ...] = ()
    ids: tuple[str | None, ...] | None = None
    """What the rows are called, where the stream says so."""
    keys: tuple[str, ...] | None = None
    """Keys of the rows, where there is one model per key."""
    note: str = ""
    """"late": the label of a row that was answered before; "duplicate": a row with an id that was there already."""
    is_new_key: Bool | None = None
    """(n,): rows of a key that has no model of its own; the model that all keys start from answered."""
    changes: tuple[Change, ...] = ()
    """Changes that were noticed when these rows were learned, by the numbers of their rows in the stream."""
    naive: Float | None = None
    """(n, ...): of late labels, what naive forecasts knew when the rows were answered."""
    time: Float | None = None
    """(n,): when the rows came, in seconds since 1970, where the stream says so."""

    def __len__(self) -> int:
        return len(self.row)

    @property
    def has_classes(self) -> bool:
        return not self.predictions.mean.shape[1]

    def number(self, name: str) -> Float | None:
        """(n,): an entry of the predictions of a single number; None if there is none."""
        values: Float = getattr(self.predictions, name)
        if values.ndim == 1:
            return values
        return values[:, 0] if values.shape[1] and len(values) == len(self) else None

    def predicting(self, **columns: Float) -> Answers:
        """The same rows with other entries of the predictions, numbers as (n,)."""
        scores = {} if "log_score" not in columns else {"log_score": columns.pop("log_score")}
        others = {name: _in_columns(values) for name, values in columns.items()}
        return replace(self, predictions=self.predictions._replace(**scores | others))

    def part(self, start: int, stop: int, weights: Float | None = None) -> Answers:
        """Some of the rows, with these weights if they are given."""
        chosen: dict[str, Any] = {
            name: value[start:stop]
            for name, value in vars(self).items()
            if isinstance(value, np.ndarray) or (name in ("ids", "keys") and value is not None)
        }
        predictions = Predictions(*(values[start:stop] for values in self.predictions))
        part = replace(self, predictions=predictions, **chosen)
        return part if weights is None else part.predicting(weights=weights)

    @property
    def noticed(self) -> dict[int, Change]:
        """Changes by the places of the answers that tell them: a late label those it shows, else each its own row."""
        if self.note == "late":
            return dict.fromkeys(range(len(self)), self.changes[-1]) if self.changes else {}
        own = {change.row: change for change in self.changes}
        return {place: own[row] for place, row in enumerate(self.row.tolist()) if row in own}

    @property
    def notes(self) -> list[str]:
        """(n,): what is noted beside each row, "" where nothing is."""
        notes = [self.note] * len(self)
        if self.is_new_key is not None:
            notes = [NEW_KEY if is_new else self.note for is_new in self.is_new_key]
        for place, change in self.noticed.items():
            notes[place] = notes[place] or f"{change.kind} change"
        return notes

    @property
    def predicted(self) -> NDArray[Any]:
        """(n,): the most probable class of each row, None while no class is known."""
        if not self.classes:
            return np.full(len(self), None, dtype=object)
        return np.asarray(np.array(self.classes, dtype=object)[self.predictions.proba.argmax(axis=1)])

    def columns(self, key_field: str | None = None) -> list[tuple[str, str, Any]]:
        """Name, kind and values of every column of a file, (n,) or (n, K); None: all missing."""
        own = {"row": self.row, "id": self.ids, "label": self.label, "note": self.notes}
        own |= {} if key_field is None else {key_field: self.keys}
        own |= {"predicted": self.predicted, "proba": self.predictions.proba} if self.has_classes else {}
        kinds = column_kinds(self.has_classes, key_field)
        return [(name, kind, own[name] if name in own else self.number(name)) for name, kind in kinds.items()]
