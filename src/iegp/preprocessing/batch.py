"""A stretch of records on its way through the job, column by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.typing import Bool, Int

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Batch:
    """Columns of numbers (NaN: missing) or of text and truth values (None: missing), all equally long."""

    columns: Columns
    lines: Int
    """(n,): where each record stands in its source, for messages."""
    offsets: Int
    """(n,): where the source goes on after each record."""

    def __len__(self) -> int:
        return len(self.lines)

    def part(self, start: int, stop: int) -> Batch:
        """Some of the records."""
        if start == 0 and stop >= len(self):
            return self
        columns = {name: values[start:stop] for name, values in self.columns.items()}
        return Batch(columns, self.lines[start:stop], self.offsets[start:stop])

    def where(self, chosen: Bool) -> Batch:
        """The records that are chosen."""
        if chosen.all():
            return self
        columns = {name: values[chosen] for name, values in self.columns.items()}
        return Batch(columns, self.lines[chosen], self.offsets[chosen])

    @classmethod
    def joined(cls, batches: list[Batch]) -> Batch:
        """One batch out of consecutive ones; a column that some do not have is missing there."""
        if len(batches) == 1:
            return batches[0]
        names = dict.fromkeys(name for batch in batches for name in batch.columns)
        columns = {name: _joined([_column(batch, name) for batch in batches]) for name in names}
        lines, offsets = (np.concatenate([getattr(batch, name) for batch in batches]) for name in ("lines", "offsets"))
        return cls(columns, lines, offsets)


def _column(batch: Batch, name: str) -> NDArray[Any]:
    found = batch.columns.get(name)
    return np.full(len(batch), np.nan) if found is None else found


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    if all(part.dtype == np.float64 for part in parts):
        return np.concatenate(parts)
    return np.concatenate([_as_objects(part) for part in parts])


def _as_objects(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers among text can only be gaps: kinds do not change within a source."""
    return values if values.dtype == object else np.full(len(values), None, dtype=object)


def is_missing(values: NDArray[Any]) -> Bool:
    """(n,)"""
    if values.dtype == np.float64:
        return np.asarray(np.isnan(values))
    return np.fromiter((value is None for value in values), dtype=bool, count=len(values))
