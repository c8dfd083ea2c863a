"""Class labels as small numbers, in the order in which they were first named; from the fifty-first on they are one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.errors import InputError
from iegp.typing import Int

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
        """Number of classes told apart, the one for all others included."""
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
