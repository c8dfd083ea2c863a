"""A level between, below or above ordered classes that nobody declared: the model goes on with one cut-point more.

The latent function and everything learned about it stay. Only a piece of the line is given to the new level: next to
its neighbours, and as wide as the share of rows that it may be expected to have, having been seen once.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy import stats

from iegp.core.likelihoods import ORDINAL_LOGIT, ORDINAL_PROBIT
from iegp.core.online import Online
from iegp.errors import InputError
from iegp.typing import Float

# A new level at either end leaves about half of what lay beyond the last cut-point to the level that had it.
_HALF_OF_THE_TAIL = math.log(2.0)
# Half the width of a level in the middle is at most this, in units of the latent function.
_WIDEST = 1.0


def add_level(model: Online, place: int) -> Online:
    """The same model with one level more, numbered ``place``; those from there on move up by one."""
    _require_order(model)
    ensemble = model.experts.ensemble
    share = 1.0 / (model.n_seen + ensemble.n_classes + 1)
    noise = stats.logistic if ensemble.likelihood == ORDINAL_LOGIT else stats.norm
    cuts = np.stack([_with_level(own, place, share, noise) for own in ensemble.link])
    return replace(
        model,
        experts=model.experts._replace(ensemble=ensemble._replace(link=np.ascontiguousarray(cuts))),
        kept_y=model.kept_y + (model.kept_y >= place),
    )


def mirrored(model: Online) -> Online:
    """The same model with its levels in the opposite order: latent function and cut-points change their sign."""
    _require_order(model)
    ensemble = model.experts.ensemble
    return replace(
        model,
        experts=model.experts._replace(ensemble=ensemble._replace(link=np.ascontiguousarray(-ensemble.link[:, ::-1]))),
        state=model.state._replace(vector=-model.state.vector),
        kept_y=ensemble.n_classes - 1 - model.kept_y,
    )


def _require_order(model: Online) -> None:
    if model.experts.ensemble.likelihood not in (ORDINAL_LOGIT, ORDINAL_PROBIT):
        raise InputError(f"a model with the likelihood {model.settings.likelihood!r} has no ordered levels")


def _with_level(cuts: Float, place: int, share: float, noise: stats.rv_continuous) -> Float:
    """Increasing cut-points (K - 1,) and one more."""
    if place == 0:
        return np.concatenate([[min(noise.ppf(share), cuts[0] - _HALF_OF_THE_TAIL)], cuts])
    if place > len(cuts):
        return np.concatenate([cuts, [max(noise.isf(share), cuts[-1] + _HALF_OF_THE_TAIL)]])
    cut = cuts[place - 1]
    # As much to either side as gives the share, but no more than half of what a neighbour has.
    density = max(float(noise.pdf(cut)), np.finfo(np.float64).tiny)
    room = np.diff(cuts)[max(place - 2, 0) : place]
    half = min([0.5 * share / density, _WIDEST, *(0.5 * room)])
    return np.concatenate([cuts[: place - 1], [cut - half, cut + half], cuts[place:]])
