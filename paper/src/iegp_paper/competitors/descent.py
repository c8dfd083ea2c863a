"""One Raker learner: a gradient descent per kernel on random features, and multiplicative weights over kernels.

Shen, Chen, Giannakis (2019), "Random feature-based online multi-kernel learning in environments with unknown
dynamics", JMLR 20, algorithm 1. Compiled: a row costs O(kernels x features).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled, compiled_fast_sums
from iegp.typing import Float

SQUARED, LOGISTIC = range(2)
# How losses turn into weights. LOSS: log w -= rate * loss, as the paper writes. RANGE: as the authors' published code,
# log w -= log(1 / base) * r, with r the loss mapped to -1 (best) .. 1 (worst): no scale of the losses is assumed.
LOSS, RANGE = range(2)

# Log of the least weight relative to the largest: any kernel can recover (the authors' code adds 1e-12).
LOWEST = math.log(1e-12)


class Rules(NamedTuple):
    """Settings of a learner's update."""

    loss: int
    hedge: int
    penalty: float
    """``lambda``: weight of half the squared norm of the parameters."""
    base: float
    """Base of the multiplicative weights under RANGE."""


class Learner(NamedTuple):
    """What one learner has learned; updated in place."""

    theta: Float
    """(P, F): coefficients of each kernel."""
    log_weights: Float
    """(P,): of the kernels, up to a constant."""


class Answers(NamedTuple):
    """Predictions of n rows, to be filled in."""

    f: Float
    """(n,)"""
    weights: Float
    """(n, P): of the kernels."""


@compiled
def loss_of(kind: int, f: float, y: float) -> float:
    """Squared error, or logistic loss of a label -1 or +1."""
    if kind == SQUARED:
        return (y - f) ** 2
    margin = y * f
    return math.log1p(math.exp(-margin)) if margin > 0.0 else math.log1p(math.exp(margin)) - margin


@compiled
def slope_of(kind: int, f: float, y: float) -> float:
    """Derivative of the loss in f."""
    if kind == SQUARED:
        return -2.0 * (y - f)
    margin = y * f
    return -y * math.exp(-margin) / (1.0 + math.exp(-margin)) if margin > 0.0 else -y / (1.0 + math.exp(margin))


@compiled_fast_sums
def functions(theta: Float, phi: Float, values: Float) -> None:
    """Compute ``values[p] = theta[p]·phi[p]``, the prediction of each kernel."""
    for p in range(theta.shape[0]):
        total = 0.0
        for i in range(theta.shape[1]):
            total += theta[p, i] * phi[p, i]
        values[p] = total


@compiled
def mixture(log_weights: Float, values: Float) -> float:
    """Mean of ``values`` under weights known up to a factor, as logs."""
    top = np.max(log_weights)
    total, mean = 0.0, 0.0
    for p in range(values.size):
        weight = math.exp(log_weights[p] - top)
        total += weight
        mean += weight * values[p]
    return mean / total


@compiled
def descend(theta: Float, phi: Float, values: Float, y: float, rate: float, rules: Rules) -> None:
    """One step of gradient descent per kernel on loss + penalty / 2 |theta|²."""
    shrink = 1.0 - rate * rules.penalty
    for p in range(theta.shape[0]):
        step = rate * slope_of(rules.loss, values[p], y)
        for i in range(theta.shape[1]):
            theta[p, i] = shrink * theta[p, i] - step * phi[p, i]


@compiled
def reweigh(log_weights: Float, losses: Float, rate: float, hedge: int, base: float) -> None:
    """Multiplicative weights from the losses of one row; kept relative to the largest."""
    if hedge == LOSS:
        for p in range(losses.size):
            log_weights[p] -= rate * losses[p]
    else:
        best, worst = np.min(losses), np.max(losses)
        half = 0.5 * (worst - best)
        if half > 0.0:
            for p in range(losses.size):
                log_weights[p] += math.log(base) * (losses[p] - best - half) / half
    top = np.max(log_weights)
    for p in range(losses.size):
        log_weights[p] = max(log_weights[p] - top, LOWEST)


@compiled
def learn_row(learner: Learner, phi: Float, values: Float, y: float, rate: float, rules: Rules) -> None:
    """Update one learner with the label of a row: first its weights, then its kernels."""
    losses = np.empty(values.size)
    for p in range(values.size):
        losses[p] = loss_of(rules.loss, values[p], y)
    reweigh(learner.log_weights, losses, rate, rules.hedge, rules.base)
    descend(learner.theta, phi, values, y, rate, rules)


@compiled
def raker_rows(learner: Learner, phi: Float, y: Float, rate: float, rules: Rules, answers: Answers) -> None:
    """Predict each row of ``phi`` (n, P, F), then learn it."""
    theta, log_weights = learner
    values = np.empty(theta.shape[0])
    for t in range(y.size):
        functions(theta, phi[t], values)
        answers.f[t] = mixture(log_weights, values)
        answers.weights[t] = np.exp(log_weights) / np.sum(np.exp(log_weights))
        learn_row(learner, phi[t], values, y[t], rate, rules)
