"""A class that was not declared: the model gains a class, which starts from the prior.

Softmax sees only differences between latent functions. So a binary model, whose one latent function f is the log odds
of class 1 over class 0, becomes a model with the two latent functions -f/2 and f/2: means halved, and each with half
the variance, because the variances of independent functions add up in their difference. A further class has the prior
mean zero; it shares the covariance of the others, as all classes of an expert do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from iegp.core.lags import CLASS, Lags
from iegp.core.likelihoods import likelihood_code
from iegp.core.model import Online
from iegp.core.state import Ensemble, State
from iegp.errors import InputError
from iegp.typing import Float

# Another stream of random numbers than that of the draws made at the start.
_NEW_DRAWS = 4


def add_class(model: Online) -> Online:
    """The same model with one class more, numbered last. Odds between the classes it knew stay as they were."""
    likelihood = model.settings.likelihood
    if likelihood not in ("bernoulli-logit", "categorical"):
        raise InputError(f"a model with the likelihood {likelihood!r} cannot grow a class; it must be named beforehand")
    ensemble, state = model.experts.ensemble, model.state.copy()
    if likelihood == "bernoulli-logit":
        ensemble, state = _as_two_functions(ensemble, state)
    ensemble, state = _with_one_more(ensemble, state)
    return replace(
        model,
        settings=replace(model.settings, likelihood="categorical"),
        experts=model.experts._replace(ensemble=ensemble),
        state=state,
        batch=None,
        waiting=None if model.waiting is None else model.waiting.forgotten(ensemble),
    )


def _as_two_functions(ensemble: Ensemble, state: State) -> tuple[Ensemble, State]:
    drifting, layout = ensemble.drifts, ensemble.layout
    # A covariance is halved, a square-root information factor grows by sqrt(2), and so does its image of the mean.
    matrix = state.matrix * np.repeat(np.where(drifting, 0.5, np.sqrt(2.0)), np.diff(layout.matrix))
    half = state.vector * np.repeat(np.where(drifting, 0.5, np.sqrt(0.5)), layout.n_features)[:, None]
    grown = ensemble._replace(
        likelihood=likelihood_code("categorical"),
        drift=0.5 * ensemble.drift,
        prior_ratio=0.5 * ensemble.prior_ratio,
        noise_var=np.ones((ensemble.n_beliefs, 2)),
        link=np.zeros((ensemble.n_beliefs, 2)),
        nodes=_one_more_row(ensemble.nodes),
    )
    scale = np.ones((ensemble.n_experts, 2))
    vector = np.concatenate([-half, half], axis=1)
    return grown, state._replace(matrix=matrix, vector=vector, noise_scale=scale, far=np.zeros(4), spread=np.ones(2))


def _with_one_more(ensemble: Ensemble, state: State) -> tuple[Ensemble, State]:
    n_beliefs = ensemble.n_beliefs
    grown = ensemble._replace(
        noise_var=np.concatenate([ensemble.noise_var, np.ones((n_beliefs, 1))], axis=1),
        link=np.concatenate([ensemble.link, np.zeros((n_beliefs, 1))], axis=1),
        nodes=_one_more_row(ensemble.nodes),
        lags=_with_mean_class(ensemble.lags),
    )
    new = np.zeros((len(state.vector), 1))
    return grown, state._replace(
        vector=np.concatenate([state.vector, new], axis=1),
        noise_scale=np.concatenate([state.noise_scale, np.ones((ensemble.n_experts, 1))], axis=1),
        far=np.append(state.far, 0.0),
        spread=np.append(state.spread, 1.0),
    )


def _with_mean_class(lags: Lags) -> Lags:
    """As an input of later rows the new class counts as the mean label, until experts are fitted anew."""
    if lags.kind != CLASS:
        return lags
    return lags._replace(table=np.concatenate([lags.table, np.zeros((1, lags.table.shape[1]))]))


def _one_more_row(nodes: Float) -> Float:
    """Monte Carlo draws for one latent function more, none where none are used."""
    drawn = np.random.default_rng((len(nodes), _NEW_DRAWS)).standard_normal((1, nodes.shape[1]))
    return np.concatenate([nodes, drawn])
