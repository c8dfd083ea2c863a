"""The driver: rows through the beliefs of an ensemble, in blocks or row by row, whatever the labels are.

Kernels do not depend on each other, so each may run through many rows alone, in a thread of its own. The drifts of a
kernel share its features. Labels that are Gaussian (``labels`` is None) and others differ only in what is done to a
block, or to a row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.threads import Piece, run_in_pieces, wrap_around
from iegp.core.compute.tolerances import LEAST_BLOCK
from iegp.core.expert.belief import (
    Ahead,
    Belief,
    Block,
    Predicted,
    Trail,
    drifting_row,
    is_moving,
    learn_predicted,
    no_trail,
    predict_drifting,
    predict_static,
    static_row,
    walk_over,
)
from iegp.core.expert.gaussian_block import drifting_block, static_block
from iegp.core.expert.laplace_block import (
    drifting_site_row,
    drifting_sites,
    score_rows,
    static_site_row,
    static_sites,
)
from iegp.core.features import feature_rows
from iegp.core.likelihoods import GAUSSIAN
from iegp.core.likelihoods.sites import LabelModel, of_belief
from iegp.core.state import Active, Ensemble, State, basis_at, belief_at, drift_at
from iegp.typing import Bool, Float


class Debug:
    """Counts of this process, for tests and bug reports."""

    n_failed_blocks = 0
    """Blocks without a Cholesky factor. Rows that are learned one by one instead may hide an error of a block, and
    nothing but rounding at extreme ratios of prior to noise leads to them."""


debug = Debug()


class Rows(NamedTuple):
    """Rows to learn, standardised."""

    x: Float
    """(n, d)"""
    y: Float
    """(n, D), or the columns of the likelihood."""
    steps: Float
    """(n,): steps between a row and the one before it; see :class:`iegp.core.expert.belief.Block`."""


class Workspace(NamedTuple):
    """A chunk of n rows, and what is found out about them on the way to their predictions.

    What belongs to the other kind of labels has no rows or columns.
    """

    x: Float
    """(n, d), standardised."""
    y: Float
    """(n, D), standardised, or the columns of the likelihood."""
    steps: Float
    """(n,): steps between a row and the one before it."""
    active: Active
    means: Float
    """(n_beliefs, n, D): one-step-ahead means; of beliefs that are not active, 0."""
    variances: Float
    """(n_beliefs, n): one-step-ahead variances in units of the noise; of beliefs that are not active, 1."""
    belief_scores: Float
    """(n_beliefs, n): log predictive probability of the labels, if these are not Gaussian."""
    outcomes: Float
    """(n_beliefs, n, K): log predictive probabilities of the classes."""
    log_scores: Float
    """(n, n_experts): log score of every expert."""
    scales: Float
    """(n, n_experts, D): predictive scales of Gaussian labels."""
    dof: Float
    """(n, n_noise): their degrees of freedom."""
    failures: Float
    """(n_beliefs,): blocks of Gaussian labels without a Cholesky factor, so that their rows were learned one by one."""


@compiled
def allocate_workspace(ensemble: Ensemble, active: Active, x: Float, y: Float, n_classes: int) -> Workspace:
    """A workspace for rows that come at equal distances."""
    return workspace_for(ensemble, active, Rows(x, y, np.ones(x.shape[0])), n_classes)


@compiled
def workspace_for(ensemble: Ensemble, active: Active, rows: Rows, n_classes: int) -> Workspace:
    """A workspace for these rows."""
    n, n_outputs = rows.x.shape[0], ensemble.noise_var.shape[1]
    n_beliefs, n_experts, n_noise = ensemble.prior_ratio.size, active.experts.size, ensemble.forgetting.size
    n_gaussian = n if ensemble.likelihood == GAUSSIAN else 0
    n_other = n - n_gaussian
    return Workspace(
        rows.x,
        rows.y,
        rows.steps,
        active,
        np.zeros((n_beliefs, n, n_outputs)),
        np.ones((n_beliefs, n)),
        np.full((n_beliefs, n_other), -np.inf),
        np.zeros((n_beliefs, n_other, n_classes)),
        np.empty((n, n_experts)),
        np.empty((n_gaussian, n_experts, n_outputs)),
        np.empty((n_gaussian, n_noise)),
        np.zeros(n_beliefs),
    )


class Span(NamedTuple):
    """Rows ``begin`` to ``stop`` through one kernel."""

    kernel: int
    begin: int
    stop: int


@compiled
def block_rows(n_features: int, drifts: bool, is_gaussian: bool) -> int:
    """Rows per block: F for static experts, F/2 where some drift, the measured optimum of each form.

    Finding the sites of other labels grows with the block, so that theirs is F/2.
    """
    if is_gaussian:
        return max(n_features // 2, 1) if drifts else n_features
    return max(n_features // 2, LEAST_BLOCK)


@compiled
def kernel_features(ensemble: Ensemble, kernel: int, x: Float) -> Float:
    """Features (n, F) of rows under one kernel."""
    return feature_rows(x, basis_at(ensemble.layout, ensemble.basis, kernel))


@compiled
def _drifts(ensemble: Ensemble, kernel: int, active: Bool) -> bool:
    """Whether an active belief of the kernel drifts."""
    for b in range(ensemble.layout.beliefs[kernel], ensemble.layout.beliefs[kernel + 1]):
        if active[b] and is_moving(drift_at(ensemble, b)):
            return True
    return False


@compiled
def sweep_kernel(ensemble: Ensemble, state: State, labels: LabelModel | None, work: Workspace, span: Span) -> None:
    """Predict then learn rows with the active beliefs of one kernel, block by block. ``state`` is updated in place.

    Writes the one-step-ahead predictions to ``work``; where labels are not Gaussian, their scores too.
    """
    layout, kernel = ensemble.layout, span.kernel
    drifts = _drifts(ensemble, kernel, work.active.beliefs)
    first, end = layout.beliefs[kernel], layout.beliefs[kernel + 1]
    n_features = layout.features[first + 1] - layout.features[first]
    size = block_rows(n_features, drifts, ensemble.likelihood == GAUSSIAN)
    trail = no_trail(ensemble.noise_var.shape[1])
    for start in range(span.begin, span.stop, size):
        stop = min(span.stop, start + size)
        phi = kernel_features(ensemble, kernel, work.x[start:stop])
        block = Block(phi, work.y[start:stop], work.steps[start:stop])
        for b in range(first, end):
            if work.active.beliefs[b]:
                belief, drift = belief_at(layout, state, b), drift_at(ensemble, b)
                ahead = Ahead(work.means[b, start:stop], work.variances[b, start:stop])
                if labels is None:
                    if not learn_gaussian_block(belief, drift, block, ahead, trail):
                        work.failures[b] += 1.0
                else:
                    own = of_belief(labels, b)
                    learn_other_block(own, belief, drift, block, ahead, trail)
                    score_rows(own, block.y, ahead, work.belief_scores[b, start:stop], work.outcomes[b, start:stop])


@compiled
def learn_gaussian_block(belief: Belief, drift: Float, block: Block, ahead: Ahead, trail: Trail) -> bool:
    """Predict then learn a block; returns whether its covariance could be factored."""
    if is_moving(drift):
        return drifting_block(belief, drift, block, ahead, trail)
    return static_block(belief, block, ahead, trail)


@compiled
def learn_other_block(
    labels: LabelModel, belief: Belief, drift: Float, block: Block, ahead: Ahead, trail: Trail
) -> None:
    if is_moving(drift):
        drifting_sites(labels, belief, drift, block, ahead, trail)
    else:
        static_sites(labels, belief, block, ahead, trail)


@compiled
def sweep_rows(ensemble: Ensemble, state: State, labels: LabelModel | None, work: Workspace) -> None:
    """As :func:`sweep_blocks` for a handful of rows, row by row: no factorisations."""
    layout = ensemble.layout
    for kernel in range(layout.beliefs.size - 1):
        block = Block(kernel_features(ensemble, kernel, work.x), work.y, work.steps)
        for b in range(layout.beliefs[kernel], layout.beliefs[kernel + 1]):
            if work.active.beliefs[b]:
                belief, drift = belief_at(layout, state, b), drift_at(ensemble, b)
                ahead = Ahead(work.means[b], work.variances[b])
                if labels is None:
                    learn_gaussian_rows(belief, drift, block, ahead)
                else:
                    own = of_belief(labels, b)
                    learn_other_rows(own, belief, drift, block, ahead)
                    score_rows(own, work.y, ahead, work.belief_scores[b], work.outcomes[b])


@compiled
def learn_gaussian_rows(belief: Belief, drift: Float, block: Block, ahead: Ahead) -> None:
    means, variances = ahead
    phi, y, steps = block
    for t in range(phi.shape[0]):
        if is_moving(drift):
            variances[t] = drifting_row(belief, walk_over(drift, steps[t]), phi[t], y[t], means[t])
        else:
            variances[t] = static_row(belief, phi[t], y[t], means[t])


@compiled
def learn_other_rows(labels: LabelModel, belief: Belief, drift: Float, block: Block, ahead: Ahead) -> None:
    means, variances = ahead
    phi, y, steps = block
    for t in range(phi.shape[0]):
        if is_moving(drift):
            walk = walk_over(drift, steps[t])
            variances[t] = drifting_site_row(labels, belief, walk, phi[t], y[t], means[t])
        else:
            variances[t] = static_site_row(labels, belief, phi[t], y[t], means[t])


@compiled
def predict_rows(ensemble: Ensemble, state: State, active: Bool, x: Float, ahead: Ahead, steps: Float) -> None:
    """Predict rows with every active belief, each as if it came so many steps (n,) later; nothing is changed."""
    layout = ensemble.layout
    for kernel in range(layout.beliefs.size - 1):
        if not np.any(active[layout.beliefs[kernel] : layout.beliefs[kernel + 1]]):
            continue
        phi = kernel_features(ensemble, kernel, x)
        for b in range(layout.beliefs[kernel], layout.beliefs[kernel + 1]):
            if active[b]:
                belief, drift = belief_at(layout, state, b), drift_at(ensemble, b)
                own = Ahead(ahead.means[b], ahead.variances[b])
                if is_moving(drift):
                    predict_drifting(belief, drift, phi, own, steps, 1.0)
                else:
                    predict_static(belief, phi, own, 1.0)


class Seen(NamedTuple):
    """What the prediction of one row found out that learning it needs again; one belief after another."""

    phi: Float
    """(sum of F over beliefs,)"""
    weighted: Float
    """(sum of F over beliefs,): see :class:`iegp.core.expert.belief.Predicted`; undefined for static beliefs."""


@compiled
def predict_row(ensemble: Ensemble, state: State, row: Workspace) -> Seen:
    """Predict the only row of a workspace with every active belief; nothing else is changed."""
    layout = ensemble.layout
    seen = Seen(np.empty(layout.features[-1]), np.empty(layout.features[-1]))
    for kernel in range(layout.beliefs.size - 1):
        phi = kernel_features(ensemble, kernel, row.x)
        for b in range(layout.beliefs[kernel], layout.beliefs[kernel + 1]):
            if row.active.beliefs[b]:
                first, end = layout.features[b], layout.features[b + 1]
                seen.phi[first:end] = phi[0]
                belief, drift = belief_at(layout, state, b), drift_at(ensemble, b)
                own = Ahead(row.means[b], row.variances[b])
                if is_moving(drift):
                    seen.weighted[first:end] = predict_drifting(belief, drift, phi, own, row.steps, 1.0)[0]
                else:
                    predict_static(belief, phi, own, 1.0)
    return seen


@compiled
def learn_row(ensemble: Ensemble, state: State, row: Workspace, seen: Seen) -> None:
    """Learn the row that :func:`predict_row` predicted from this state, with every active belief."""
    layout = ensemble.layout
    for b in range(row.active.beliefs.size):
        if row.active.beliefs[b]:
            first, end = layout.features[b], layout.features[b + 1]
            belief, drift, phi = belief_at(layout, state, b), drift_at(ensemble, b), seen.phi[first:end]
            if is_moving(drift):
                predicted = Predicted(phi, seen.weighted[first:end], row.means[b, 0], row.variances[b, 0])
                learn_predicted(belief, walk_over(drift, row.steps[0]), predicted, row.y[0])
            else:
                row.variances[b, 0] = static_row(belief, phi, row.y[0], row.means[b, 0])


def sweep_blocks(
    ensemble: Ensemble, state: State, labels: LabelModel | None, work: Workspace, n_threads: int = 1
) -> None:
    """Predict then learn the rows of a workspace in blocks; threads share the kernels."""
    layout, active = ensemble.layout, work.active.beliefs
    n_active = np.add.reduceat(active.astype(np.float64), layout.beliefs[:-1])
    drifts = np.logical_or.reduceat(active & ensemble.drifts, layout.beliefs[:-1])
    kernels = np.flatnonzero(n_active)
    if not len(kernels):
        return
    n_features = layout.n_features[layout.beliefs[kernels]]
    costs = n_active[kernels] * (n_features / n_features.max()) ** 2
    # Cut where blocks end, so that results do not depend on the number of threads.
    is_gaussian = ensemble.likelihood == GAUSSIAN
    blocks = [block_rows(int(n), bool(drifts[k]), is_gaussian) for k, n in zip(kernels, n_features, strict=True)]

    def sweep(piece: Piece) -> None:
        sweep_kernel(ensemble, state, labels, work, Span(int(kernels[piece.task]), piece.begin, piece.stop))

    run_in_pieces(sweep, wrap_around(costs.tolist(), len(work.x), blocks, min(n_threads, len(kernels))))
    debug.n_failed_blocks += int(work.failures.sum())
