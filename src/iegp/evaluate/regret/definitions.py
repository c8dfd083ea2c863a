"""Static and switching regret, as the paper defines them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from iegp.errors import InputError
from iegp.evaluate.regret.bounds import lemma1
from iegp.evaluate.regret.comparators import Comparator, best_expert, best_function, best_parameter
from iegp.evaluate.regret.losses import Likelihood
from iegp.evaluate.regret.sequences import best_switching_sequence
from iegp.typing import Float


def static_regret(losses: Float, comparators: Sequence[Comparator]) -> float:
    """R^ST(T) (eq:static_regret): the ensemble's online losses minus those of the best fixed function.

    ``losses`` (T,) are minus the log scores of a run; ``comparators`` are each expert's best function on the same rows,
    the best of which (eq:f_star) is compared with.
    """
    chosen = comparators[best_expert(comparators)]
    return float(_alike(losses, chosen.losses).sum() - chosen.losses.sum())


def switching_regret(losses: Float, expert_losses: Float, max_switches: int | None = None) -> float:
    """R^SW(T) (eq:regret_tr): minus the least sum over sequences of experts, of at most ``max_switches`` switches.

    ``expert_losses`` (T, M) are the losses of each expert's fixed function, or their online losses for the regret of
    Lemma 2. ``None`` lets the sequence switch at every row.
    """
    limit = len(losses) if max_switches is None else max_switches
    if limit >= len(losses) - 1:
        best = float(np.min(expert_losses, axis=1).sum())
    else:
        best = float(best_switching_sequence(expert_losses, limit).running[-1])
    return float(_alike(losses, np.asarray(expert_losses)[:, 0]).sum()) - best


class Curve(NamedTuple):
    """Regret after some numbers of rows, with what the bound allows there."""

    n_rows: Float
    regret: Float
    bound: Float


def static_curve(
    losses: Float,
    features: Sequence[Float],
    y: Float,
    prior_vars: Sequence[float],
    likelihoods: Sequence[Likelihood],
    n_rows: Sequence[int],
) -> Curve:
    """Regret against the best random-feature parameter, and Lemma 1, after each of ``n_rows`` rows.

    ``features[m]`` is (T, F) of expert m. The comparator is found anew for every number of rows, as the definition
    says: it knows just the rows it is judged on.
    """
    odd = [phi.shape[1] for phi in features if phi.shape[1] % 2 or phi.shape[1] == 0]
    if odd:
        raise InputError(f"features with {odd[0]} columns; random features come in pairs, a sine and a cosine each")
    regret, bound = [], []
    for n in n_rows:
        own = [
            best_parameter(phi[:n], y[:n], prior, likelihood)
            for phi, prior, likelihood in zip(features, prior_vars, likelihoods, strict=True)
        ]
        m = best_expert(own)
        regret.append(static_regret(losses[:n], own))
        bound.append(
            lemma1(
                theta_norm_squared=2.0 * prior_vars[m] * own[m].penalty,
                prior_var=prior_vars[m],
                n_rows=n,
                n_frequencies=features[m].shape[1] // 2,
                n_experts=len(features),
                curvature=likelihoods[m].curvature,
            )
        )
    return Curve(np.asarray(n_rows, dtype=np.float64), np.asarray(regret), np.asarray(bound))


def rkhs_curve(
    losses: Float, grams: Sequence[Float], y: Float, likelihoods: Sequence[Likelihood], n_rows: Sequence[int]
) -> Curve:
    """Regret against the best function of the experts' RKHSs (eq:static_regret); Theorem 1's bound is not computed."""
    regret = []
    for n in n_rows:
        own = [best_function(gram[:n, :n], y[:n], one) for gram, one in zip(grams, likelihoods, strict=True)]
        regret.append(static_regret(losses[:n], own))
    return Curve(np.asarray(n_rows, dtype=np.float64), np.asarray(regret), np.full(len(n_rows), np.nan))


def _alike(losses: Float, others: Float) -> Float:
    values = np.asarray(losses, dtype=np.float64)
    if values.shape != others.shape:
        raise InputError(f"losses has shape {values.shape}, the comparator {others.shape}; score both on the same rows")
    return values
