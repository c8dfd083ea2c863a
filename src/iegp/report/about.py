"""Description of a run for its report: source of the rows, model and settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ExpertRow:
    """One expert, in the order of the columns of the weights. Experts of equal kernel and drift are shown as one."""

    kernel: str
    """Such as ``"RBF(0.5)"``."""
    drift: str
    """Such as ``"0.001"``; ``"static"`` or ``"0"`` for an expert that does not drift."""
    label: str = ""
    """Full name; made of kernel and drift if empty."""

    @property
    def group(self) -> tuple[str, str]:
        """Kernel and drift: experts with equal ones are shown as one."""
        return self.kernel, self.drift


@dataclass(frozen=True)
class About:
    """Description of a run. All text is escaped when it is written."""

    title: str
    source: str
    """Name of the file or stream."""
    target: str
    """Name of the column that was predicted, with its unit if known."""
    task: str
    model: str
    n_columns: int
    """Number of input columns that the model sees."""
    experts: list[ExpertRow] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)
    """Short heading and sentence each: missing values filled, bad rows skipped, late labels."""
    command: str = ""
    changes: list[tuple[int, str]] = field(default_factory=list)
    """Row and kind of the changes of the stream that were noticed, the last ones if there are many."""
