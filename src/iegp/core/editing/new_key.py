"""What a new key starts from: what was learned from rows of other keys, counted as a few rows.

Rows of many keys say what a key is like on average, not what this one is like. A copy of the posterior after n rows
would need about n rows of the key to move as far. So the information that rows have added to the prior is multiplied by
``n_rows / n`` (a power prior, in which the means stay).

Differences between keys also look like noise where the rows of all keys are fitted together, and prior variances may
come out as nearly zero. Beliefs that do not drift start from at least the prior variance that serves before there are
rows to fit; drifting ones keep what was fitted, and the weights decide between the two.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from iegp.core.compute.tolerances import DEFAULT_NOISE_VAR, DEFAULT_PRIOR_VAR
from iegp.core.expert.belief import Belief, is_moving, moments
from iegp.core.model import Online
from iegp.core.state import belief_at, drift_at
from iegp.typing import Float


def first_ratio(prior_ratio: float) -> float:
    """The prior variance over the noise variance with which a static expert of a new key starts."""
    return max(prior_ratio, DEFAULT_PRIOR_VAR / DEFAULT_NOISE_VAR)


def for_new_keys(model: Online, n_rows: float) -> Online:
    """The model with what it has learned counted as ``n_rows`` rows; noise and weights stay. ``model`` is not changed.

    A model that has learned no more rows than that is only given the prior variances.
    """
    ensemble, state = model.experts.ensemble, model.state.copy()
    share = min(1.0, n_rows / max(float(state.rows[0]), 1.0))
    for number, prior_ratio in enumerate(ensemble.prior_ratio):
        own, drift = belief_at(ensemble.layout, state, number), drift_at(ensemble, number)
        weaker = _weaker(own, drift, float(prior_ratio), share)
        own.matrix[...], own.vector[...] = weaker
    return replace(model, state=state)


def _weaker(own: Belief, drift: Float, prior_ratio: float, share: float) -> Belief:
    """A belief of the same form and mean with this share of what it knows beyond the prior."""
    mean, cov = moments(own, drift)
    variances, axes = np.linalg.eigh(0.5 * (cov + cov.T))
    # Rounding, and a walk longer than what rows have taught, leave less information than the prior's.
    learned = np.maximum(1.0 / np.maximum(variances, np.finfo(float).tiny) - 1.0 / prior_ratio, 0.0)
    if is_moving(drift):
        return Belief((axes / (1.0 / prior_ratio + share * learned)) @ axes.T, mean)
    root = np.sqrt(1.0 / first_ratio(prior_ratio) + share * learned)[:, None] * axes.T
    factor: Float = np.asarray(np.linalg.qr(root, mode="r"))
    factor = np.triu(factor * np.where(np.diagonal(factor) < 0.0, -1.0, 1.0)[:, None])
    return Belief(factor, factor @ mean)
