"""Reading River's data sets. River is an optional extra and slow to import, so it is imported on request."""

from __future__ import annotations

from typing import Any

import numpy as np

from iegp._imports import optional
from iegp.typing import Float


def river_rows(dataset: str) -> tuple[list[dict[str, Any]], list[Any]]:
    """Return inputs and targets of a class of ``river.datasets``, row by row, as River gives them."""
    pairs = list(getattr(optional("river.datasets", f"the data set {dataset}"), dataset)())
    return [row for row, _ in pairs], [target for _, target in pairs]


def river_table(dataset: str) -> tuple[Float, tuple[str, ...], list[Any]]:
    """Return the inputs (n, d) of a purely numeric set, the names of its columns, and its targets."""
    rows, targets = river_rows(dataset)
    return np.array([list(row.values()) for row in rows], dtype=np.float64), tuple(rows[0]), targets
