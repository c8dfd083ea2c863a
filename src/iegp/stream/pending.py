"""Rows that wait for their labels, and ids that were seen: both bounded, the oldest go first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from iegp.storage.schema import Field, check_arrays, count
from iegp.stream.answers import NUMBERS
from iegp.typing import Arrays, Float


@dataclass
class Waiting:
    """A row that was answered without its label; its place is taken when it is read, and filled when it is answered."""

    row: int = -1
    x: Float = field(default_factory=lambda: np.zeros(0))
    """(d,), as it was predicted with."""
    predicted: tuple[float, ...] = (np.nan,) * len(NUMBERS)
    """Of numbers: mean, std, lower, upper, to be repeated with the label."""
    key: str | None = None
    """Key of the row, where there is one model per key."""


@dataclass
class Pending:
    """Rows by id, oldest first."""

    at_most: int = 10_000
    rows: dict[str, Waiting] = field(default_factory=dict)
    seen: dict[str, None] = field(default_factory=dict)
    """The last ids, waiting or not, to know a duplicate by."""
    n_dropped: int = 0
    """Rows that waited too long."""

    def reserve(self, name: str) -> Waiting:
        """A place for a row that is about to be answered; the row that has waited longest may lose its own."""
        waiting = self.rows[name] = Waiting()
        if len(self.rows) > self.at_most:
            del self.rows[next(iter(self.rows))]
            self.n_dropped += 1
        return waiting

    def take(self, name: str) -> Waiting | None:
        """The row of that name, which waits no longer; None if there is none."""
        return self.rows.pop(name, None)

    def see(self, name: str) -> bool:
        """Remember an id; whether it is new."""
        if name in self.seen or name in self.rows:
            return False
        self.seen[name] = None
        if len(self.seen) > self.at_most:
            del self.seen[next(iter(self.seen))]
        return True

    # -- storing ---------------------------------------------------------------------------------------------------

    def to_parts(self, n_columns: int) -> tuple[dict[str, Any], Arrays]:
        config = {
            "at_most": self.at_most,
            "names": list(self.rows),
            "rows": [waiting.row for waiting in self.rows.values()],
            "seen": list(self.seen),
            "n_dropped": self.n_dropped,
        }
        if any(waiting.key is not None for waiting in self.rows.values()):
            config["keys"] = [waiting.key for waiting in self.rows.values()]
        x = np.full((len(self.rows), n_columns), np.nan)
        for place, waiting in enumerate(self.rows.values()):
            x[place, : len(waiting.x)] = waiting.x
        predicted = np.array([waiting.predicted for waiting in self.rows.values()]).reshape(-1, len(NUMBERS))
        return config, {"x": x, "predicted": predicted}

    @classmethod
    def from_parts(cls, config: dict[str, Any], arrays: Arrays) -> Pending:
        names = config["names"]
        if len(names) != len(config["rows"]):
            raise ValueError("the rows that wait for labels do not fit together")
        # Predictions are only repeated with the label; they are NaN where none could be made.
        numbers = Field((len(names), len(NUMBERS)), -np.inf, np.inf, gaps=True)
        check_arrays({"x": Field((len(names), None), gaps=True), "predicted": numbers}, arrays)
        x, predicted = arrays["x"], arrays["predicted"]
        if not all(isinstance(name, str) for name in [*names, *config["seen"]]) or len(set(names)) != len(names):
            raise ValueError("the names of rows are none")
        keys = config.get("keys", [None] * len(names))
        if len(keys) != len(names) or not all(isinstance(key, str | None) for key in keys):
            raise ValueError("the keys of rows that wait are none")
        for number in (*config["rows"], config["at_most"], config["n_dropped"]):
            count("a row that waits", number)
        rows = {
            str(name): Waiting(int(row), features.copy(), tuple(numbers.tolist()), key)
            for name, row, features, numbers, key in zip(names, config["rows"], x, predicted, keys, strict=True)
        }
        return cls(int(config["at_most"]), rows, dict.fromkeys(map(str, config["seen"])), int(config["n_dropped"]))
