"""AdaRaker's two levels: Raker learners on geometric intervals, and weights over the intervals that hold a row.

Shen, Chen, Giannakis (2019), algorithm 2. The learner of interval I steps with ``eta_I = min(max_rate,
eta_0 / sqrt|I|)``; its weight begins at ``eta_I`` and is multiplied by ``exp(eta_I r)``, where r is how much less it
lost than the ensemble.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iegp._compile import compiled
from iegp.typing import Float, Int
from iegp_paper.competitors.descent import (
    LOSS,
    Answers,
    Learner,
    Rules,
    functions,
    learn_row,
    loss_of,
    mixture,
    reweigh,
)
from iegp_paper.competitors.intervals import begins, n_active


class Hierarchy(NamedTuple):
    """The learner of every level; a level is one interval at a time."""

    theta: Float
    """(levels, P, F)."""
    log_kernel: Float
    """(levels, P): weights over kernels inside a learner."""
    log_interval: Float
    """(levels,): weights over learners."""
    row: Int
    """(1,): rows learned so far."""


class Rates(NamedTuple):
    """How far learners step, and what an interval begins with."""

    eta_0: float
    max_rate: float
    restart: bool
    """Whether an interval begins from nothing, not from what the one before it has learned."""


@compiled
def rate_of(level: int, rates: Rates) -> float:
    return min(rates.max_rate, rates.eta_0 / math.sqrt(float(1 << level)))


@compiled
def start_intervals(state: Hierarchy, t: int, rates: Rates) -> None:
    """Begin the intervals that begin with row t: reset their weight, and with ``restart`` what they have learned."""
    for level in range(n_active(t)):
        if begins(t, level):
            state.log_interval[level] = math.log(rate_of(level, rates))
            if rates.restart:
                state.theta[level] = 0.0
                state.log_kernel[level] = 0.0


@compiled
def look(state: Hierarchy, phi: Float, values: Float, f: Float, weights: Float, n: int) -> float:
    """Predict one row; ``values`` (n, P) by kernel, ``f`` (n,) by interval, ``weights`` (P,) over kernels."""
    weights[:] = 0.0
    top, total = np.max(state.log_interval[:n]), 0.0
    for level in range(n):
        functions(state.theta[level], phi, values[level])
        f[level] = mixture(state.log_kernel[level], values[level])
        trust = math.exp(state.log_interval[level] - top)
        own = np.exp(state.log_kernel[level])
        weights += trust * own / np.sum(own)
        total += trust
    weights /= total
    return mixture(state.log_interval[:n], f[:n])


@compiled
def reweigh_intervals(state: Hierarchy, losses: Float, ensemble_loss: float, rates: Rates, rules: Rules) -> None:
    """Update the weights of the intervals after a row."""
    n = losses.size
    if rules.hedge == LOSS:
        for level in range(n):
            state.log_interval[level] += rate_of(level, rates) * (ensemble_loss - losses[level])
    else:
        # As the authors' code: losses mapped to -1..1, the base being the rate of the longest interval. With a base
        # above one the worst learner would gain weight.
        reweigh(state.log_interval[:n], losses, 1.0, rules.hedge, min(rate_of(n - 1, rates), 1.0))
        total = math.log(np.sum(np.exp(state.log_interval[:n])))
        for level in range(n):
            state.log_interval[level] -= total


@compiled
def ada_raker_rows(state: Hierarchy, phi: Float, y: Float, rates: Rates, rules: Rules, answers: Answers) -> None:
    """Predict each row of ``phi`` (n, P, F), then learn it."""
    levels, n_kernels = state.log_kernel.shape
    values, own = np.empty((levels, n_kernels)), np.empty(levels)
    for i in range(y.size):
        t = state.row[0] + 1
        n = n_active(t)
        start_intervals(state, t, rates)
        answers.f[i] = look(state, phi[i], values, own, answers.weights[i], n)
        losses = np.empty(n)
        for level in range(n):
            losses[level] = loss_of(rules.loss, own[level], y[i])
            learner = Learner(state.theta[level], state.log_kernel[level])
            learn_row(learner, phi[i], values[level], y[i], rate_of(level, rates), rules)
        reweigh_intervals(state, losses, loss_of(rules.loss, answers.f[i], y[i]), rates, rules)
        state.row[0] = t
