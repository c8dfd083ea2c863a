"""What the tests of records share: sources from bytes, and everything a source gives, record by record."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from iegp.readers import BadRecord, Position, Records, Source, open_source


class Read(NamedTuple):
    """One record, good or bad, and the place after it."""

    line: int
    values: dict[str, Any] | None
    bad: BadRecord | None
    after: Position


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


def read_batches(source: Source, at_most: int = 10**9) -> list[Records]:
    batches = []
    while (batch := source.read(at_most)) is not None:
        assert batch.n_records <= at_most
        batches.append(batch)
    return batches


def in_order(batch: Records) -> list[Read]:
    """The records of a batch as they stood in the source, good and bad."""
    reads = [_good(batch, i) for i in range(len(batch))]
    for bad in reversed(batch.bad):
        reads.insert(bad.before, Read(bad.line, None, bad, bad.after))
    return reads


def _good(batch: Records, i: int) -> Read:
    values = {name: plain(column[i]) for name, column in batch.columns.items()}
    return Read(int(batch.lines[i]), values, None, batch.position_before(i + 1))


def plain(value: Any) -> Any:
    """Missing as None, so that records can be compared."""
    return None if isinstance(value, float) and np.isnan(value) else value


def read_all(path: Path, at_most: int = 10**9, **options: Any) -> list[Read]:
    with open_source(path, **options) as source:
        return [read for batch in read_batches(source, at_most) for read in in_order(batch)]


def known(values: dict[str, Any] | None) -> dict[str, Any] | None:
    """Without missing values: whether a column is known yet may depend on the batch."""
    return None if values is None else {name: value for name, value in values.items() if value is not None}


def good(reads: list[Read]) -> list[dict[str, Any]]:
    return [read.values for read in reads if read.values is not None]


def bad(reads: list[Read]) -> list[BadRecord]:
    return [read.bad for read in reads if read.bad is not None]
