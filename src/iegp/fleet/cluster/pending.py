"""Batches that shards are working on: the predictions that callers wait for, and the queue of each shard."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np

from iegp.errors import ShardError
from iegp.fleet.cluster.checkpoint import Answer
from iegp.fleet.cluster.journal import Journal, Routed
from iegp.fleet.run import FleetRun
from iegp.readers import object_array

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
        keys = object_array(self._batch.keys)
        fields: dict[str, Any] = {"lower": None, "upper": None, **self._columns}
        return FleetRun(keys=keys, y=self._batch.y.copy(), level=self._batch.level, **fields)

    def fill(self, shard: int, answer: Answer) -> None:
        """Store the rows of one shard."""
        for name, part in answer.items():
            if name not in self._columns:
                self._columns[name] = np.empty((len(self._batch.keys), *part.shape[1:]))
            self._columns[name][self._rows[shard]] = part
        self.missing.discard(shard)


class ShardQueue:
    """Batches with rows for one shard, in order. Those before ``_next`` are sent; a shard that lost some moves it back.

    ``before`` is the last batch of this shard that the journal no longer has to hold.
    """

    def __init__(self, shard: int, actor: Any, journal: Journal, before: int) -> None:
        self.shard, self.actor, self._journal = shard, actor, journal
        self.saved = self._before = before
        self._numbers: list[int] = []
        self._next = 0
        self.in_flight: dict[Any, int] = {}
        self.saving: Any = None
        self.asked_to_save = 0
        self.to_be_saved = 0

    @property
    def last(self) -> int:
        """The batch that the shard will have learned when all is done."""
        return self._numbers[-1] if self._numbers else self._before

    @property
    def last_sent(self) -> int:
        return self._numbers[self._next - 1] if self._next else self._before

    @property
    def is_quiet(self) -> bool:
        """Whether everything was sent and nothing is on its way."""
        return self._next == len(self._numbers) and not self.in_flight

    @property
    def has_unsaved(self) -> bool:
        return self.saved < self.last

    def enter(self, number: int) -> None:
        """A new batch has rows for this shard."""
        self._numbers.append(number)

    def skip(self, up_to: int) -> None:
        """The shard has learned these, and their answers are not needed."""
        self._next = bisect_right(self._numbers, up_to)

    def send(self, window: int) -> None:
        """Send what is to be sent, no more than ``window`` batches at a time."""
        while self._next < len(self._numbers) and len(self.in_flight) < window:
            number = self._numbers[self._next]
            batch, rows = self._journal.read(number)
            chosen = rows[self.shard]
            keys = [batch.keys[row] for row in chosen]
            task = self.actor.learn.remote(number, self.last_sent, keys, batch.X[chosen], batch.y[chosen], batch.level)
            self.in_flight[task] = number
            self._next += 1

    def go_back(self, applied: int) -> None:
        """Send again what comes after ``applied``. What was on its way is no longer waited for: whether the shard still
        gets it does not matter, since it learns nothing twice and nothing out of order."""
        if applied != self._before and applied not in self._numbers:
            raise ShardError(
                f"shard {self.shard} stands after batch {applied}, which this driver did not send (it has sent "
                f"{self._before} to {self.last}); another driver works on the folder: end one, then RayFleet.resume"
            )
        self._next = bisect_right(self._numbers, applied)
        self.in_flight.clear()

    def send_again(self, number: int) -> None:
        """The answer to one batch got lost. (One that the journal no longer has is not needed.)"""
        self._next = min(self._next, bisect_left(self._numbers, number))
        self.in_flight.clear()

    def done_up_to(self, newest: int) -> int:
        """Batches up to this one will never be sent to this shard again."""
        return self.saved if self.has_unsaved else newest

    def forget(self, up_to: int) -> None:
        n = bisect_right(self._numbers, up_to)
        if n:
            self._before = self._numbers[n - 1]
            del self._numbers[:n]
            self._next = max(self._next - n, 0)
