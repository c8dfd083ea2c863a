"""Changes of a stream, noticed from predictions and labels: the level, the noise, or the relation to the inputs.

A label's *score* is the normal quantile of its PIT, standard normal as long as the ensemble predicts well. Scores are
bounded, so that a single label far off never counts as a change, and standardised by what is usual of this stream: a
slow mean, variance and correlation with the score before. For each of a few sizes of change the log likelihood ratio of
"changed by so much" against "unchanged" is summed over rows and never falls below zero (Page's CUSUM). The largest sum
that passes the threshold says that there was a change, and of which kind. Then all sums start again, and for some rows
nothing is noticed while the ensemble adapts; what is usual is found anew from the second half of them.

Labels that come late by h rows have answers that share h rows of ignorance, so that their scores are alike without any
change. How many consecutive scores are as good as one is learned from sums over blocks of h + 1 rows or more, the log
likelihood ratios are divided by it, and the usual moments are learned from one row of each block.

- level: the mean of the scores moved;
- noise: their variance changed;
- relation: scores go with the predictions themselves, as they do when the function of the inputs changed.

Memory is constant, and nothing here changes what is learned or predicted.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.normal import normal_quantile
from iegp.core.compute.tolerances import (
    CALIBRATED_ROWS,
    CHANGE_MARGINS,
    CHANGE_THRESHOLD,
    FARTHEST_PREDICTION,
    FARTHEST_SLOPE_INPUT,
    FARTHEST_WATCHED,
    FIRST_BLOCKS,
    FIRST_WATCHED,
    LARGEST_SHARE,
    LEAST_SCORE_VARIANCE,
    LEAST_SPREAD,
    LEVEL_SIZES,
    MOST_CHANGES,
    NEGLIGIBLE_SCORE,
    NOISE_SIZES,
    RELATION_SIZES,
    ROWS_AFTER_CHANGE,
    SHORTEST_BLOCK,
    USUAL_BLOCKS,
    USUAL_ROWS,
)
from iegp.typing import Float

KINDS = ("level", "noise", "relation")
LEVEL, NOISE, RELATION = range(3)
N_SUMS = len(LEVEL_SIZES) + len(NOISE_SIZES) + len(RELATION_SIZES)
_LARGEST_TAIL = 0.5 * math.erfc(FARTHEST_WATCHED * math.sqrt(0.5))
# Columns of ``usual``: of scores mean, variance, covariance with the one before, and the last; of predictions mean and
# variance; rows so far; rows for which nothing is noticed.
MEAN, VARIANCE, COVARIANCE, LAST, CENTRE, SPREAD, COUNT, HOLD = range(8)
# Columns of ``blocks``: of the present block the sum of its scores and its rows; mean of the block before; slow mean of
# squared sums over rows, which is how many rows are as good as one; blocks so far.
SUM, ROWS, BEFORE, ALIKE, BLOCKS = range(5)


class Change(NamedTuple):
    """A change that was noticed.

    Attributes
    ----------
    row : int
        The row at which it was noticed: how many rows the model had been given before.
    time : float
        Time of that row; NaN for a model without times.
    kind : {"level", "noise", "relation"}
        What changed.
    strength : float
        Log likelihood ratio of a change to none, in nats.
    """

    row: int
    time: float
    kind: str
    strength: float


class Changes(NamedTuple):
    """What is remembered; never changed in place."""

    sums: Float
    """(D, N_SUMS)"""
    usual: Float
    """(D, 8)"""
    log: Float
    """(at most 100, 4): row, time, number of the kind and strength of the last changes, newest last."""
    total: Float
    """(1,): changes so far, also those that are no longer listed."""
    waiting: Float
    """(k, 2 D): scores and predictions of rows whose labels have not arrived; NaN where they do not count."""
    blocks: Float
    """(D, 5): of labels that come late, how much consecutive scores are alike."""

    @property
    def n_changes(self) -> int:
        """How many changes were noticed, also those that are no longer listed."""
        return int(self.total[0])

    def since(self, row: int) -> list[Change]:
        """The last changes, noticed at this row or later."""
        return [Change(int(r), t, KINDS[int(kind)], s) for r, t, kind, s in self.log.tolist() if r >= row]


def begin(n_outputs: int) -> Changes:
    """Before any row."""
    usual = np.zeros((n_outputs, 8))
    usual[:, [VARIANCE, SPREAD]] = 1.0
    usual[:, HOLD] = FIRST_WATCHED
    empty = np.zeros((n_outputs, N_SUMS)), usual, np.empty((0, 4)), np.zeros(1), np.empty((0, 2 * n_outputs))
    return Changes(*empty, no_blocks(n_outputs))


def no_blocks(n_outputs: int) -> Float:
    """Before any label that comes late."""
    return np.zeros((n_outputs, 5))


class Span(NamedTuple):
    """Which rows of the stream are watched."""

    first: int = 0
    """Number of the first."""
    times: Float | None = None
    """(n,), if they are known."""
    delay: int = 0
    """Rows by which their labels come late."""
    overlap: int = 1
    """Rows whose answers do not know of each other's labels: one more than the rows by which labels come late."""


FROM_START = Span()


def watch(changes: Changes, new: Float, span: Span) -> Changes:
    """Rows (n, 2 D) of scores and predictions that are answered."""
    memory = changes.sums.copy(), changes.usual.copy(), changes.blocks.copy()
    found = np.empty((len(new), 3))
    rows = np.concatenate([changes.waiting, new])
    n_found = _watch(memory, rows, len(new), (span.first, span.delay, span.overlap), found)
    log = changes.log
    if n_found:
        at, noticed = found[:n_found, 0].astype(np.int64), np.empty((n_found, 4))
        noticed[:, 0], noticed[:, 1] = span.first + at, np.nan if span.times is None else span.times[at]
        noticed[:, 2:] = found[:n_found, 1:]
        log = np.concatenate([log, noticed])[-MOST_CHANGES:].copy()
    waiting = rows[max(len(rows) - span.delay, 0) :].copy()
    sums, usual, blocks = memory
    return Changes(sums, usual, log, changes.total + n_found, waiting, blocks)


@compiled
def scores_from(pit: Float) -> Float:
    """Bounded normal scores of PIT values."""
    out = np.empty(pit.shape)
    for i in range(pit.shape[0]):
        for d in range(pit.shape[1]):
            out[i, d] = normal_quantile(min(max(pit[i, d], _LARGEST_TAIL), 1.0 - _LARGEST_TAIL))
    return out


@compiled
def _watch(
    memory: tuple[Float, Float, Float], rows: Float, n_new: int, span: tuple[int, int, int], found: Float
) -> int:
    """Numbers, kinds and strengths of the rows at which a change is noticed go to ``found``; how many there are."""
    sums, usual, blocks = memory
    first, delay, overlap = span
    block = max(overlap, SHORTEST_BLOCK)
    n_waiting, n_outputs, n_found = rows.shape[0] - n_new, sums.shape[0], 0
    for t in range(n_new):
        if n_waiting + t < delay:
            continue
        row = rows[n_waiting + t - delay]
        strength, best, kind = 0.0, -math.inf, 0
        for d in range(n_outputs):
            # Not where either is NaN, or its square would overflow.
            if row[d] == row[d] and abs(row[n_outputs + d]) < FARTHEST_PREDICTION:
                if overlap == 1:
                    _add(sums[d], usual[d], row[d], row[n_outputs + d])
                else:
                    of_output = sums[d], usual[d], blocks[d]
                    is_last = (first + t - delay + 1) % block == 0
                    _add_overlapping(of_output, row[d], row[n_outputs + d], block, is_last)
            for k in range(N_SUMS):
                strength = max(strength, sums[d, k])
                own = _kind_of(k)
                if sums[d, k] - CHANGE_MARGINS[own] > best:
                    best, kind = sums[d, k] - CHANGE_MARGINS[own], own
        if strength > CHANGE_THRESHOLD + math.log(n_outputs):
            found[n_found, 0], found[n_found, 1], found[n_found, 2] = t, kind, strength
            n_found += 1
            sums[:] = 0.0
            # Rows that wait were answered before the first labels after the change came.
            usual[:, HOLD] = ROWS_AFTER_CHANGE + overlap - 1
            usual[:, COUNT] = 0.0
    return n_found


@compiled
def _kind_of(k: int) -> int:
    if k < len(LEVEL_SIZES):
        return LEVEL
    return NOISE if k < len(LEVEL_SIZES) + len(NOISE_SIZES) else RELATION


@compiled
def _add(sums: Float, usual: Float, score: float, prediction: float) -> None:
    """One row of one output."""
    unit = math.sqrt(usual[VARIANCE])
    z = (score - usual[MEAN]) / unit
    # Standardised innovation of scores that go with the one before.
    share = min(max(usual[COVARIANCE] / usual[VARIANCE], -LARGEST_SHARE), LARGEST_SHARE)
    z = (z - share * (usual[LAST] - usual[MEAN]) / unit) / math.sqrt(1.0 - share * share)
    z = min(max(z, -FARTHEST_WATCHED), FARTHEST_WATCHED)
    u = min(max((prediction - usual[CENTRE]) / math.sqrt(usual[SPREAD]), -FARTHEST_SLOPE_INPUT), FARTHEST_SLOPE_INPUT)
    if usual[HOLD] > 0.0:
        usual[HOLD] -= 1.0
        if usual[HOLD] == ROWS_AFTER_CHANGE // 2:
            # Rows in which the ensemble adapted are not usual: the moments are those of the rows from here on.
            usual[COUNT] = -CALIBRATED_ROWS
    else:
        _accumulate(sums, z, u, 1.0, abs(score) < NEGLIGIBLE_SCORE)
    _learn_usual(usual, score, prediction)


@compiled
def _add_overlapping(
    memory: tuple[Float, Float, Float], score: float, prediction: float, block: int, is_last: bool
) -> None:
    """One row of one output, where the errors of ``block`` consecutive rows may be much the same error.

    What is usual comes from the last row of each block, and each row counts for one over the rows that are as good as
    one.
    """
    sums, usual, blocks = memory
    z = min(max((score - usual[MEAN]) / math.sqrt(usual[VARIANCE]), -FARTHEST_WATCHED), FARTHEST_WATCHED)
    u = min(max((prediction - usual[CENTRE]) / math.sqrt(usual[SPREAD]), -FARTHEST_SLOPE_INPUT), FARTHEST_SLOPE_INPUT)
    if usual[HOLD] > 0.0:
        usual[HOLD] -= 1.0
        if usual[HOLD] > ROWS_AFTER_CHANGE // 2:
            return
        if usual[HOLD] == ROWS_AFTER_CHANGE // 2:
            # So few blocks follow before changes are noticed again that the moments before still count.
            usual[COUNT] = -CALIBRATED_ROWS / block
    else:
        _accumulate(sums, z, u, 1.0 / _rows_as_one(blocks, block), abs(score) < NEGLIGIBLE_SCORE)
    blocks[SUM] += z
    blocks[ROWS] += 1.0
    if is_last:
        _end_block(blocks)
        _learn_usual(usual, score, prediction)


@compiled
def _rows_as_one(blocks: Float, block: int) -> float:
    """How many consecutive rows are as good as one: at first all of a block, then what the sums of blocks say."""
    n = float(blocks[BLOCKS])
    return max((FIRST_BLOCKS * block + n * float(blocks[ALIKE])) / (FIRST_BLOCKS + n), 1.0)


@compiled
def _end_block(blocks: Float) -> None:
    """Learn the variance of sums over rows in the long run, from one block and its product with the one before."""
    n, mean = min(blocks[BLOCKS] + 1.0, USUAL_BLOCKS), blocks[SUM] / blocks[ROWS]
    blocks[ALIKE] += (blocks[SUM] * (mean + 2.0 * blocks[BEFORE]) - blocks[ALIKE]) / n
    blocks[BLOCKS], blocks[BEFORE], blocks[SUM], blocks[ROWS] = n, mean, 0.0, 0.0


@compiled
def _accumulate(sums: Float, z: float, u: float, share: float, is_exact: bool) -> None:
    """Log likelihood ratios of every size of change, of which a share counts.

    Labels that are predicted exactly, as those of a constant stream are, do not say again and again that there is less
    noise.
    """
    k = 0
    for size in LEVEL_SIZES:
        sums[k] = max(0.0, sums[k] + share * (size * z - 0.5 * size * size))
        k += 1
    for ratio in NOISE_SIZES:
        if ratio > 1.0 or not is_exact:
            sums[k] = max(0.0, sums[k] + share * (0.5 * z * z * (1.0 - 1.0 / ratio) - 0.5 * math.log(ratio)))
        k += 1
    for slope, ratio in RELATION_SIZES:
        gap = z - slope * u
        sums[k] = max(0.0, sums[k] + share * (0.5 * (z * z - gap * gap / ratio) - 0.5 * math.log(ratio)))
        k += 1


@compiled
def _learn_usual(usual: Float, score: float, prediction: float) -> None:
    """Moments of the last rows, about USUAL_ROWS of them; a tenth as many that are calibrated come before the first."""
    usual[COUNT] += 1.0
    rate = 1.0 / min(usual[COUNT] + CALIBRATED_ROWS, USUAL_ROWS)
    gap, before = score - usual[MEAN], usual[LAST] - usual[MEAN]
    usual[MEAN] += rate * gap
    usual[VARIANCE] = max(usual[VARIANCE] + rate * (gap * gap - usual[VARIANCE]), LEAST_SCORE_VARIANCE)
    usual[COVARIANCE] += rate * (gap * before - usual[COVARIANCE])
    usual[LAST] = score
    away = prediction - usual[CENTRE]
    usual[CENTRE] += rate * away
    usual[SPREAD] = max(usual[SPREAD] + rate * (away * away - usual[SPREAD]), LEAST_SPREAD)
