"""The meta-learner: how the weights of the experts follow from the table of their log scores. Always in logs."""

from __future__ import annotations

import math

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.tolerances import TRANSITION_SLACK
from iegp.core.weights.logs import log_sum_exp
from iegp.core.weights.protocol import WeightRule
from iegp.core.weights.switching import switch_prob_over, transitions_over
from iegp.core.weights.table import drops, learn_row, step_between
from iegp.errors import InputError
from iegp.typing import Float


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
    if not (np.all(matrix >= 0.0) and np.allclose(matrix.sum(axis=1), 1.0, atol=TRANSITION_SLACK)):
        raise InputError(
            "switch_prob must have non-negative entries and rows that sum to one (row = from, column = to)"
        )
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


@compiled
def diffuse(rule: WeightRule, log_weights: Float) -> Float:
    """The weights ahead of the next row: what happens to them between two rows, if anything does."""
    ahead = np.empty(log_weights.size)
    step_between(rule, log_weights, ahead)
    return ahead


@compiled
def diffuse_over(rule: WeightRule, log_weights: Float, steps: float) -> Float:
    """The weights so many steps ahead; steps need not be whole."""
    if steps == 1.0 or rule.transitions.shape[0] == 1:
        return diffuse(rule, log_weights)
    probability = switch_prob_over(rule.switch_prob, log_weights.size, steps)
    if not math.isnan(probability):
        return diffuse(WeightRule(rule.rule, rule.transitions, rule.rate, rule.shutdown, probability), log_weights)
    over = transitions_over(rule.transitions, steps)
    return diffuse(WeightRule(rule.rule, over, rule.rate, rule.shutdown, probability), log_weights)


@compiled
def is_dropped(rule: int, log_weight: float) -> bool:
    """Whether an expert with this weight is out for good."""
    return bool(drops[rule]) and log_weight == -math.inf


@compiled
def weigh_rows(rule: WeightRule, log_scores: Float, log_weights: Float, used: Float, log_score: Float) -> None:
    """Run the meta-learner over a table of log scores (n, experts); ``log_weights`` is updated in place.

    Writes the weights each row was predicted with (n, experts) to ``used`` and the log score of the mixture (n,).
    """
    weigh_spaced_rows(rule, log_scores, np.ones(log_scores.shape[0]), log_weights, used, log_score)


@compiled
def weigh_spaced_rows(
    rule: WeightRule, log_scores: Float, steps: Float, log_weights: Float, used: Float, log_score: Float
) -> None:
    """As :func:`weigh_rows`, where rows come so many ``steps`` (n,) after one another."""
    n, n_experts = log_scores.shape
    joint = np.empty(n_experts)
    for t in range(n):
        ahead = diffuse_over(rule, log_weights, steps[t])
        for e in range(n_experts):
            used[t, e] = math.exp(ahead[e])
            joint[e] = ahead[e] + log_scores[t, e] if ahead[e] > -math.inf else -math.inf
        total = log_sum_exp(joint)
        log_score[t] = total
        if math.isinf(total) or math.isnan(total):
            # A row that no expert thought possible says nothing about which is right.
            log_weights[:] = ahead
            continue
        learn_row(rule, ahead, log_scores[t], total, log_weights)
        _normalise(log_weights)


@compiled
def _normalise(log_weights: Float) -> None:
    total = log_sum_exp(log_weights)
    for e in range(log_weights.size):
        log_weights[e] -= total
