"""Scores of classified rows from plain arrays: error rate, log loss, Brier score and calibration.

Labels ``y`` (n,) are of any type, text too. Probabilities ``proba`` (n, K) have one column per entry of ``classes``
(K,), in that order; all scores are better when smaller.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iegp._docstrings import entries, fill_docstrings
from iegp.errors import InputError
from iegp.typing import Float, Int

DOCS = entries("""
y, predicted : array-like (n,)
    True and predicted labels.
bins : int, default=10
    Number of intervals of equal width into which confidences fall, each with its upper end; at least 1.
""")
DOCS["truth"] = """\
y, proba, classes : array-like (n,), (n, K), (K,)
    True labels, predicted probabilities (rows sum to one), and the classes of their columns."""

# Probabilities that were computed in single precision still sum to one within this.
SUM_TOLERANCE = 1e-5


class Reliability(NamedTuple):
    """Rows grouped by confidence, one entry per group that has rows, least confident first.

    Parameters
    ----------
    confidence : ndarray
        Mean probability given to the predicted class.
    accuracy : ndarray
        Share of rows with the right predicted class; equals the confidence if predictions are calibrated.
    rows : ndarray of int
        Number of rows.
    """

    confidence: Float
    accuracy: Float
    rows: Int


@fill_docstrings(DOCS)
def error_rate(y: ArrayLike, predicted: ArrayLike) -> float:
    """Compute the share of rows with a wrong predicted label. O(n).

    {parameters}

    Returns
    -------
    float
        Share between 0 and 1.

    Examples
    --------
    >>> error_rate(["cat", "dog", "dog", "cat"], ["cat", "dog", "cat", "cat"])
    0.25
    """
    truth, guess = label_pair(y, predicted)
    return float(np.mean(truth != guess))


@fill_docstrings(DOCS)
def running_error(y: ArrayLike, predicted: ArrayLike) -> Float:
    """Compute the error rate of all rows so far after every row, as the paper plots it.

    {parameters}

    Returns
    -------
    ndarray (n,)
        Error rates; the last entry is :func:`error_rate`.

    Examples
    --------
    >>> running_error([1, 0, 1, 1], [0, 0, 1, 1]).round(3)
    array([1.   , 0.5  , 0.333, 0.25 ])
    """
    truth, guess = label_pair(y, predicted)
    so_far: Float = np.cumsum(truth != guess) / np.arange(1, len(truth) + 1)
    return so_far


@fill_docstrings(DOCS)
def log_loss(y: ArrayLike, proba: ArrayLike, classes: ArrayLike) -> float:
    """Compute the mean negative log probability of the true class. O(n K).

    {parameters: truth}

    Returns
    -------
    float
        Loss in nats; K equal probabilities score log K. Nothing is clipped: a true class of probability zero makes it
        ``inf``.

    Examples
    --------
    >>> round(log_loss(["a", "b"], [[0.5, 0.5], [0.75, 0.25]], ["a", "b"]), 4)
    1.0397
    """
    index, p = _checked(y, proba, classes)
    with np.errstate(divide="ignore"):
        return float(-np.mean(np.log(p[np.arange(len(p)), index])))


@fill_docstrings(DOCS)
def brier(y: ArrayLike, proba: ArrayLike, classes: ArrayLike) -> float:
    """Compute the Brier score: the mean squared distance of the probabilities to the truth, over all classes. O(n K).

    For two classes it is twice the form that looks at the probability of one class only, which scikit-learn's
    ``brier_score_loss`` gives.

    {parameters: truth}

    Returns
    -------
    float
        Score between 0 and 2.

    Examples
    --------
    >>> brier([0, 1], [[1.0, 0.0], [0.5, 0.5]], [0, 1])
    0.25
    """
    index, p = _checked(y, proba, classes)
    distance = p.copy()
    distance[np.arange(len(p)), index] -= 1.0
    return float(np.mean(np.sum(distance**2, axis=1)))


@fill_docstrings(DOCS)
def reliability(y: ArrayLike, proba: ArrayLike, classes: ArrayLike, bins: int = 10) -> Reliability:
    """Compute confidence and accuracy of the predicted class by confidence, as in a reliability diagram. O(n K).

    The predicted class is the most probable one (the first in ``classes`` among equals).

    {parameters: truth}

    Returns
    -------
    Reliability
        Mean confidence, accuracy and number of rows of every interval that has rows.

    Examples
    --------
    >>> reliability([0, 1, 1], [[0.9, 0.1], [0.3, 0.7], [0.7, 0.3]], [0, 1], bins=5)
    Reliability(confidence=array([0.7, 0.9]), accuracy=array([0.5, 1. ]), rows=array([2, 1]))
    """
    if bins < 1:
        raise InputError(f"bins={bins} leaves no groups. Pass a positive number of bins, such as 10.")
    index, p = _checked(y, proba, classes)
    confidence, correct = p.max(axis=1), np.argmax(p, axis=1) == index
    group = np.searchsorted(np.arange(1, bins) / bins, confidence, side="left")
    count = np.bincount(group, minlength=bins)
    filled = count > 0
    count = count[filled]
    sure = np.bincount(group, weights=confidence, minlength=bins)[filled] / count
    right = np.bincount(group, weights=correct, minlength=bins)[filled] / count
    return Reliability(sure, right, np.asarray(count, dtype=np.int64))


@fill_docstrings(DOCS)
def expected_calibration_error(y: ArrayLike, proba: ArrayLike, classes: ArrayLike, bins: int = 10) -> float:
    """Compute the mean distance of accuracy and confidence over the groups of :func:`reliability`, weighted by rows.

    Calibrated probabilities come close to 0 without reaching it: a group of m rows varies by up to ``0.5 / sqrt(m)``.

    {parameters: truth}

    Returns
    -------
    float
        Distance between 0 and 1.

    Examples
    --------
    >>> round(expected_calibration_error([0, 1], [[0.8, 0.2], [0.4, 0.6]], [0, 1]), 6)
    0.3
    """
    groups = reliability(y, proba, classes, bins)
    return float(np.average(np.abs(groups.accuracy - groups.confidence), weights=groups.rows))


def _checked(y: ArrayLike, proba: ArrayLike, classes: ArrayLike) -> tuple[Int, Float]:
    index, k = class_index(y, classes)
    return index, class_probabilities(proba, len(index), k)


# -- labels and probabilities, checked -------------------------------------------------------------------------------


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
