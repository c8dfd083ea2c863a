"""Size of a data set, as loaded."""

from __future__ import annotations

import numpy as np

from iegp.datasets import describe_dataset, load_arrays
from iegp_paper.runs.embedding_data import rows_and_labels
from iegp_paper.task import Outcome, Task


def run(task: Task) -> Outcome:
    name = task.data
    if describe_dataset(name).task == "multi-class classification":
        rows, labels = rows_and_labels(name, None)
        scores = {"T": float(len(rows)), "D": float(rows.shape[1]), "classes": float(len(np.unique(labels)))}
    else:
        arrays = load_arrays(name)
        scores = {"T": float(len(arrays["X"])), "d": float(arrays["X"].shape[1]), "D": 1.0}
    return Outcome("done", scores)
