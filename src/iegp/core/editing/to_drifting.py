"""From static experts that learned a history to experts that follow a stream.

Every drifting expert starts from the posterior of the static expert with its kernel, as a mean and a covariance. The
noise starts at the level that was found.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import solve_triangular

from iegp.core import ensemble as ens
from iegp.core.compute.tolerances import EVEN_SHARE
from iegp.core.expert import noise
from iegp.core.fitting.experts import with_other_drifts
from iegp.core.likelihoods import GAUSSIAN
from iegp.core.model import Online
from iegp.core.settings import Settings
from iegp.core.state import Ensemble, State, belief_at
from iegp.errors import InputError
from iegp.typing import Float


def to_drifting(model: Online, settings: Settings) -> Online:
    """A model with the drifts, weights and noise models of ``settings`` that knows what ``model`` has learned.

    ``model`` must be static and past its warm-up; it is not changed. ``settings`` must share its kernels.
    """
    ensemble = model.experts.ensemble
    if ensemble.likelihood != GAUSSIAN:
        raise InputError(
            f"cannot go live with the likelihood {model.settings.likelihood!r}: only static regression can; "
            "use drift_var=(...) from the start"
        )
    if model.settings.delay:
        raise InputError(
            f"cannot go live with delay={model.settings.delay}: use delay=0, or drift_var=(...) from the start"
        )
    if model.is_warming_up:
        raise InputError(
            f"cannot go live before the warm-up is over ({len(model.kept_x)} of {model.settings.warmup} rows): "
            "nothing is settled yet. Call warm_up(X, y), or learn the remaining rows first"
        )
    if np.any(ensemble.drift > 0.0):
        raise InputError(
            f"cannot go live: some experts drift already ({model.settings.what_drifts}). Go live from a model "
            "with drift_var=0.0 (in terms of kernels, too), or continue with this one"
        )
    experts = with_other_drifts(settings, model.experts, model.inputs, _noise_of_kernels(model))
    state = _state(ensemble, model.state, experts.ensemble)
    return replace(model, settings=settings, experts=experts, state=state, batch=None)


def _noise_of_kernels(model: Online) -> Float:
    """(n_kernels, D): the noise level of each kernel's expert of most weight."""
    ensemble, state = model.experts.ensemble, model.state
    levels = noise.level(noise.Noise(state.noise_shape, state.noise_scale), ensemble.tails, ensemble.noise_of)
    n_kernels = ensemble.n_kernels
    best = state.log_weights.reshape(n_kernels, -1).argmax(axis=1)
    return np.asarray(levels.reshape(n_kernels, -1, levels.shape[1])[np.arange(n_kernels), best])


def _state(ensemble: Ensemble, learned: State, live: Ensemble) -> State:
    state = ens.start(live)
    for b, (kernel, drifts) in enumerate(zip(live.layout.kernel_of, live.drifts, strict=True)):
        factor, vector = belief_at(ensemble.layout, learned, ensemble.layout.beliefs[kernel])
        own = belief_at(live.layout, state, b)
        if drifts:
            inverse = solve_triangular(factor, np.eye(len(factor)))
            own.matrix[...] = inverse @ inverse.T
            own.vector[...] = inverse @ vector
        else:
            own.matrix[...], own.vector[...] = factor, vector
    weights = np.exp(learned.log_weights).reshape(ensemble.n_kernels, -1).sum(axis=1)
    n_each = live.n_experts // len(weights)
    even = EVEN_SHARE / live.n_experts + (1.0 - EVEN_SHARE) * np.repeat(weights / weights.sum(), n_each) / n_each
    return state._replace(log_weights=np.log(even), rows=learned.rows.copy(), recent=learned.recent.copy())
