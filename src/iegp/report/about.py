"""Description of a run for its report: source of the rows, model, inputs and settings."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True)
class ExpertRow:
    """One expert, in the order of the columns of the weights. Experts of equal kernel and drift are shown as one."""

    kernel: str
    """Such as ``"RBF(0.5)"``."""
    drift: str
    """Such as ``"0.001"``; ``"static"`` or ``"0"`` for an expert that does not drift."""

    @property
    def group(self) -> tuple[str, str]:
        """Kernel and drift: experts with equal ones are shown as one."""
        return self.kernel, self.drift


class InputRow(NamedTuple):
    """One column of the source that is an input."""

    name: str
    kind: str
    """Such as ``"number"`` or ``"text, 4 categories"``."""
    gaps: int
    """Rows without a value."""
    relevance: float
    """Share of the relevance of all inputs, see :func:`iegp.core.relevance.input_relevance`."""


class Change(NamedTuple):
    """A change of the stream that was noticed."""

    row: int
    time: float | None
    """Seconds since 1970, if rows have a time."""
    kind: str
    """In a few words, such as ``"level"``."""
    strength: float
    """The larger, the clearer."""


class Timing(NamedTuple):
    """When a report was written, and how long its run took."""

    written: float
    """Seconds since 1970."""
    seconds: float | None = None
    n_rows: int = 0
    """Rows answered in these seconds."""

    @classmethod
    def now(cls, seconds: float | None = None, n_rows: int = 0) -> Timing:
        """The present; with ``SOURCE_DATE_EPOCH`` set that moment alone, so that reports of equal runs are equal."""
        fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
        return cls(float(fixed)) if fixed.isascii() and fixed.isdigit() else cls(time.time(), seconds, n_rows)


@dataclass(frozen=True)
class About:
    """Description of a run. All text is escaped when it is written."""

    title: str
    source: str
    """Name of the file or stream."""
    target: str
    """Name of the column that was predicted, with its unit in parentheses if known."""
    task: str
    model: str
    n_columns: int
    """Number of columns of the source that are inputs."""
    experts: list[ExpertRow] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)
    """Short heading and sentence each: missing values filled, bad rows skipped, late labels."""
    command: str = ""
    unit: str = ""
    """Unit of the target, such as ``"bikes"``."""
    inputs: list[InputRow] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    timing: Timing | None = None
    """Not part of what a run stores: the files of two equal runs are equal."""
