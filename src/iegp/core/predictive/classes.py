"""The predictive distribution of classes: for every row a mixture over experts of class probabilities.

Averages of calibrated experts are underconfident: a mixture of calibrated probabilities lies closer to one half than it
should. So a belief may have several degrees of *sharpness*: its class probabilities raised to a power and normalised,
each an expert of its own that costs no linear algebra. The weights find out how sharp to be.
"""

from __future__ import annotations

import math

from iegp._compile import compiled
from iegp.core.weights import log_sum_exp
from iegp.typing import Float


@compiled
def log_normaliser(outcomes: Float, power: float) -> float:
    """``log sum p^power`` of log probabilities (K,)."""
    if power == 1.0:
        return 0.0
    return log_sum_exp(power * outcomes)


@compiled
def sharpened_score(outcomes: Float, label: int, power: float) -> float:
    """Log probability of one class after all log probabilities (K,) have been sharpened."""
    return float(power * outcomes[label] - log_normaliser(outcomes, power))


@compiled
def mix_classes(sharpness: Float, weights: Float, outcomes: Float, proba: Float) -> None:
    """Class probabilities (n, K) of the mixture into ``proba``.

    ``sharpness`` is (S,), ``weights`` (n, beliefs * S), ``outcomes`` (beliefs, n, K) log probabilities.
    """
    n_beliefs, n, n_classes = outcomes.shape
    n_powers = sharpness.size
    for t in range(n):
        total = 0.0
        proba[t] = 0.0
        for b in range(n_beliefs):
            own = outcomes[b, t]
            for i in range(n_powers):
                weight, power = weights[t, b * n_powers + i], sharpness[i]
                if weight > 0.0:
                    log_total = log_normaliser(own, power)
                    for k in range(n_classes):
                        part = weight * math.exp(power * own[k] - log_total)
                        proba[t, k] += part
                        total += part
        for k in range(n_classes):
            proba[t, k] /= total


@compiled
def mid_pit_rows(proba: Float, y: Float, pit: Float) -> None:
    """``P(Y < y) + P(Y = y) / 2`` of ordered classes ``y`` (n, 1) under ``proba`` (n, K), into ``pit`` (n, 1)."""
    for t in range(proba.shape[0]):
        label = int(y[t, 0])
        below = 0.0
        for k in range(label):
            below += proba[t, k]
        pit[t, 0] = below + 0.5 * proba[t, label]
