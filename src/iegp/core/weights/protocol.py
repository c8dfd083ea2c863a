"""What a weight rule is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from iegp._compile import compiled
from iegp.typing import Float


class WeightRule(NamedTuple):
    """How the weights follow the scores: what compiled code is given."""

    rule: int
    """Place of the rule in the table."""
    transitions: Float
    """(n_experts, n_experts): probability of going from one expert (row) to another; used by switching alone."""
    rate: float
    """Learning rate of stacking, by soft-Bayes or by exponentiated gradients."""
    shutdown: float
    """Weight below which an expert is dropped for good; used by Bayes alone."""
    switch_prob: float = math.nan
    """Probability of leaving an expert, for any other alike; NaN where ``transitions`` differ. Switching by it takes
    O(n_experts) in place of its square."""


class Rule(NamedTuple):
    """A row of the table of weight rules. Its functions are compiled, and work with logs of weights."""

    name: str
    learn: Callable[[WeightRule, Float, Float, float, Float], None]
    """``learn(rule, ahead, log_scores, total, log_weights)``: the weights after a row, up to a common factor, from
    those ahead of it (n_experts,), the scores of the experts, and the log score of the mixture."""
    between: Callable[[WeightRule, Float, Float], None]
    """``between(rule, log_weights, ahead)``: what happens to the weights between two rows, into ``ahead``; the
    weights there must sum to one, because the next row is predicted with them."""
    has_transitions: bool = False
    """Whether the rule uses probabilities of going from one expert to another."""
    drops_experts: bool = False
    """Whether a weight of zero is final, so that an expert that has it need not learn any more."""
    ignores_order: bool = False
    """Whether the weights are the same in whatever order rows come, so that models can be merged."""
    scores_answers: bool = False
    """Whether labels that come late are scored by the prediction that was answered, not by one made in order."""


@compiled
def unchanged(rule: WeightRule, log_weights: Float, ahead: Float) -> None:  # noqa: ARG001
    """Nothing happens between two rows."""
    ahead[:] = log_weights


@compiled
def posterior(rule: WeightRule, ahead: Float, log_scores: Float, total: float, log_weights: Float) -> None:  # noqa: ARG001
    """Weights in proportion to those ahead of the row and the likelihoods (eq:w_update_1)."""
    for e in range(ahead.size):
        joint = ahead[e] + log_scores[e] if ahead[e] > -math.inf else -math.inf
        log_weights[e] = joint - total
