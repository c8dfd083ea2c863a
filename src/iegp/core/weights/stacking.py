"""Stacking: no expert need be the truth; the weights follow the best fixed mixture.

The rule is soft-Bayes, ``w_i <- w_i (1 - rate + rate p_i / sum_j w_j p_j)``; rate 1 is Bayes. A tiny floor keeps every
expert within reach.
"""

from __future__ import annotations

import math

from iegp._compile import compiled
from iegp.core.compute.tolerances import FARTHEST_EXPONENT, STACKING_FLOOR
from iegp.core.weights.protocol import Rule, WeightRule, unchanged
from iegp.typing import Float


@compiled
def learn(rule: WeightRule, ahead: Float, log_scores: Float, total: float, log_weights: Float) -> None:
    """Soft-Bayes."""
    # At rate one stacking is Bayes, which has no floor.
    floor = math.log(STACKING_FLOOR / ahead.size) if rule.rate < 1.0 else -math.inf
    for e in range(ahead.size):
        log_weights[e] = max(ahead[e] + _gain(log_scores[e] - total, rule.rate), floor)


@compiled
def _gain(advantage: float, rate: float) -> float:
    """``log(1 - rate + rate exp(advantage))``, where exp may overflow and 1 - rate may be zero."""
    if advantage > FARTHEST_EXPONENT or rate == 1.0:
        return math.log(rate) + advantage
    return math.log(1.0 - rate + rate * math.exp(advantage))


STACKING = Rule("stacking", learn, unchanged, scores_answers=True)
