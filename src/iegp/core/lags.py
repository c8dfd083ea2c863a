"""Lags: labels known before a row is predicted, which kernels see as further columns of the row.

A label becomes numbers first: a number itself, indicators of its class, the place of its level, the log of one plus a
rate; all standardised, so that zero is the label's mean. A state holds the numbers of the last labels. Row t sees those
of the rows t - o, for every offset o; where there is no such row yet, the mean.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.column_keys import column_key
from iegp.core.compute.tolerances import FARTHEST_LINEAR
from iegp.core.likelihoods import Likelihood, named
from iegp.typing import Float, Int

# How a label becomes numbers.
STANDARDISED, CLASS, RATE, NUMBER = range(4)


class Lags(NamedTuple):
    """Which labels a row sees, and how they become numbers."""

    offsets: Int
    """(k,): how many rows back each of them is, increasing."""
    kind: int
    """One of STANDARDISED (a number that is standardised already), CLASS, RATE and NUMBER."""
    table: Float
    """(rows, V): of classes the V numbers of each; else the mean and the scale of the number, if it has any."""

    @property
    def n_columns(self) -> int:
        """Columns that kernels see."""
        return len(self.offsets) * int(self.table.shape[1])

    @property
    def n_consecutive(self) -> int:
        """How many offsets follow one another without a gap, from the newest on."""
        return int(np.sum(self.offsets == self.offsets[:1] + np.arange(len(self.offsets))))

    @property
    def n_recent(self) -> int:
        """Labels that a state holds."""
        return int(self.offsets.max(initial=0))

    @property
    def keys(self) -> tuple[int, ...]:
        """Numbers that identify the columns; no column of the user has them."""
        return tuple(column_key(("lag", v, int(o))) for v in range(self.table.shape[1]) for o in self.offsets)


NO_LAGS = Lags(np.empty(0, dtype=np.int64), STANDARDISED, np.empty((0, 0)))


def lags_from(offsets: tuple[int, ...], likelihood: str, y: Float, n_outputs: int) -> Lags:
    """Lags of labels such as ``y`` (n, columns), which are standardised where they are Gaussian; n may be 0."""
    if not offsets:
        return NO_LAGS
    places = np.array(offsets, dtype=np.int64)
    if likelihood == "gaussian":
        return Lags(places, STANDARDISED, np.empty((0, n_outputs)))
    model = named(likelihood)
    if model.has_classes:
        return Lags(places, CLASS, _class_table(model, y, n_outputs))
    kind = RATE if model.label_low >= 0.0 else NUMBER
    plain = Lags(places, kind, np.array([[0.0], [1.0]]))
    mean, scale = _moments(label_numbers(plain, y))
    return plain._replace(table=np.stack([mean, scale]))


def _class_table(likelihood: Likelihood, y: Float, n_classes: int) -> Float:
    """(K, V): standardised numbers of every class."""
    every = likelihood.targets(np.arange(n_classes, dtype=np.float64)[:, None], n_classes)
    mean, scale = _moments(likelihood.targets(y, n_classes)) if len(y) else _moments(every)
    return np.ascontiguousarray((every - mean) / scale)


def _moments(values: Float) -> tuple[Float, Float]:
    """Mean and standard deviation of every column; 0 and 1 where there are none."""
    if not len(values):
        return np.zeros(values.shape[1]), np.ones(values.shape[1])
    spread = values.std(axis=0)
    return values.mean(axis=0), np.where(spread > 0.0, spread, 1.0)


@compiled
def label_numbers(lags: Lags, y: Float) -> Float:
    """(n, V): the numbers of every label of ``y`` (n, columns)."""
    values = np.empty((y.shape[0], lags.table.shape[1]))
    for t in range(y.shape[0]):
        for v in range(values.shape[1]):
            if lags.kind == STANDARDISED:
                value = y[t, v]
            elif lags.kind == CLASS:
                value = lags.table[int(y[t, 0]), v]
            else:
                rate = y[t, 0] / y[t, 1]
                value = ((math.log1p(rate) if lags.kind == RATE else rate) - lags.table[0, v]) / lags.table[1, v]
            # A label may be anything finite; beyond this an input says no more.
            values[t, v] = min(max(value, -FARTHEST_LINEAR), FARTHEST_LINEAR)
    return values


@compiled
def with_lags(lags: Lags, recent: Float, x: Float, y: Float) -> Float:
    """(n, d + columns): consecutive rows ``x`` (n, d) and the labels that each of them sees, those of ``y`` included.

    ``recent`` are the numbers of the labels before, newest last.
    """
    if lags.offsets.size == 0:
        return x
    n, d = x.shape
    n_recent, k = recent.shape[0], lags.offsets.size
    values = label_numbers(lags, y)
    rows = np.empty((n, d + k * values.shape[1]))
    rows[:, :d] = x
    for t in range(n):
        for j in range(k):
            s = t - lags.offsets[j]
            for v in range(values.shape[1]):
                rows[t, d + v * k + j] = values[s, v] if s >= 0 else recent[n_recent + s, v]
    return rows


@compiled
def with_known_lags(lags: Lags, recent: Float, x: Float, n_steps: int) -> Float:
    """As :func:`with_lags` for rows each so many rows ahead; where a lag is not known yet, that of the next row."""
    if lags.offsets.size == 0:
        return x
    n, d = x.shape
    n_recent, k = recent.shape[0], lags.offsets.size
    rows = np.empty((n, d + k * recent.shape[1]))
    rows[:, :d] = x
    for j in range(k):
        offset = lags.offsets[j]
        s = n_recent - (offset - (n_steps - 1) if offset >= n_steps else offset)
        for v in range(recent.shape[1]):
            rows[:, d + v * k + j] = recent[s, v]
    return rows


def with_lags_seen(lags: Lags, x: Float, y: Float, n_known: Int) -> Float:
    """(n, d + columns): rows ``x`` (n, d) and the lags of rows that were predicted when so many of ``y`` were known."""
    values = label_numbers(lags, y)
    # Where there is no such label yet: the mean, which is zero.
    places = n_known[:, None] - lags.offsets
    seen = np.where((places >= 0)[:, :, None], values[np.maximum(places, 0)] if len(values) else 0.0, 0.0)
    return np.concatenate([x, seen.swapaxes(1, 2).reshape(len(x), -1)], axis=1)


@compiled
def repeat_newest(lags: Lags, recent: Float) -> None:
    """A label has become known that later rows must not see: they see the one before it once more."""
    if lags.offsets.size > 0:
        for i in range(recent.shape[0] - 1):
            recent[i] = recent[i + 1]


@compiled
def remember(lags: Lags, recent: Float, y: Float) -> None:
    """The labels ``y`` (n, columns) have become known."""
    if lags.offsets.size == 0:
        return
    n_recent = recent.shape[0]
    values = label_numbers(lags, y[max(0, y.shape[0] - n_recent) :])
    n_kept = n_recent - values.shape[0]
    for i in range(n_kept):
        recent[i] = recent[i + values.shape[0]]
    recent[n_kept:] = values


@compiled
def follow_change(lags: Lags, recent: Float, error: Float) -> None:
    """The newest label is far from its prediction, by ``error``, and is learned: lags before it move with the level.

    Those move that have no gap to the newest. Otherwise the step from the level before to the one after would be an
    input of the next rows: experts that average the lags would follow by a part of it, and experts that continue their
    slope would go on by another step. A label that is where the one before was moves nothing, however wrong its
    prediction. ``error`` is (D,), or (0,) if there is none.
    """
    n = recent.shape[0]
    if lags.kind != STANDARDISED or n < 2 or error.size == 0:
        return
    last = lags.offsets[0]
    for j in range(1, lags.offsets.size):
        if lags.offsets[j] != last + 1:
            break
        last = lags.offsets[j]
    for d in range(error.size):
        step = recent[n - 1, d] - recent[n - 2, d]
        moved = min(max(error[d], min(step, 0.0)), max(step, 0.0))
        for i in range(n - last, n - 1):
            recent[i, d] = min(max(recent[i, d] + moved, -FARTHEST_LINEAR), FARTHEST_LINEAR)
