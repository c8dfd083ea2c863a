"""Giving a batch in portions, as large as they are asked for."""

from __future__ import annotations

from bisect import bisect_left

from iegp.errors import InputError
from iegp.readers.batch import Records
from iegp.readers.position import Position


class Portions:
    """Hands out the records of a batch, good and bad, in order. Arrays are shared, not copied."""

    def __init__(self, batch: Records) -> None:
        self._batch = batch
        self._bad_at = [bad.before + j for j, bad in enumerate(batch.bad)]  # places of bad ones among all
        self._n_given = 0
        self.is_done = False

    def take(self, at_most: int) -> Records:
        """The next ones, at least one unless the batch is empty."""
        first, last = self._n_given, min(self._n_given + at_most, self._batch.n_records)
        self._n_given, self.is_done = last, last == self._batch.n_records
        return self._batch if last - first == self._batch.n_records else self._part(first, last)

    def _part(self, first: int, last: int) -> Records:
        batch, (bad_first, bad_last) = self._batch, (bisect_left(self._bad_at, at) for at in (first, last))
        rows = slice(first - bad_first, last - bad_last)
        start, end, origin = self._position(first), self._position(last), batch.start.offset
        return Records(
            {name: values[rows] for name, values in batch.columns.items()},
            batch.lines[rows],
            batch.offsets[rows],
            batch.next_lines[rows],
            [bad._replace(before=bad.before - rows.start) for bad in batch.bad[bad_first:bad_last]],
            start,
            end,
            None if batch.raw is None else batch.raw[start.offset - origin : end.offset - origin],
        )

    def _position(self, n_records: int) -> Position:
        """After so many records."""
        if n_records in (0, self._batch.n_records):
            return self._batch.end if n_records else self._batch.start
        n_bad = bisect_left(self._bad_at, n_records)
        if n_bad and self._bad_at[n_bad - 1] == n_records - 1:
            return self._batch.bad[n_bad - 1].after
        return self._batch.position_after(n_records - n_bad - 1)


def check_at_most(at_most: int) -> None:
    """A portion must have room for a record."""
    if at_most < 1:
        raise InputError(f"at_most must be at least 1, got {at_most}: a batch has room for a record.")
