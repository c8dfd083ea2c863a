"""Switching (eq:w_pre_s, eq:SIEGP_w): the active expert follows a Markov chain, so that no expert is ever lost."""

from __future__ import annotations

import math

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.linalg import matmul
from iegp.core.compute.tolerances import LEAST_SAFE
from iegp.core.weights.logs import log_add_exp
from iegp.core.weights.protocol import Rule, WeightRule, posterior
from iegp.typing import Float


@compiled
def switch(rule: WeightRule, log_weights: Float, ahead: Float) -> None:
    """One step of the chain (eq:w_pre_s).

    An expert's own share is added in logs, so that the identity leaves even the smallest weight as it was.
    """
    if not math.isnan(rule.switch_prob):
        _switch_evenly(rule.switch_prob, log_weights, ahead)
        return
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
def _switch_evenly(probability: float, log_weights: Float, ahead: Float) -> None:
    """One step with one probability. Weight from others is summed from both ends: a difference would lose digits."""
    n = log_weights.size
    stay, other = (1.0, 0.0) if n == 1 else (1.0 - probability, probability / (n - 1))
    behind = np.zeros(n + 1)
    for j in range(n - 1, -1, -1):
        behind[j] = behind[j + 1] + math.exp(log_weights[j])
    before = 0.0
    for j in range(n):
        incoming = other * (before + behind[j + 1])
        before += math.exp(log_weights[j])
        ahead[j] = _log(stay) + log_weights[j]
        if incoming > LEAST_SAFE:
            ahead[j] = log_add_exp(ahead[j], math.log(incoming))
        elif other > 0.0:
            for i in range(n):
                if i != j:
                    ahead[j] = log_add_exp(ahead[j], math.log(other) + log_weights[i])


@compiled
def switch_prob_over(probability: float, n: int, steps: float) -> float:
    """One probability over so many steps, whole or not; NaN where it has no such power, or was NaN."""
    same = 1.0 - probability - probability / (n - 1)
    return (1.0 - same**steps) / n * (n - 1) if same >= 0.0 else math.nan


@compiled
def transitions_over(transitions: Float, steps: float) -> Float:
    """The chain over so many steps, whole or not: its matrix to that power.

    In closed form where one probability leads to every other expert; otherwise ``A^floor(g) ((1-f) I + f A)``, with f
    the fraction of g.
    """
    n = transitions.shape[0]
    other = transitions[0, 1]
    same = transitions[0, 0] - other
    if same >= 0.0 and _has_one_probability(transitions):
        share = (1.0 - same**steps) / n
        power = np.full((n, n), share)
        for i in range(n):
            power[i, i] += same**steps
        return power
    whole = math.floor(steps)
    power = (steps - whole) * transitions
    for i in range(n):
        power[i, i] += 1.0 - (steps - whole)
    square, product = transitions.copy(), np.empty((n, n))
    n_left = int(whole)
    while n_left > 0:
        if n_left % 2 == 1:
            matmul(power, square, product)
            power[:] = product
        matmul(square, square, product)
        square[:] = product
        n_left //= 2
    return power


@compiled
def _has_one_probability(transitions: Float) -> bool:
    for i in range(transitions.shape[0]):
        for j in range(transitions.shape[0]):
            if transitions[i, j] != (transitions[0, 0] if i == j else transitions[0, 1]):
                return False
    return True


@compiled
def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf


SWITCHING = Rule("switching", posterior, switch, has_transitions=True)
