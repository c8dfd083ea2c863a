"""Counts of what a run of the stream command did with its records."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Counters:
    """Counts of rows and records by what was done with them."""

    rows: int = 0
    """Rows answered."""
    learned: int = 0
    late: int = 0
    duplicates: int = 0
    unknown_ids: int = 0
    bad: int = 0
    changes: int = 0
    """Changes of the stream that were noticed."""
    unnamed: int = 0
    """Rows without a label and without a name by which it could come later."""
