"""Switching (eq:w_pre_s, eq:SIEGP_w): the active expert follows a Markov chain, so that no expert is ever lost."""

from __future__ import annotations

import math

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.tolerances import LEAST_SAFE
from iegp.core.weights.logs import log_add_exp
from iegp.core.weights.protocol import Rule, WeightRule, posterior
from iegp.typing import Float


@compiled
def switch(rule: WeightRule, log_weights: Float, ahead: Float) -> None:
    """One step of the chain (eq:w_pre_s).

    An expert's own share is added in logs, so that the identity leaves even the smallest weight as it was.
    """
    transitions, n = rule.transitions, log_weights.size
    incoming = np.zeros(n)
    for i in range(n):
        weight = math.exp(log_weights[i])
        for j in range(n):
            if i != j:
                incoming[j] += transitions[i, j] * weight
    for j in range(n):
        ahead[j] = _log(transitions[j, j]) + log_weights[j]
        if incoming[j] > LEAST_SAFE:
            ahead[j] = log_add_exp(ahead[j], math.log(incoming[j]))
        else:
            # The sources are too small for exp to keep their digits: add them one by one in logs.
            for i in range(n):
                if i != j:
                    ahead[j] = log_add_exp(ahead[j], _log(transitions[i, j]) + log_weights[i])


@compiled
def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


SWITCHING = Rule("switching", posterior, switch, has_transitions=True)
