"""Class labels of any type, to class numbers and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d

from iegp.errors import InputError, ModelFileError
from iegp.estimators.checks import check_x, require_y
from iegp.typing import Float

Labels = NDArray[Any]

_PLAIN_KINDS = "biufU"


def check_labels(
    estimator: BaseEstimator, X: Any, y: Any, reset: bool, any_number: bool = False
) -> tuple[Float, Labels]:
    """Rows (n, d) and labels (n,) of any type that can be compared; NaN and numbers that are no classes are refused."""
    require_y(estimator, y, "one label")
    rows = check_x(estimator, X, reset)
    labels = column_or_1d(as_given(y), warn=True)
    check_consistent_length(rows, labels)
    _refuse_missing(labels)
    if labels.dtype.kind == "O":
        sorted_classes(labels)
    if not (any_number and labels.dtype.kind == "f"):
        check_classification_targets(labels)
    return rows, labels


def as_given(labels: Any) -> Any:
    """A list that NumPy would turn into text (a NaN among words, numbers among words) as objects, to be looked at."""
    if isinstance(labels, list | tuple) and not all(isinstance(label, str) for label in labels):
        array = np.asarray(labels)
        return np.array(labels, dtype=object) if array.dtype.kind == "U" and array.ndim == 1 else array
    return labels


def _refuse_missing(labels: Labels) -> None:
    if labels.dtype.kind == "f":
        missing = ~np.isfinite(labels)
    elif labels.dtype.kind == "O":
        missing = np.array([_is_missing(label) for label in labels], dtype=bool)
    else:
        return
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        kind = "infinity" if labels.dtype.kind == "f" and np.isinf(labels[row]) else "NaN"
        raise InputError(
            f"Input y contains {kind} at row {row}: a row without a label cannot be learned. Drop the row; "
            "the model is unchanged."
        )


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas' NA answers neither yes nor no
        return True


def sorted_classes(labels: ArrayLike) -> Labels:
    """The different labels, sorted."""
    try:
        return np.unique(np.asarray(labels))
    except TypeError as error:
        raise InputError(
            f"labels of mixed types cannot be sorted into classes ({error}); make them all text or all numbers"
        ) from error


def declared_classes(classes: Sequence[Any] | ArrayLike, keep_order: bool) -> Labels:
    """What a caller says the classes are, sorted unless their order means something."""
    given = np.asarray(as_given(classes))
    if given.ndim == 1 and given.dtype.kind in "fO" and any(_is_missing(label) for label in given):
        raise InputError(f"classes={given.tolist()!r:.200} contains None or NaN, which cannot be a class; leave it out")
    if given.ndim != 1:
        raise InputError(
            f"classes={classes!r:.200} is not a list of labels (it has shape {given.shape}); give one, such as [0, 1]"
        )
    if not len(given):
        raise InputError("classes is empty; name all labels that may come, such as [0, 1]")
    distinct = sorted_classes(given)
    if len(distinct) != len(given):
        raise InputError(f"classes={given.tolist()!r:.200} names a label twice; name each once")
    return given if keep_order else distinct


def require_two(classes: Labels) -> None:
    """A classifier needs at least two classes."""
    if len(classes) < 2:
        raise InputError(
            f"y has one class ({_shown(classes[0])}), but a classifier needs at least two classes. If others may come "
            "later, name all of them: classes=[...] in the first partial_fit or prequential"
        )


def encode(labels: Labels, classes: Labels) -> Float:
    """Class numbers (n, 1) of labels; a label that is no class is an error that names its row."""
    numbers = _numbers(labels, classes)
    unknown = numbers < 0
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        known = ", ".join(_shown(label) for label in classes[:12]) + (", ..." if len(classes) > 12 else "")
        raise InputError(
            f"y has the label {_shown(labels[row])} at row {row}, which is none of the classes {known}. Name all of "
            "them when the model starts: classes=[...] in the first partial_fit or prequential; the model is unchanged."
        )
    return np.ascontiguousarray(numbers, dtype=np.float64)[:, None]


def _numbers(labels: Labels, classes: Labels) -> NDArray[np.intp]:
    """Place of each label among the classes, -1 where it has none."""
    alike = (labels.dtype.kind == "U") == (classes.dtype.kind == "U")
    if alike and labels.dtype.kind in _PLAIN_KINDS and classes.dtype.kind in _PLAIN_KINDS:
        order = np.argsort(classes, kind="stable")
        place = np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)
        found = order[place]
        return np.where(classes[found] == labels, found, -1)
    known = {label: number for number, label in enumerate(classes.tolist())}
    return np.array([known.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def to_config(classes: Labels) -> dict[str, Any]:
    """Class labels as plain data."""
    plain = classes.tolist()
    if not all(isinstance(label, bool | int | float | str) for label in plain):
        raise InputError(
            f"labels of type {type(plain[0]).__name__} cannot be stored in a model file; use text or numbers as labels"
        )
    return {"labels": plain, "type": "object" if classes.dtype.kind == "O" else classes.dtype.str}


def from_config(config: dict[str, Any]) -> Labels:
    """The inverse of :func:`to_config`."""
    labels, kind = config["labels"], config["type"]
    if not isinstance(labels, list) or not all(isinstance(label, bool | int | float | str) for label in labels):
        raise ModelFileError("the class labels are not a list of plain values")
    if kind != "object" and np.dtype(kind).kind not in _PLAIN_KINDS:
        raise ModelFileError(f"class labels cannot be of type {kind!r}")
    classes: Labels = np.array(labels, dtype=kind)
    if classes.tolist() != labels or len(set(labels)) != len(labels):
        raise ModelFileError("the class labels do not fit their type, or are not all different")
    return classes


def _shown(label: object) -> str:
    return repr(label.item() if isinstance(label, np.generic) else label)
