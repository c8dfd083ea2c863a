"""The meta-learner: how much each expert is trusted, from the table of their log scores. Always in logs.

- *Bayes* (eq:w_update_2): the posterior probability that this expert made the data. An expert below the shutdown
  threshold is out for good.
- *Switching* (eq:w_pre_s, eq:SIEGP_w): the active expert follows a Markov chain, so no expert is ever lost.
- *Stacking*: no expert need be the truth; the weights follow the best fixed mixture. The rule is soft-Bayes,
  ``w_i <- w_i (1 - rate + rate p_i / sum_j w_j p_j)``; rate 1 is Bayes. A tiny floor keeps every expert within reach.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.tolerances import STACKING_FLOOR
from iegp.errors import InputError
from iegp.typing import Float

RULES = ("bayes", "switching", "stacking")
BAYES, SWITCHING, STACKING = range(3)

# Below this, numbers are close to those that float64 keeps with fewer digits.
_TINY = 1e-280


class WeightRule(NamedTuple):
    """How the weights follow the scores."""

    rule: int
    """BAYES, SWITCHING or STACKING."""
    transitions: Float
    """(n_experts, n_experts): probability of going from one expert (row) to another; used by switching alone."""
    rate: float
    """Learning rate of stacking."""
    shutdown: float
    """Weight below which an expert is dropped for good; used by Bayes alone."""


def transition_matrix(switch_prob: float | Float, n_experts: int) -> Float:
    """Probability of going from expert i (row) to expert j (column). A number p means p/(M-1) to every other (as4).

    >>> transition_matrix(0.1, 3)[0]
    array([0.9 , 0.05, 0.05])
    """
    matrix = np.asarray(switch_prob, dtype=np.float64)
    if matrix.ndim == 0:
        p = float(matrix)
        if not 0.0 <= p <= 1.0:
            raise InputError(f"switch_prob={p} is not a probability; give a number in [0, 1] or a full matrix")
        if n_experts == 1:
            return np.ones((1, 1))
        return np.asarray(np.where(np.eye(n_experts, dtype=bool), 1.0 - p, p / (n_experts - 1)))
    if matrix.shape != (n_experts, n_experts):
        raise InputError(f"switch_prob has shape {matrix.shape}, but there are {n_experts} experts: give one row each")
    if not (np.all(matrix >= 0.0) and np.allclose(matrix.sum(axis=1), 1.0, atol=1e-8)):
        raise InputError(
            "switch_prob must have non-negative entries and rows that sum to one (row = from, column = to)"
        )
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


@compiled
def log_sum_exp(values: Float) -> float:
    """log sum exp, safe for any range; -inf for an empty mixture."""
    largest = -math.inf
    for value in values:
        largest = max(largest, value)
    if math.isinf(largest):
        return largest
    total = 0.0
    for value in values:
        total += math.exp(value - largest)
    return largest + math.log(total)


@compiled
def log_add_exp(a: float, b: float) -> float:
    """log(exp(a) + exp(b)), safe for any range."""
    high, low = max(a, b), min(a, b)
    return high if math.isinf(low) or math.isinf(high) else high + math.log1p(math.exp(low - high))


@compiled
def diffuse(rule: WeightRule, log_weights: Float) -> Float:
    """What happens to the weights between two rows: the switching step (eq:w_pre_s), or nothing.

    An expert's own share is added in logs, so that the identity leaves even the smallest weight as it was.
    """
    if rule.rule != SWITCHING:
        return log_weights.copy()
    transitions, n = rule.transitions, log_weights.size
    incoming = np.zeros(n)
    for i in range(n):
        weight = math.exp(log_weights[i])
        for j in range(n):
            if i != j:
                incoming[j] += transitions[i, j] * weight
    ahead = np.empty(n)
    for j in range(n):
        ahead[j] = _log(transitions[j, j]) + log_weights[j]
        if incoming[j] > _TINY:
            ahead[j] = log_add_exp(ahead[j], math.log(incoming[j]))
        else:
            # The sources are too small for exp to keep their digits: add them one by one in logs.
            for i in range(n):
                if i != j:
                    ahead[j] = log_add_exp(ahead[j], _log(transitions[i, j]) + log_weights[i])
    return ahead


@compiled
def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


@compiled
def weigh_rows(rule: WeightRule, log_scores: Float, log_weights: Float, used: Float, log_score: Float) -> None:
    """Run the meta-learner over a table of log scores (n, experts); ``log_weights`` is updated in place.

    Writes the weights each row was predicted with (n, experts) to ``used`` and the log score of the mixture (n,).
    """
    n, n_experts = log_scores.shape
    joint = np.empty(n_experts)
    # At rate one stacking is Bayes, which has no floor.
    floor = math.log(STACKING_FLOOR / n_experts) if rule.rate < 1.0 else -math.inf
    for t in range(n):
        ahead = diffuse(rule, log_weights)
        for e in range(n_experts):
            used[t, e] = math.exp(ahead[e])
            joint[e] = ahead[e] + log_scores[t, e] if ahead[e] > -math.inf else -math.inf
        total = log_sum_exp(joint)
        log_score[t] = total
        if math.isinf(total) or math.isnan(total):
            # A row that no expert thought possible says nothing about who is right.
            log_weights[:] = ahead
            continue
        for e in range(n_experts):
            if rule.rule == STACKING:
                log_weights[e] = max(ahead[e] + _stacking_gain(log_scores[t, e] - total, rule.rate), floor)
            else:
                log_weights[e] = joint[e] - total
        if rule.rule == BAYES and rule.shutdown > 0.0:
            _shut_down(log_weights, math.log(rule.shutdown))
        _normalise(log_weights)


@compiled
def _stacking_gain(advantage: float, rate: float) -> float:
    """``log(1 - rate + rate exp(advantage))``, where exp may overflow and 1 - rate may be zero."""
    if advantage > 700.0 or rate == 1.0:
        return math.log(rate) + advantage
    return math.log(1.0 - rate + rate * math.exp(advantage))


@compiled
def _shut_down(log_weights: Float, threshold: float) -> None:
    """Drop experts below the threshold; the best one stays, whatever the threshold."""
    best = np.argmax(log_weights)
    for e in range(log_weights.size):
        if log_weights[e] < threshold and e != best:
            log_weights[e] = -math.inf


@compiled
def _normalise(log_weights: Float) -> None:
    total = log_sum_exp(log_weights)
    for e in range(log_weights.size):
        log_weights[e] -= total
