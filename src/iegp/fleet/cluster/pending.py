"""Answers on their way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iegp.fleet.cluster.checkpoint import Answer
from iegp.fleet.cluster.journal import Routed
from iegp.fleet.run import FleetRun

Wait = Callable[[Callable[[], bool], float | None], None]


class Pending:
    """What :meth:`RayFleet.submit` gives: the answers to one batch, when all of its shards have given theirs."""

    def __init__(self, routed: Routed, wait: Wait, columns: Answer | None = None) -> None:
        """``columns`` are the answers to a batch without rows, which no shard gives."""
        self._batch, self._rows = routed
        self._wait = wait
        self._columns = {} if columns is None else columns
        self.missing = set(self._rows)
        """Shards whose answer is not there yet."""

    @property
    def number(self) -> int:
        """Of the batch, counted from 1 since the fleet began."""
        return self._batch.number

    @property
    def first_row(self) -> int:
        """Rows that came before the batch, since the fleet began."""
        return self._batch.first_row

    def done(self) -> bool:
        """Whether all answers have come; they come in while the driver waits for something or submits."""
        return not self.missing

    def result(self, timeout: float | None = None) -> FleetRun:
        """The answers, in the order of the rows; TimeoutError if they are not there after ``timeout`` seconds."""
        self._wait(self.done, timeout)
        keys = np.empty(len(self._batch.keys), dtype=object)
        keys[:] = self._batch.keys
        fields: dict[str, Any] = {"lower": None, "upper": None, **self._columns}
        return FleetRun(keys=keys, y=self._batch.y.copy(), level=self._batch.level, **fields)

    def fill(self, shard: int, answer: Answer) -> None:
        """The rows of one shard."""
        for name, part in answer.items():
            if name not in self._columns:
                self._columns[name] = np.empty((len(self._batch.keys), *part.shape[1:]))
            self._columns[name][self._rows[shard]] = part
        self.missing.discard(shard)
