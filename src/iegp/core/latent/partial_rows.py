"""Rows with missing entries, embedded by their observed entries.

The likelihood of a row is a product over its entries (eq:IEGPLVM_LF), so entries that were not observed drop out of it.
Learning such a row takes the expert's own prediction in their place: it leaves the mean of their parameters as it was.
(The covariance is shared by all columns, as in the paper, so it shrinks for the missing ones too.) One row at a time
and O(F² D) each: it is meant for occasional gaps, not for tables that are mostly empty.
"""

from __future__ import annotations

import numpy as np

from iegp.core.latent.blocks import Belief, absorb, start_from
from iegp.core.latent.row import Row, RowProblem, Workspace, locate, make_workspace
from iegp.typing import Bool, Float, Int


def place_partial(
    belief: Belief, problem: RowProblem, row: Float, neighbours: Int, positions: Float, placed: Float
) -> tuple[float, Float, Row, Workspace]:
    """Compute the position of one row (D,), written into ``placed`` (d,), from its observed entries.

    Returns the log predictive density of these, the row completed by predictions, and what :func:`absorb` needs.
    """
    observed: Bool = ~np.isnan(row)
    theta = belief.inverse @ belief.cross
    seen = np.ascontiguousarray(theta[:, observed])
    known = row[observed]
    partial = Row(seen @ known, float(known @ known), float(len(known)))
    space = make_workspace(len(problem.frequencies), positions.shape[1])
    starts = np.empty((len(neighbours), positions.shape[1]))
    start_from(neighbours, positions, starts)
    observed_problem = problem._replace(second=np.ascontiguousarray(seen @ seen.T))
    log_score = locate(observed_problem, partial, starts, problem.n_steps, space, placed)
    completed = np.where(observed, row, space.waves[0] @ theta)
    return log_score, completed, partial, space


def learn_partial(
    belief: Belief, problem: RowProblem, row: Float, neighbours: Int, positions: Float, first: int
) -> tuple[float, Float]:
    """Embed and learn one row (D,) in place, its position at ``positions[first]``; its log score and its completion."""
    forgetting = problem.forgetting
    if forgetting < 1.0:
        belief.inverse[:] /= forgetting
        belief.gram[:] *= forgetting
        belief.cross[:] *= forgetting
    log_score, completed, partial, space = place_partial(belief, problem, row, neighbours, positions, positions[first])
    phi = space.waves[0].copy()
    absorb(belief, partial, space)
    belief.gram[:] += np.outer(phi, phi)
    belief.cross[:] += np.outer(phi, completed)
    return log_score, completed
