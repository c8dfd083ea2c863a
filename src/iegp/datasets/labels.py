"""Valid targets of a stream by task: real numbers, classes, counts or ordered levels."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iegp.errors import InputError

Task = Literal["regression", "classification", "counts", "ordinal"]


def check_task(task: str) -> None:
    """Raise for a name that is no task."""
    if task not in get_args(Task):
        raise InputError(f"task={task!r} is unknown; choose one of {', '.join(map(repr, get_args(Task)))}.")


def as_targets(stream: str, task: Task, y: ArrayLike) -> NDArray[Any]:
    """Convert ``y`` to the type of its task, or raise where an entry cannot be a target of the task.

    The type is float64 for regression; int64 for counts and ordered levels; int64, bool or text for classes. ``stream``
    is the name for the message.

    >>> as_targets("toy", "classification", np.array([0.0, 2.0]))
    array([0, 2])
    >>> as_targets("toy", "classification", ["sky", "path"])
    array(['sky', 'path'], dtype='<U4')
    """
    check_task(task)
    if task == "regression":
        return np.ascontiguousarray(y, dtype=np.float64)
    labels = np.ascontiguousarray(_without_objects(stream, np.asarray(y)))
    if labels.ndim != 1:
        raise InputError(f"Stream {stream!r}: y has shape {labels.shape}; for {task} pass one label per row, as (n,).")
    if task == "classification" and labels.dtype.kind in "bU":
        return labels
    if labels.dtype.kind not in "iuf":
        raise InputError(f"Stream {stream!r}: y has type {labels.dtype}, unfit for {task}; pass {_FITTING[task]}.")
    return _whole(stream, task, labels)


_FITTING = {
    "classification": "whole numbers, truth values or text",
    "counts": "whole numbers from 0 up",
    "ordinal": "whole numbers, of which a smaller one is a lower level",
}


def _without_objects(stream: str, y: NDArray[Any]) -> NDArray[Any]:
    """Convert object arrays, such as columns of a data frame, to their common type; raise where there is none."""
    if y.dtype.kind != "O":
        return y
    kinds = {type(label): label for label in y.ravel().tolist()}
    if len(kinds) != 1:
        found = ", ".join(f"{label!r} ({kind.__name__})" for kind, label in list(kinds.items())[:3])
        raise InputError(f"Stream {stream!r}: y mixes types, such as {found}; give all labels one type, without gaps.")
    return np.array(y.tolist())


def _whole(stream: str, task: Task, y: NDArray[Any]) -> NDArray[Any]:
    least = 0 if task == "counts" else -(2**53)
    fits = np.isfinite(y) & (y == np.floor(y)) & (y >= least) & (y <= 2**53)
    bad = np.flatnonzero(~fits)
    if len(bad):
        row = int(bad[0])
        raise InputError(f"Stream {stream!r}: y[{row}] is {y[row]}, unfit for {task}; pass {_FITTING[task]}.")
    return np.ascontiguousarray(y, dtype=np.int64)
