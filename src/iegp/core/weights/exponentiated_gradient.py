"""Online Bayesian stacking by exponentiated gradients: like stacking, the weights follow the best fixed mixture.

A row moves the weights by the gradient of the mixture's log score, ``w_i <- w_i exp(rate p_i / sum_j w_j p_j)``, and
they are normalised (Waxman, Llorente, Djurić 2025). Steps have no limit: an expert of little weight that alone
predicted a row well takes nearly all of it, where soft-Bayes moves by at most the rate. The floor is that of stacking.
"""

from __future__ import annotations

import math

from iegp._compile import compiled
from iegp.core.compute.tolerances import FARTHEST_EXPONENT, STACKING_FLOOR
from iegp.core.weights.logs import log_sum_exp
from iegp.core.weights.protocol import Rule, WeightRule, unchanged
from iegp.typing import Float


@compiled
def learn(rule: WeightRule, ahead: Float, log_scores: Float, total: float, log_weights: Float) -> None:
    """One step along the gradient; the floor holds for normalised weights."""
    for e in range(ahead.size):
        log_weights[e] = ahead[e] + rule.rate * math.exp(min(log_scores[e] - total, FARTHEST_EXPONENT))
    whole, floor = log_sum_exp(log_weights), math.log(STACKING_FLOOR / ahead.size)
    for e in range(ahead.size):
        log_weights[e] = max(log_weights[e] - whole, floor)


EXPONENTIATED_GRADIENT = Rule("exponentiated-gradient", learn, unchanged, scores_answers=True)
