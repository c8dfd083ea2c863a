"""A level between, below or above ordered classes that was not declared: the model gains a cut-point.

The latent function and everything learned about it stay. Only a piece of the line is given to the new level. Between
two others it lies around the cut-point, where they were equally probable, wide enough to become the most probable one
there, but no neighbour gives away more than half. At either end it begins where the prior would have one row of all
those seen. Cut-points move no more after the warm-up; the function does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from iegp.core.compute.tolerances import NARROWEST_LEVEL, NEW_LEVEL_HALF_WIDTH
from iegp.core.lags import Lags
from iegp.core.likelihoods import LIKELIHOODS
from iegp.core.likelihoods.ordinal import Ordinal
from iegp.core.model import Online
from iegp.errors import InputError
from iegp.typing import Float


def add_level(model: Online, place: int) -> Online:
    """The same model with one level more, numbered ``place``; those from there on move up by one.

    ``model`` itself is left as it was, but shares its beliefs with the result.
    """
    likelihood, ensemble = _ordinal(model), model.experts.ensemble
    # Latent function and noise together, before any row: they have the shape of the noise, more or less.
    spread = np.sqrt(1.0 + ensemble.prior_ratio / likelihood.noise_var)
    far = -spread * likelihood.noise_quantile(1.0 / (model.n_seen + ensemble.n_classes + 1))
    cuts = np.stack([_with_level(*own, place) for own in zip(ensemble.link, far, strict=True)])
    waiting, seen = model.waiting, model.warmup_labels
    if waiting is not None:
        waiting = waiting._replace(y=waiting.y + (waiting.y >= place)).forgotten(ensemble)
    return replace(
        model,
        experts=model.experts._replace(
            ensemble=ensemble._replace(link=np.ascontiguousarray(cuts), lags=_lags_with_level(ensemble.lags, place))
        ),
        kept_y=model.kept_y + (model.kept_y >= place),
        warmup_labels=None if seen is None else seen + (seen >= place),
        waiting=waiting,
    )


def mirrored(model: Online) -> Online:
    """The same model with its levels in the opposite order: latent function and cut-points change their sign."""
    _ordinal(model)
    ensemble, waiting, seen = model.experts.ensemble, model.waiting, model.warmup_labels
    return replace(
        model,
        experts=model.experts._replace(
            ensemble=ensemble._replace(
                link=np.ascontiguousarray(-ensemble.link[:, ::-1]),
                # Labels that were numbered from the other end; rows that saw them see the same numbers.
                lags=ensemble.lags._replace(table=np.ascontiguousarray(ensemble.lags.table[::-1])),
            )
        ),
        state=model.state._replace(vector=-model.state.vector),
        kept_y=ensemble.n_classes - 1 - model.kept_y,
        warmup_labels=None if seen is None else ensemble.n_classes - 1 - seen,
        waiting=None if waiting is None else waiting._replace(y=ensemble.n_classes - 1 - waiting.y),
    )


def _lags_with_level(lags: Lags, place: int) -> Lags:
    """As an input of later rows the new level lies between its neighbours, or as far out as the last step."""
    table = lags.table
    if not len(table):
        return lags
    if place == 0:
        new = 2.0 * table[0] - table[1]
    elif place == len(table):
        new = 2.0 * table[-1] - table[-2]
    else:
        new = 0.5 * (table[place - 1] + table[place])
    return lags._replace(table=np.insert(table, place, new, axis=0))


def _ordinal(model: Online) -> Ordinal:
    likelihood = LIKELIHOODS.get(model.settings.likelihood)
    if not isinstance(likelihood, Ordinal):
        raise InputError(f"a model with the likelihood {model.settings.likelihood!r} has no ordered levels")
    return likelihood


def _with_level(cuts: Float, far: float, place: int) -> Float:
    """Increasing cut-points (K - 1,) and one more: ``far`` out if at either end, else two in place of one."""
    if place == 0:
        return np.concatenate([[min(-far, cuts[0] - NARROWEST_LEVEL)], cuts])
    if place > len(cuts):
        return np.concatenate([cuts, [max(far, cuts[-1] + NARROWEST_LEVEL)]])
    cut = cuts[place - 1]
    gaps = np.diff(cuts)[max(place - 2, 0) : place]
    half = min([NEW_LEVEL_HALF_WIDTH, *(0.5 * gaps)])
    return np.concatenate([cuts[: place - 1], [cut - half, cut + half], cuts[place:]])
