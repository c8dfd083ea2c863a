"""The one place that reads River's data sets. River is an optional extra and slow to import: only on request."""

from __future__ import annotations

from typing import Any

import numpy as np

from iegp._imports import optional
from iegp.typing import Float


def river_rows(dataset: str) -> tuple[list[dict[str, Any]], list[Any]]:
    """Inputs and targets of a class of ``river.datasets``, row by row, as River gives them."""
    pairs = list(getattr(optional("river.datasets", f"the data set {dataset}"), dataset)())
    return [row for row, _ in pairs], [target for _, target in pairs]


def river_table(dataset: str) -> tuple[Float, tuple[str, ...], list[Any]]:
    """Inputs (n, d) of a set that has only numbers, the names of its columns, and its targets."""
    rows, targets = river_rows(dataset)
    return np.array([list(row.values()) for row in rows], dtype=np.float64), tuple(rows[0]), targets
