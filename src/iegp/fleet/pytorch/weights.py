"""The weights of the experts (``iegp.core.weights``) over the rows of many keys at once, in logs.

Bayes weights are sums of log scores, so all rows of a block are done together unless an expert is shut down in it, or a
row is one that no expert thought possible. The other rules need the weights of the row before: a loop over rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from iegp.core.compute.tolerances import FARTHEST_EXPONENT, FEW_SWITCHING_EXPERTS, STACKING_FLOOR
from iegp.core.weights import BAYES, STACKING, SWITCHING
from iegp.fleet.pytorch import fused


class Rule(NamedTuple):
    """How experts are weighed; ``log_transitions`` is (n_experts, n_experts), for switching."""

    code: int
    log_transitions: Tensor
    rate: float
    shutdown: float


class Weighed(NamedTuple):
    """Log weights rows are predicted with (n, r, experts), log score of the mixture (n, r), log weights afterwards."""

    ahead: Tensor
    log_score: Tensor
    log_weights: Tensor


def diffuse(log_weights: Tensor, rule: Rule) -> Tensor:
    """What happens to the weights (n, experts) between two rows."""
    if rule.code != SWITCHING:
        return log_weights
    if log_weights.shape[-1] <= FEW_SWITCHING_EXPERTS:
        return torch.logsumexp(log_weights[:, :, None] + rule.log_transitions, dim=1)
    stay = rule.log_transitions.diagonal()
    incoming = log_weights.exp() @ rule.log_transitions.exp().fill_diagonal_(0.0)
    return torch.logaddexp(stay + log_weights, incoming.log())


def weigh(log_scores: Tensor, log_weights: Tensor, rule: Rule, counts: Tensor | None) -> Weighed:
    """Run the meta-learner over log scores (n, r, experts), of which the first ``counts`` (n,) rows are real."""
    if fused.is_possible_for_weights(log_weights, rule.code):
        return Weighed(*fused.weigh(log_scores, log_weights, *rule, counts))
    valid = None if counts is None else torch.arange(log_scores.shape[1], device=counts.device) < counts[:, None]
    if rule.code == BAYES and log_scores.shape[1] > 1:
        done = _bayes_at_once(log_scores, log_weights, rule, valid)
        if done is not None:
            return done
    ahead, log_score = torch.empty_like(log_scores), torch.empty_like(log_scores[..., 0])
    for t in range(log_scores.shape[1]):
        ahead[:, t] = diffuse(log_weights, rule)
        learned, total = _learn(log_scores[:, t], ahead[:, t], rule)
        log_score[:, t] = total
        log_weights = learned if valid is None else torch.where(valid[:, t, None], learned, log_weights)
    return Weighed(ahead, log_score, log_weights)


def _learn(log_scores: Tensor, ahead: Tensor, rule: Rule) -> tuple[Tensor, Tensor]:
    """Weights after one row, and the mixture's log score of it."""
    joint = ahead + log_scores
    total = torch.logsumexp(joint, dim=-1, keepdim=True)
    if rule.code == STACKING:
        learned = ahead + _stacking_gain(log_scores - total, rule.rate)
        if rule.rate < 1.0:
            learned = learned.clamp_min(math.log(STACKING_FLOOR / ahead.shape[-1]))
    else:
        learned = joint - total
    if rule.code == BAYES and rule.shutdown > 0.0:
        learned = learned.masked_fill(_is_shut_down(learned, rule.shutdown), -math.inf)
    learned = learned - torch.logsumexp(learned, dim=-1, keepdim=True)
    # A row that no expert thought possible gives no information about the weights.
    return torch.where(total.isfinite(), learned, ahead), total[:, 0]


def _stacking_gain(advantage: Tensor, rate: float) -> Tensor:
    far = math.log(rate) + advantage
    if rate == 1.0:
        return far
    return torch.where(advantage > FARTHEST_EXPONENT, far, (1.0 - rate + rate * advantage.exp()).log())


def _is_shut_down(log_weights: Tensor, shutdown: float) -> Tensor:
    """Experts below the threshold; the first of the best ones stays, whatever the threshold."""
    best = log_weights.argmax(dim=-1, keepdim=True)
    return (log_weights < math.log(shutdown)).scatter(-1, best, False)


def _bayes_at_once(log_scores: Tensor, log_weights: Tensor, rule: Rule, valid: Tensor | None) -> Weighed | None:
    """All rows together by cumulative sums, or ``None`` if what happens in them needs a look at every row."""
    is_alive = (log_weights > -math.inf)[:, None]
    # Only differences between experts matter; without what they share, sums stay small.
    shared = log_scores.masked_fill(~is_alive, -math.inf).amax(-1, keepdim=True)
    gains = (log_scores - shared).masked_fill(~is_alive, 0.0)
    if valid is not None:
        gains = gains * valid[..., None]
    sums = torch.cat((log_weights[:, None], log_weights[:, None] + gains.cumsum(dim=1)), dim=1)
    logs = sums - torch.logsumexp(sums, dim=-1, keepdim=True)
    stays = gains.isfinite().all()
    if rule.shutdown > 0.0:
        stays &= ~(_is_shut_down(logs[:, 1:], rule.shutdown) & is_alive).any()
    if not bool(stays):
        return None
    ahead = logs[:, :-1]
    log_score = torch.logsumexp(ahead + log_scores, dim=-1)
    return Weighed(ahead, log_score, logs[:, -1])
