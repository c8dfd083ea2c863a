"""One run, a method on a data set with a seed: its identity and its outcome."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any, Literal

Status = Literal["done", "timeout", "failed", "missing"]

# Raised whenever a run would measure something else under the same settings, so that older results are not used.
MEASURE = 4
# The same for this library's own models, the methods whose names begin with OWN: raised when their predictions change.
OWN_MEASURE = 5
OWN = "iegp "
# Added to both for kinds of runs that alone measure something else than before.
MEASURE_OF = {"uncertainty": 1}


@dataclass(frozen=True)
class Task:
    """Settings that determine a run. ``seconds`` is its time limit and no part of its identity."""

    kind: str
    data: str
    method: str
    seed: int
    rows: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Keywords of the method."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of this kind of run."""
    seconds: float = 3600.0

    @property
    def identity(self) -> dict[str, Any]:
        """Return the settings that determine the outcome, the package's version included."""
        own = asdict(self)
        del own["seconds"]
        measure = OWN_MEASURE if self.method.startswith(OWN) else MEASURE
        return own | {"iegp": version("iegp"), "measure": measure + MEASURE_OF.get(self.kind, 0)}

    @property
    def digest(self) -> str:
        text = json.dumps(self.identity, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @property
    def title(self) -> str:
        return f"{self.method} on {self.data}, run {self.seed + 1}"


def written(value: float) -> str:
    """Write a number with the digits that are stored and compared, so that stored and new runs are judged alike."""
    return f"{value:.6g}"


@dataclass(frozen=True)
class Outcome:
    """Result of a run: scores by name, and lines to draw (short ones: they are stored as JSON)."""

    status: Status
    scores: Mapping[str, float] = field(default_factory=dict)
    lines: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    limit: float = 0.0
    """Of a timeout: how long the run was given."""
    commit: str = ""
    """Of the repository, when the run was made."""
