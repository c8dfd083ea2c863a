"""Weights of the experts of a map, and the expert of each row of the stitched embedding (eq:m_star, eq:w_up_LVM)."""

from __future__ import annotations

import numpy as np

from iegp._compile import compiled
from iegp.core.weights import WeightRule, diffuse, weigh_rows
from iegp.typing import Float, Int


@compiled
def choose_and_weigh(
    rule: WeightRule, log_scores: Float, log_priors: Float, log_weights: Float, chosen: Int, log_score: Float
) -> None:
    """Find the expert with the most probable position for every row (n, experts); update the weights in place.

    The choice is made in logs: a row of hundreds of entries moves weights by hundreds of nats at once.
    """
    n, n_experts = log_scores.shape
    weights = np.empty((1, n_experts))
    for t in range(n):
        ahead = diffuse(rule, log_weights)
        best = 0
        for e in range(1, n_experts):
            if ahead[e] + log_scores[t, e] + log_priors[t, e] > ahead[best] + log_scores[t, best] + log_priors[t, best]:
                best = e
        chosen[t] = best
        row = slice(t, t + 1)
        weigh_rows(rule, log_scores[row], log_weights, weights, log_score[row])
