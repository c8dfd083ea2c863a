"""Where in a source the next record starts: what a checkpoint keeps so that reading can go on from there."""

from __future__ import annotations

from typing import NamedTuple


class Position(NamedTuple):
    """Three whole numbers, ready for JSON. ``Position(*stored)`` and opening the source there resumes it."""

    offset: int
    """Bytes into the (decompressed) file; for Parquet the row number."""
    line: int
    """Line number, from 1, at this offset; for Parquet the row number + 1."""
    record: int
    """Number of records before it, good or bad."""


START = Position(0, 1, 0)
