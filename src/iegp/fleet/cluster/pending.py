"""Predictions of batches that shards are working on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iegp.fleet.cluster.checkpoint import Answer
from iegp.fleet.cluster.journal import Routed
from iegp.fleet.run import FleetRun

Wait = Callable[[Callable[[], bool], float | None], None]


class Pending:
    """The predictions of one batch, returned by :meth:`RayFleet.submit`, once all of its shards have answered."""

    def __init__(self, routed: Routed, wait: Wait, columns: Answer | None = None) -> None:
        """``columns`` are the predictions of a batch without rows, which goes to no shard."""
        self._batch, self._rows = routed
        self._wait = wait
        self._columns = {} if columns is None else columns
        self.missing = set(self._rows)
        """Shards that have not answered yet."""

    @property
    def number(self) -> int:
        """Number of the batch, counted from 1 since the fleet began."""
        return self._batch.number

    @property
    def first_row(self) -> int:
        """Number of rows before the batch, since the fleet began."""
        return self._batch.first_row

    def done(self) -> bool:
        """Whether all predictions are there; they arrive while the driver waits or submits.

        Returns
        -------
        bool
            True if :meth:`result` returns at once.
        """
        return not self.missing

    def result(self, timeout: float | None = None) -> FleetRun:
        """Return the predictions, in the order of the rows.

        Parameters
        ----------
        timeout : float or None, default=None
            Seconds to wait before a TimeoutError; ``None`` waits without limit.

        Returns
        -------
        FleetRun
            One prediction per row.
        """
        self._wait(self.done, timeout)
        keys = np.empty(len(self._batch.keys), dtype=object)
        keys[:] = self._batch.keys
        fields: dict[str, Any] = {"lower": None, "upper": None, **self._columns}
        return FleetRun(keys=keys, y=self._batch.y.copy(), level=self._batch.level, **fields)

    def fill(self, shard: int, answer: Answer) -> None:
        """Store the rows of one shard."""
        for name, part in answer.items():
            if name not in self._columns:
                self._columns[name] = np.empty((len(self._batch.keys), *part.shape[1:]))
            self._columns[name][self._rows[shard]] = part
        self.missing.discard(shard)
