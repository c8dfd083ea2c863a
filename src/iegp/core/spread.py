"""How widely a mixture of Gaussian labels is spread, learned from its labels.

A weighted sum of predictive distributions, each of which is as wide as its own errors, is wider than the errors of the
mixture, because these partly cancel (Gneiting and Ranjan, 2013); answers to rows whose labels come late may be too
narrow. So all experts of the mixture share one more factor for every output, the *spread*: the squared scale of each
expert is multiplied by it. A label with the predicted distribution function p has the normal score z, with
``p = normal_cdf(z)``. The mean square of z is one where predictions are as wide as errors, so a label *asks for* the
spread times z², and the spread moves a thousandth of the way there: it follows the last thousand labels.

Means, weights and noise levels are not touched: experts learn as if there were no spread. It begins at one after the
warm-up, because the replay of rows that hyperparameters were fitted to errs less than later rows do.
"""

from __future__ import annotations

import math

import numpy as np

from iegp._compile import compiled
from iegp.core.compute.normal import normal_quantile
from iegp.core.compute.tolerances import LARGEST_SPREAD, MOST_ASKED, NEGLIGIBLE_TAIL_SHARE, SPREAD_STEP
from iegp.core.expert.sweep import Workspace
from iegp.core.predictions import Predictions
from iegp.core.predictive.student import student_cdf_pdf, student_log_kernel, student_log_normaliser
from iegp.core.state import State
from iegp.core.weights import log_add_exp
from iegp.typing import Float

# Probability beyond the farthest score that counts; and the weight of an expert that cannot change such a tail.
_TAIL = 0.5 * math.erfc(math.sqrt(0.5 * MOST_ASKED))
_NEGLIGIBLE = NEGLIGIBLE_TAIL_SHARE * _TAIL


@compiled
def follow_spread(state: State, work: Workspace, predictions: Predictions, shares: Float) -> None:
    """Spread and score the mixture of every row, then learn from its label, in order.

    Labels count by ``shares`` (n,), one each as a rule.
    """
    asked = np.empty(work.y.shape[1])
    for t in range(work.y.shape[0]):
        spread_row(state.spread, work, predictions, t, asked)
        learn_spread(state, asked, shares[t])


@compiled
def spread_row(spread: Float, work: Workspace, predictions: Predictions, t: int, asked: Float) -> None:
    """Spread the mixture of row ``t`` and score it; ``asked`` (D,) becomes the spread that its label asks for."""
    scales, dof, used, y = work.scales[t], work.dof[t], predictions.weights[t], work.y[t]
    n_noise, total = dof.size, -math.inf
    normaliser = np.empty(n_noise)
    for k in range(n_noise):
        normaliser[k] = student_log_normaliser(dof[k])
    asked[:] = 0.0
    for e in range(used.size):
        k, means = e % n_noise, work.means[e // n_noise, t]
        joint = math.log(used[e]) if used[e] > 0.0 else -math.inf
        for d in range(y.size):
            scales[e, d] *= math.sqrt(spread[d])
            if used[e] > 0.0:
                joint += normaliser[k] + student_log_kernel(y[d] - means[d], scales[e, d], dof[k])
            if used[e] > _NEGLIGIBLE:
                asked[d] += used[e] * student_cdf_pdf((y[d] - means[d]) / scales[e, d], dof[k], normaliser[k])[0]
        total = log_add_exp(total, joint)
    predictions.log_score[t] = total
    for d in range(y.size):
        score = normal_quantile(min(max(asked[d], _TAIL), 1.0 - _TAIL))
        asked[d] = spread[d] * min(score * score, MOST_ASKED)


@compiled
def learn_spread(state: State, asked: Float, share: float) -> None:
    """Move towards what a label asks for, as far as with so many labels of its kind; NaN asks for nothing."""
    step = SPREAD_STEP if share == 1.0 else 1.0 - (1.0 - SPREAD_STEP) ** share
    for d in range(asked.size):
        if asked[d] == asked[d]:
            moved = state.spread[d] + step * (asked[d] - state.spread[d])
            state.spread[d] = min(max(moved, 1.0 / LARGEST_SPREAD), LARGEST_SPREAD)
