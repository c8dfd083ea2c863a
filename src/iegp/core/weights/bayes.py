"""Bayes (eq:w_update_2): the posterior probability that an expert made the data.

An expert below the shutdown threshold is out for good.
"""

from __future__ import annotations

import math

import numpy as np

from iegp._compile import compiled
from iegp.core.weights.protocol import Rule, WeightRule, posterior, unchanged
from iegp.typing import Float


@compiled
def learn(rule: WeightRule, ahead: Float, log_scores: Float, total: float, log_weights: Float) -> None:
    """The posterior, less experts below the threshold; the best one stays, whatever the threshold."""
    posterior(rule, ahead, log_scores, total, log_weights)
    if rule.shutdown > 0.0:
        threshold, best = math.log(rule.shutdown), np.argmax(log_weights)
        for e in range(log_weights.size):
            if log_weights[e] < threshold and e != best:
                log_weights[e] = -math.inf


BAYES = Rule("bayes", learn, unchanged, drops_experts=True, ignores_order=True)
