"""A stream in memory: rows in the order in which they arrived, with names, a description and a task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iegp.errors import InputError
from iegp.typing import Float

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


@dataclass(frozen=True, eq=False, repr=False)
class Stream:
    """Rows in order of arrival, with names and a description.

    Parameters
    ----------
    name : str
        Short name, used in messages.
    X : array-like (n, d)
        Inputs, finite; stored as C-contiguous float64.
    y : array-like (n,) or (n, k)
        Targets. For regression finite numbers, stored as float64, with k columns for k targets. For other tasks
        labels (n,): int64 for "counts" and for the levels of "ordinal", of which a smaller one is lower; int64, bool or
        text for "classification".
    feature_names : tuple of str
        One name per column of X.
    target_name : str
        What y is, with its unit.
    description : str
        One sentence about the origin of the rows.
    change_points : tuple of int, default=()
        Rows at which the relation between X and y is *known* to change abruptly (the first row of each new regime);
        empty where nothing is known.
    task : {"regression", "classification", "counts", "ordinal"}, default="regression"
        Kind of targets.
    delay : int, default=0
        Later rows that come before the label of a row is known: the ``delay`` of a model that is to be judged by what
        is known when it predicts.

    Examples
    --------
    >>> stream = Stream("toy", [[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0], ("x",), "x squared", "three points")
    >>> len(stream), stream.X.shape, stream.head(2).y
    (3, (3, 1), array([0., 1.]))
    >>> stream
    Stream('toy', 3 rows, 1 feature -> x squared)
    >>> Stream("toy", [[0.0], [1.0]], ["calm", "storm"], ("wind",), "sea", "two days", task="classification")
    Stream('toy', 2 rows, 1 feature -> sea, classification)
    """

    name: str
    X: Float
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    target_name: str
    description: str
    change_points: tuple[int, ...] = ()
    task: Task = "regression"
    delay: int = 0

    def __post_init__(self) -> None:
        # The fields are frozen for users, so they are converted here, past the dataclass.
        object.__setattr__(self, "X", np.ascontiguousarray(self.X, dtype=np.float64))
        object.__setattr__(self, "y", as_targets(self.name, self.task, self.y))
        object.__setattr__(self, "feature_names", tuple(self.feature_names))
        _check_shapes(self)
        if type(self.delay) is not int or self.delay < 0:
            raise InputError(f"Stream {self.name!r}: delay={self.delay!r} is no number of rows; 0 is at once.")
        _check_finite(self.name, "X", self.X)
        if self.task == "regression":
            _check_finite(self.name, "y", self.y)

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        d = self.X.shape[1]
        target = self.target_name if self.task == "regression" else f"{self.target_name}, {self.task}"
        return f"Stream({self.name!r}, {len(self)} rows, {d} feature{'s' * (d != 1)} -> {target})"

    def head(self, n: int) -> Stream:
        """Return the first rows as a stream that shares memory with this one.

        Parameters
        ----------
        n : int
            Number of rows, not negative; all of them where there are fewer.

        Returns
        -------
        Stream
            The rows, with those of the change points that are among them.
        """
        if n < 0:
            raise InputError(f"head({n}): the number of rows cannot be negative; try {-n}.")
        changes = tuple(row for row in self.change_points if row < n)
        return replace(self, X=self.X[:n], y=self.y[:n], change_points=changes)


def _check_shapes(stream: Stream) -> None:
    X, y = stream.X, stream.y
    if X.ndim != 2 or y.ndim not in (1, 2) or len(X) != len(y):
        raise InputError(
            f"Stream {stream.name!r}: X has shape {X.shape} and y {y.shape}, but one row of X per row of y is needed; "
            "pass X as (n, d) and y as (n,) or (n, k)."
        )
    if len(stream.feature_names) != X.shape[1]:
        raise InputError(
            f"Stream {stream.name!r}: {len(stream.feature_names)} feature names for {X.shape[1]} columns of X; "
            "give one name per column."
        )


def _check_finite(stream: str, array: str, values: Float) -> None:
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        where = tuple(int(i) for i in bad[0])
        raise InputError(
            f"Stream {stream!r}: {array}{list(where)} is {values[where]}, which no model can learn from; "
            "drop that row or fill the value in."
        )
