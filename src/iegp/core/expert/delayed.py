"""Rows that are predicted before the labels of the rows just before them have arrived.

With a delay of h, row t is predicted from the labels of rows up to ``t - 1 - h``; then the label of row ``t - h``
arrives and is learned. Rows that wait never enter a factor: while a block of labels is learned in order, exactly as
without delay, the mean and variance of a new row follow from partial sums over the rows that have arrived before it
(:class:`iegp.core.expert.belief.Trail`). The predictions are those of a loop that predicts one row and learns another.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.linalg import matmul_transposed
from iegp.core.expert.belief import Ahead, Belief, Block, Trail, is_moving, predict_drifting, predict_static, walked
from iegp.core.expert.laplace_block import score_rows
from iegp.core.expert.sweep import (
    Workspace,
    block_rows,
    kernel_features,
    learn_gaussian_block,
    learn_gaussian_rows,
    learn_other_block,
    learn_other_rows,
)
from iegp.core.likelihoods import GAUSSIAN
from iegp.core.likelihoods.sites import LabelModel, of_belief
from iegp.core.state import Ensemble, State, belief_at, drift_at
from iegp.typing import Float


class Queue(NamedTuple):
    """Where a call stands: rows that wait for their labels come before its own."""

    delay: int
    n_waiting: int
    """At most ``delay``, fewer at the beginning of a stream."""
    clock: Float
    """(n_waiting + n,): steps from the last row that was learned before the call to each row that waits or is new."""
    ahead: Float
    """(n,): steps from the last row that is learned before each new one is predicted."""


@compiled
def sweep_delayed_kernel(
    ensemble: Ensemble, state: State, labels: LabelModel | None, arrived: Workspace, new: Workspace, task: Task
) -> None:
    """Predict the rows of ``new`` and learn those of ``arrived`` with the active beliefs of one kernel.

    Writes one-step-ahead predictions of the rows that arrive to ``arrived``, and predictions that know no more than is
    known then to ``new``.
    """
    layout, kernel, queue = ensemble.layout, task.kernel, task.queue
    first, end = layout.beliefs[kernel], layout.beliefs[kernel + 1]
    n_new, n_arrived = new.x.shape[0], arrived.x.shape[0]
    n_first = min(queue.delay - queue.n_waiting, n_new)
    size = 1
    if not task.by_row:
        size = block_rows(layout.features[first + 1] - layout.features[first], True, ensemble.likelihood == GAUSSIAN)
    if n_first > 0:
        phi = kernel_features(ensemble, kernel, new.x[:n_first])
        for b in range(first, end):
            if new.active.beliefs[b]:
                own = Ahead(new.means[b, :n_first], new.variances[b, :n_first])
                steps = queue.ahead[:n_first]
                look_ahead(belief_at(layout, state, b), drift_at(ensemble, b), phi, steps, own, labels is None)
    for start in range(0, n_arrived, size):
        stop = min(n_arrived, start + size)
        block_x, block_y = arrived.x[start:stop], arrived.y[start:stop]
        block = Block(kernel_features(ensemble, kernel, block_x), block_y, arrived.steps[start:stop])
        rows = slice(n_first + start, n_first + stop)
        phi = kernel_features(ensemble, kernel, new.x[rows])
        learned = queue.clock[start - 1] if start > 0 else 0.0
        steps = queue.clock[queue.n_waiting + rows.start : queue.n_waiting + rows.stop] - learned
        for b in range(first, end):
            if new.active.beliefs[b]:
                both = Both(
                    Ahead(arrived.means[b, start:stop], arrived.variances[b, start:stop]),
                    Ahead(new.means[b, rows], new.variances[b, rows]),
                )
                _learn_block(ensemble, state, labels, block, phi, Place(b, steps, queue.ahead[rows], both))
    if labels is not None:
        for b in range(first, end):
            if new.active.beliefs[b]:
                own_labels = of_belief(labels, b)
                for work in (arrived, new):
                    ahead = Ahead(work.means[b], work.variances[b])
                    score_rows(own_labels, work.y, ahead, work.belief_scores[b], work.outcomes[b])


class Task(NamedTuple):
    """One kernel of a pass with delay."""

    kernel: int
    queue: Queue
    by_row: bool


class Both(NamedTuple):
    """Predictions of a block of rows that arrive, in order, and of as many new rows."""

    arrived: Ahead
    new: Ahead


class Place(NamedTuple):
    """A belief, how many steps of the walk ahead of it new rows lie, and where predictions go."""

    belief: int
    steps: Float
    """(B,): from the start of the block."""
    ahead: Float
    """(B,): from the last row that is learned before each of them."""
    both: Both


@compiled
def _learn_block(
    ensemble: Ensemble, state: State, labels: LabelModel | None, block: Block, phi: Float, place: Place
) -> None:
    """Predict new rows ``phi`` (B, F) each before one more of the block is learned."""
    drift, belief = drift_at(ensemble, place.belief), belief_at(ensemble.layout, state, place.belief)
    n, n_features = phi.shape
    if n == 1:
        look_ahead(belief, drift, phi, place.ahead, place.both.new, labels is None)
        _learn_rows(ensemble, labels, belief, block, place)
        return
    before = Belief(belief.matrix.copy(), belief.vector.copy())
    seen = look_ahead(belief, drift, phi, place.steps, place.both.new, labels is None)
    trail = Trail(np.empty((n, n_features)), np.empty((n, belief.vector.shape[1])), np.empty(n))
    if labels is None:
        learn_gaussian_block(belief, drift, block, place.both.arrived, trail)
    else:
        learn_other_block(of_belief(labels, place.belief), belief, drift, block, place.both.arrived, trail)
    if not np.isnan(trail.weights[0]):
        correct_on_the_way(trail, seen, place.both.new)
        _floor(drift, phi, place, 1.0 if labels is None else 0.0)
        return
    # Rows of the block were too surprising to be factored at once.
    belief.matrix[:] = before.matrix
    belief.vector[:] = before.vector
    both = place.both
    for t in range(n):
        one = Both(
            Ahead(both.arrived.means[t : t + 1], both.arrived.variances[t : t + 1]),
            Ahead(both.new.means[t : t + 1], both.new.variances[t : t + 1]),
        )
        ahead = place.ahead[t : t + 1]
        look_ahead(belief, drift, phi[t : t + 1], ahead, one.new, labels is None)
        _learn_rows(
            ensemble,
            labels,
            belief,
            Block(block.phi[t : t + 1], block.y[t : t + 1], block.steps[t : t + 1]),
            Place(place.belief, ahead, ahead, one),
        )


@compiled
def _learn_rows(ensemble: Ensemble, labels: LabelModel | None, belief: Belief, block: Block, place: Place) -> None:
    drift = drift_at(ensemble, place.belief)
    if labels is None:
        learn_gaussian_rows(belief, drift, block, place.both.arrived)
    else:
        learn_other_rows(of_belief(labels, place.belief), belief, drift, block, place.both.arrived)


@compiled
def look_ahead(belief: Belief, drift: Float, phi: Float, steps: Float, ahead: Ahead, with_noise: bool) -> Float:
    """Predict rows from one belief, each after so many ``steps`` of its walk. Returns them in its coordinates."""
    noise = 1.0 if with_noise else 0.0
    if is_moving(drift):
        predict_drifting(belief, drift, phi, ahead, steps, noise)
        return phi
    return predict_static(belief, phi, ahead, noise)


@compiled
def correct_on_the_way(trail: Trail, seen: Float, ahead: Ahead) -> None:
    """Turn predictions from the start of a block into those that know its first i rows, for new row i."""
    means, variances = ahead
    n, n_outputs = means.shape
    covariances = np.empty((n, n))
    matmul_transposed(seen, trail.gains, covariances)
    for i in range(n):
        for s in range(i):
            w = covariances[i, s]
            variances[i] -= trail.weights[s] * w * w
            for d in range(n_outputs):
                means[i, d] += w * trail.pulls[s, d]


@compiled
def _floor(drift: Float, phi: Float, place: Place, noise: float) -> None:
    """A variance is at least that of the steps that no label has followed."""
    variances = place.both.new.variances
    for i in range(phi.shape[0]):
        variances[i] = max(variances[i], noise + place.ahead[i] * walked(drift, phi[i]))


def sweep_delayed(
    ensemble: Ensemble, state: State, labels: LabelModel | None, works: tuple[Workspace, Workspace], queue: Queue
) -> None:
    """Every kernel with an active belief; ``works`` are of the rows that arrive and of the new ones."""
    arrived, new = works
    n_active = np.add.reduceat(new.active.beliefs.astype(np.int64), ensemble.layout.beliefs[:-1])
    by_row = len(new.x) <= 1
    for kernel in np.flatnonzero(n_active):
        sweep_delayed_kernel(ensemble, state, labels, arrived, new, Task(int(kernel), queue, by_row))
