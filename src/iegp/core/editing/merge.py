"""Exact merging and unlearning: two models that learned two streams become the one that learned both.

For static Gaussian experts the order of rows does not matter: an expert's belief is a sum of information, and the
product of its one-step-ahead predictives is the marginal likelihood of all its rows, hence the Bayes weight. Merging
two models stacks their factors ``[R z]`` and takes that of their common ancestor away once. Because both hold the
ancestor, at least half of the information in every direction stays: that downdate is always well conditioned.

The marginal likelihood of two streams is *not* the product of those of the parts (the second is easier to predict after
the first); what is missing follows in closed form from the determinants of the factors, from how far they disagree, and
from the noise. The common constants that normalised weights have lost cancel.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from iegp.core.compute.threads import one_blas_thread
from iegp.core.compute.tolerances import ANCESTOR_SLACK, MIN_SHARE_LEFT
from iegp.core.editing.information import Factor, remove, share_of, stack
from iegp.core.editing.merge_checks import check_mergeable, check_same_origin
from iegp.core.ensemble import start
from iegp.core.expert.noise import learned_evidence
from iegp.core.features import feature_rows
from iegp.core.model import Online
from iegp.core.state import Ensemble, State, belief_at
from iegp.core.weights import log_sum_exp
from iegp.errors import InputError
from iegp.typing import Bool, Float


def merged(first: Online, second: Online, since: Online | None = None) -> Online:
    """A model that has learned the rows of both; neither is changed. O(F³) per belief, whatever the number of rows.

    ``since`` is the model both are forks of; without it they must stem from the same warmed-up model that had learned
    nothing (or one of them from that model after learning its warm-up rows).
    """
    check_same_origin(first, second, since)
    ensemble = first.experts.ensemble
    if since is not None:
        _check_ancestor(ensemble, since.state, first.state, second.state)
    origin = start(ensemble) if since is None else since.state
    state = merged_states(ensemble, first.state, second.state, origin)
    # With an ancestor, its warm-up rows are in all models; without one, in the models that learned any.
    n_learned = max(first.n_warmup_learned, second.n_warmup_learned)
    return replace(first, state=state, n_warmup_learned=n_learned, batch=None)


def merged_states(ensemble: Ensemble, first: State, second: State, origin: State) -> State:
    """Merge two states, which must both contain ``origin``."""
    n_beliefs, n_outputs = ensemble.n_beliefs, first.vector.shape[1]
    result = first.copy()
    log_det, misfit = np.empty(n_beliefs), np.empty((n_beliefs, n_outputs))
    with one_blas_thread():
        for b in range(n_beliefs):
            one, two, common = (factor_at(ensemble, state, b) for state in (first, second, origin))
            both, disagreement = stack(one, two)
            left = remove(both, common.matrix, common.vector)
            _write(factor_at(ensemble, result, b), left.factor)
            log_det[b] = one.log_det() + two.log_det() - common.log_det() - left.factor.log_det()
            misfit[b] = disagreement - left.misfit
    log_det, misfit = log_det[ensemble.belief_of], misfit[ensemble.belief_of]
    learns = _learns_noise(ensemble)
    shape = first.noise_shape.copy()
    shape[learns] += second.noise_shape[learns] - origin.noise_shape[learns]
    learned = learns[ensemble.noise_of, None]
    added = first.noise_scale - origin.noise_scale + second.noise_scale + 0.5 * misfit
    scale = np.where(learned, added, first.noise_scale)
    reference = _noise_level(ensemble, shape, scale)
    together = _learned_evidence(ensemble, shape, scale, reference)
    apart = [
        _learned_evidence(ensemble, state.noise_shape, state.noise_scale, reference)
        for state in (first, second, origin)
    ]
    change = together - apart[0] - apart[1] + apart[2]
    gain = np.where(learned, change, -0.5 * misfit / scale).sum(axis=1)
    log_weights = _sum_of_weights(first, second, origin) + n_outputs * log_det + gain
    rows = first.rows + second.rows - origin.rows
    return State(
        *result[:2], shape, scale, log_weights - log_sum_exp(log_weights), rows, first.recent, first.far, first.spread
    )


def unlearned(model: Online, x: Float, y: Float) -> Online:
    """The model without rows that it has learned, as if they had never come; ``model`` is not changed.

    Scaling and hyperparameters stay as they are. Raises where rows cannot have been learned, and where taking them out
    would cost too many digits. O(n F² + F³) per belief.
    """
    check_mergeable(model, "unlearn")
    if model.n_seen - len(x) < model.n_warmup_learned:
        raise InputError(
            f"{len(x)} rows cannot be unlearned: the model has learned {model.n_seen}, of which "
            f"{model.n_warmup_learned} in its warm-up, which must stay. Pass only rows learned after it"
        )
    ensemble, before = model.experts.ensemble, model.state
    x, y = model.scaling.standardise_x(x, model.fills_gaps), model.scaling.standardise_y(y)
    n_beliefs, n_outputs = ensemble.n_beliefs, y.shape[1]
    result = before.copy()
    log_det, misfit = np.empty(n_beliefs), np.empty((n_beliefs, n_outputs))
    with one_blas_thread():
        for b, kernel in enumerate(ensemble.layout.kernel_of):
            whole = factor_at(ensemble, before, b)
            left = remove(whole, feature_rows(x, ensemble.kernel_basis(kernel)), y)
            _check_left(b, left.share_left, left.factor, float(ensemble.prior_ratio[b]))
            _write(factor_at(ensemble, result, b), left.factor)
            log_det[b] = whole.log_det() - left.factor.log_det()
            misfit[b] = left.misfit
    log_det, misfit = log_det[ensemble.belief_of], misfit[ensemble.belief_of]
    learns = _learns_noise(ensemble)
    learned = learns[ensemble.noise_of, None]
    shape = np.where(learns, before.noise_shape - 0.5 * len(x), before.noise_shape)
    scale = np.where(learned, before.noise_scale - 0.5 * misfit, before.noise_scale)
    _check_noise_left(start(ensemble).noise_scale, scale, learned)
    # The noise level of what is left; for fixed noise its scale itself.
    reference = _noise_level(ensemble, shape, scale)
    change = _learned_evidence(ensemble, shape, scale, reference) - _learned_evidence(
        ensemble, before.noise_shape, before.noise_scale, reference
    )
    gain = 0.5 * len(x) * np.log(reference) + np.where(learned, change, 0.5 * misfit / scale)
    log_weights = before.log_weights + n_outputs * log_det + gain.sum(axis=1)
    rows = before.rows - len(x)
    state = State(
        *result[:2],
        shape,
        scale,
        log_weights - log_sum_exp(log_weights),
        rows,
        before.recent,
        before.far,
        before.spread,
    )
    return replace(model, state=state, batch=None)


def factor_at(ensemble: Ensemble, state: State, b: int) -> Factor:
    """The information of one belief: a view."""
    return Factor(*belief_at(ensemble.layout, state, b))


def _write(target: Factor, source: Factor) -> None:
    target.matrix[...], target.vector[...] = source


def _learns_noise(ensemble: Ensemble) -> Bool:
    """(n_noise,): whether a noise model learns."""
    return ~np.isnan(ensemble.forgetting)


def _noise_level(ensemble: Ensemble, shape: Float, scale: Float) -> Float:
    """(n_experts, D)"""
    return np.asarray(scale / np.where(_learns_noise(ensemble), shape, 1.0)[ensemble.noise_of, None])


def _learned_evidence(ensemble: Ensemble, shape: Float, scale: Float, reference: Float) -> Float:
    """(n_experts, D); without meaning where noise is fixed."""
    finite = np.where(_learns_noise(ensemble), shape, 1.0)
    return learned_evidence(finite[ensemble.noise_of, None], scale, reference)


def _sum_of_weights(first: State, second: State, origin: State) -> Float:
    """Log weights up to a constant. An expert that one of them found impossible stays impossible."""
    dead = np.isneginf(first.log_weights) | np.isneginf(second.log_weights)
    with np.errstate(invalid="ignore"):
        return np.where(dead, -np.inf, first.log_weights - origin.log_weights + second.log_weights)


def _check_ancestor(ensemble: Ensemble, origin: State, *states: State) -> None:
    """A model that learned all that the ancestor learned has at least its information, in every direction."""
    for state in states:
        for b in range(ensemble.n_beliefs):
            common, own = (factor_at(ensemble, s, b) for s in (origin, state))
            if not share_of(common, own) <= 1.0 + ANCESTOR_SLACK:
                raise InputError(
                    f"cannot merge: the ancestor knows things that a model does not (expert {b}), so the model is no "
                    "fork of it. Pass as since= the model that both were copied from, as it was then"
                )


def _check_left(expert: int, share_left: float, left: Factor, prior_ratio: float) -> None:
    if share_left > MIN_SHARE_LEFT:
        # What every expert started with must still be there.
        weakest = float(np.linalg.svd(left.matrix, compute_uv=False)[-1]) ** 2 * prior_ratio
        if weakest >= 1.0 - ANCESTOR_SLACK:
            return
        reason = f"only {weakest:.3g} of the prior would be left"
    elif share_left > -ANCESTOR_SLACK:
        raise InputError(
            f"these rows cannot be unlearned: they are almost all that expert {expert} knows in some direction (a "
            f"share of {max(share_left, 0.0):.1g} would be left, at least {MIN_SHARE_LEFT:g} is needed), so the result "
            "would be rounding errors. Unlearn fewer rows, or learn the others anew"
        )
    else:
        reason = "more information would go than there is"
    raise InputError(
        f"these rows cannot be unlearned: they were not all learned ({reason} in expert {expert}). Pass rows exactly "
        "as they were learned, each as often; the model is unchanged"
    )


def _check_noise_left(least: Float, scale: Float, learned: Bool) -> None:
    if np.any(learned & (scale < least * (1.0 - ANCESTOR_SLACK))):
        raise InputError(
            "these rows cannot be unlearned: they have larger errors than all that was learned, so their labels are "
            "not those that were learned. Pass rows exactly as they were learned; the model is unchanged"
        )
