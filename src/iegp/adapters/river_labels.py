"""What River classifiers share, be their classes ordered or not: labels that nobody declared become classes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from iegp.adapters import targets
from iegp.adapters.columns import Columns
from iegp.adapters.river_base import Features, Read, RiverModel, as_draft, frame, series
from iegp.core import model as online
from iegp.core.kernels import Kernel
from iegp.core.model import Online
from iegp.errors import InputError
from iegp.estimators.defaults import CLASS_KERNELS
from iegp.typing import Float

if TYPE_CHECKING:
    import pandas as pd

# Labels and their class numbers, in the order of the numbers. Never changed: another class makes another one.
Classes = dict[Hashable, int]


class RiverLabelModel(RiverModel, base.MiniBatchClassifier):
    """Learning and predicting with labels."""

    _classes: Classes

    @property
    def known_classes(self) -> tuple[Hashable, ...]:
        """Labels known so far, in the order of their class numbers."""
        return tuple(self._classes)

    # -- learning --------------------------------------------------------------------------------------------------

    def learn_one(self, x: Features, y: Any) -> None:
        """Learn a row. A label that was never seen becomes a class."""
        self._learn_labels(Columns.read_row, x, targets.labels([y], 1))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn rows in order, as if one by one but quicker."""
        if len(X):
            self._learn_labels(Columns.read_frame, X, targets.labels(y, len(X)))

    def _learn_labels(self, read: Read, x: Any, labels: list[Hashable]) -> None:
        model, columns, rows = self._ready(read, x)
        classes = self._classes
        if len(labels) > 1:
            model = as_draft(model)
        start = 0
        while start < len(labels):
            if labels[start] not in classes:
                model, classes = self._with_class(model, classes, labels[start])
            stop = start + 1
            while stop < len(labels) and labels[stop] in classes:
                stop += 1
            numbers = np.array([[float(classes[label])] for label in labels[start:stop]])
            online.absorb(model, rows[start:stop], numbers)
            start = stop
        self._model, self._columns, self._classes = model, columns, classes

    def _with_class(self, model: Online, classes: Classes, label: Hashable) -> tuple[Online, Classes]:
        """A model for one more label; neither argument is changed."""
        raise NotImplementedError

    # -- predicting ------------------------------------------------------------------------------------------------

    def predict_proba_one(self, x: Features) -> dict[Any, float]:  # type: ignore[override]
        """Probability of every label known so far; none are known before the first, unless they were declared."""
        return dict(zip(self._classes, self._probabilities(Columns.read_row, x)[0].tolist(), strict=True))

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Probabilities of the labels, a column each, for every row as if it came next."""
        return frame(self._probabilities(Columns.read_frame, X), list(self._classes), X)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The most probable label of every row; None before the first label."""
        labels = list(self._classes)
        if not labels:
            return series([None] * len(X), X)
        return series([labels[best] for best in self._probabilities(Columns.read_frame, X).argmax(axis=1)], X)

    def _probabilities(self, read: Read, x: Any) -> Float:
        """(n, labels known so far)"""
        n_named = len(self._classes)
        model, rows = self._asked(read, x)
        if n_named < 2:
            return np.ones((len(rows), n_named))
        return online.predict_classes(model, rows)

    # -- private ---------------------------------------------------------------------------------------------------

    @property
    def _multiclass(self) -> bool:
        return True

    def _n_outputs(self) -> int:
        # With fewer than two labels there is a class that has no name yet.
        return max(2, len(self._classes))

    def _default_kernels(self) -> tuple[Kernel, ...]:
        return CLASS_KERNELS


def numbered(labels: Any, argument: str) -> Classes:
    """Declared labels as classes."""
    if labels is None:
        return {}
    if isinstance(labels, str | bytes) or not isinstance(labels, tuple):
        raise InputError(f"{argument}={labels!r:.80} must be a list of labels, such as [0, 1], or None")
    found = {label: number for number, label in enumerate(targets.labels(labels, len(labels)))}
    if len(found) != len(labels):
        raise InputError(f"{argument}={labels!r:.200} names a label twice; name each once")
    return found
