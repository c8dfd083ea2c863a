"""Convert labels of any type to class numbers, and check predicted labels and probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iegp.errors import InputError
from iegp.typing import Float, Int

# Probabilities that were computed in single precision still sum to one within this.
SUM_TOLERANCE = 1e-5


def label_pair(y: ArrayLike, predicted: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return true and predicted labels as two arrays (n,) that can be compared entry by entry.

    Parameters
    ----------
    y : array-like (n,)
        True labels.
    predicted : array-like (n,)
        Predicted labels, of the same kind: both text, or both not.

    Returns
    -------
    truth : ndarray (n,)
        True labels.
    guess : ndarray (n,)
        Predicted labels.
    """
    truth, guess = _labels(y, "y"), np.asarray(predicted)
    if truth.shape != guess.shape:
        # Broadcasting (n,) against (n, 1) would silently compare n² pairs.
        raise InputError(
            f"y has shape {truth.shape} but predicted has shape {guess.shape}. Give one predicted label per row, "
            "both as (n,); probabilities are for log_loss and brier."
        )
    _check_kinds(truth, "y", guess, "predicted")
    return truth, guess


def class_index(y: ArrayLike, classes: ArrayLike) -> tuple[Int, int]:
    """Find the position of each label among the classes. O(n log K).

    Parameters
    ----------
    y : array-like (n,)
        Labels, all among the classes; another raises ``InputError``.
    classes : array-like (K,)
        Classes in any order, each once.

    Returns
    -------
    index : ndarray (n,)
        Position of each label in ``classes``.
    n_classes : int
        K.

    Examples
    --------
    >>> class_index(["b", "a", "b"], ["b", "a"])
    (array([0, 1, 0]), 2)
    """
    truth, known = _labels(y, "y"), _labels(classes, "classes")
    _check_kinds(truth, "y", known, "classes")
    order = np.argsort(known, kind="stable")
    ordered = known[order]
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(twice):
        raise InputError(f"classes holds {twice[0]!r} twice. Name each class once, as np.unique(y) does.")
    place = np.minimum(np.searchsorted(ordered, truth), len(known) - 1)
    unknown = np.flatnonzero(ordered[place] != truth)
    if len(unknown):
        row = int(unknown[0])
        raise InputError(
            f"y[{row}] is {truth[row]!r}, which is not among the {len(known)} classes. Add it to classes, in the order "
            "of the columns of the probabilities."
        )
    return np.asarray(order[place], dtype=np.int64), len(known)


def class_probabilities(proba: ArrayLike, n: int, k: int) -> Float:
    """Return ``proba`` as an array (n, k), or raise if a row is not a distribution.

    Parameters
    ----------
    proba : array-like (n, k)
        One row of probabilities per row, one column per class; rows must sum to one within 1e-5.
    n : int
        Number of rows.
    k : int
        Number of classes.

    Returns
    -------
    ndarray (n, k)
        The probabilities.
    """
    p = np.asarray(proba, dtype=np.float64)
    if p.shape != (n, k):
        raise InputError(
            f"proba has shape {p.shape}, but {n} rows and {k} classes need ({n}, {k}). "
            "Give one column per class, for two classes too."
        )
    bad = np.flatnonzero(~(np.all((p >= 0.0) & (p <= 1.0), axis=1) & (np.abs(p.sum(axis=1) - 1.0) <= SUM_TOLERANCE)))
    if len(bad):
        row = int(bad[0])
        raise InputError(
            f"proba[{row}] is {p[row].tolist()}, no distribution: entries must lie between 0 and 1 and sum to 1. "
            "Pass probabilities, not scores or logarithms."
        )
    return p


def _labels(values: ArrayLike, name: str) -> NDArray[Any]:
    labels = np.asarray(values)
    if labels.ndim != 1 or labels.size == 0:
        raise InputError(f"{name} has shape {labels.shape}. Pass at least one label, as (n,).")
    return labels


def _check_kinds(a: NDArray[Any], a_name: str, b: NDArray[Any], b_name: str) -> None:
    """Raise if one holds text and the other does not: they are never equal, and would score as all wrong."""
    if _is_text(a) != _is_text(b):
        text, other = (a_name, b_name) if _is_text(a) else (b_name, a_name)
        raise InputError(
            f"{text} holds text and {other} does not ({a_name} starts with {a[0]!r}, {b_name} with {b[0]!r}). "
            "Give both the same kind of labels."
        )


def _is_text(labels: NDArray[Any]) -> bool:
    # pandas and lists of mixed origin give text as objects.
    return labels.dtype.kind in "UT" or (labels.dtype.kind == "O" and isinstance(labels[0], str))
