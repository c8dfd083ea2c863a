"""Columns that have names, and columns that come later.

Each column's frequencies are drawn by its own key, and an absent value counts as the centre of its column, which is
zero once standardised. So a column that was never seen adds nothing to the angle of any feature: a model may grow one
at any time and every past feature vector stays what it was. Beliefs and weights need not change at all. Terms with a
feature for each column (linear, periodic) keep the columns they have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from iegp.core.features import joined
from iegp.core.fitting.experts import Experts, kernel_basis
from iegp.core.kernels import Constant, Inputs, Kernel, Stationary, Sum, Term
from iegp.core.model import Online
from iegp.core.scaling import Scaling, magnitude
from iegp.errors import InputError
from iegp.typing import Float


def add_columns(model: Online, keys: Sequence[int], first_values: Float, past: Float | None = None) -> Online:
    """The same model with more columns, in this order after its own; ``first_values`` (len(keys),) are their first.

    A new column is centred at its first value and scaled by its size (1 if it is zero), until the next refit of a
    warm-up that is not over; without ``standardize`` it is taken as it is. Its length scale is the geometric mean of
    the others. ``past`` (len(keys),) is what rows before count as that are kept or wait; by default they have no value.
    ``model`` itself is left as it was, but shares its beliefs with the result.
    """
    if not model.fills_gaps:
        raise InputError("columns can only be added to a model that fills gaps; begin it with fills_gaps=True")
    if len(set(keys)) != len(keys) or not set(keys).isdisjoint(model.column_keys):
        raise InputError(f"columns {list(keys)!r:.80} are not all new and different; add each column once")
    all_keys = (*model.column_keys, *keys)
    scaling = _with_values(model.scaling, np.asarray(first_values), model.settings.standardize)
    inputs = Inputs.of(all_keys, scaling.x_scale, model.experts.ensemble.lags)
    kernels = tuple(_with_columns(kernel, model.inputs, len(keys)) for kernel in model.experts.kernels)
    bases = [kernel_basis(model.settings, kernel, i, inputs) for i, kernel in enumerate(kernels)]
    ensemble = model.experts.ensemble._replace(basis=joined(bases))
    past, waiting = np.full(len(keys), np.nan) if past is None else past, model.waiting
    if waiting is not None:
        waiting = waiting._replace(x=_with_past(waiting.x, model.n_columns, past))
    return replace(
        model,
        scaling=scaling,
        experts=Experts(kernels, ensemble),
        kept_x=_with_past(model.kept_x, model.n_columns, past),
        column_keys=all_keys,
        waiting=waiting,
    )


def _with_past(x: Float, place: int, past: Float) -> Float:
    """Rows with more columns at a place, in which all of them have the values ``past``."""
    return np.concatenate([x[:, :place], np.tile(past, (len(x), 1)), x[:, place:]], axis=1)


def _with_columns(kernel: Kernel, inputs: Inputs, n_new: int) -> Kernel:
    """A kernel with numbers for length scales, and as many as there will be columns."""
    terms = tuple(_term_with_columns(term, inputs, n_new) for term in kernel.terms)
    return terms[0] if len(terms) == 1 else Sum(terms)


def _term_with_columns(term: Term, inputs: Inputs, n_new: int) -> Term:
    if term.columns is not None or term.lags == "only":
        return term
    if not isinstance(term, Stationary) or not term.is_drawn:
        n_own = inputs.n_columns - inputs.n_lags
        return term if isinstance(term, Constant) else replace(term, columns=inputs.keys[:n_own])
    if isinstance(term.length_scale, float):
        return term
    scales = term.scales(len(term.places(inputs)))
    typical = np.exp(np.log(scales).mean())
    # Lags come last.
    grown = np.insert(scales, inputs.n_columns - inputs.n_lags, np.full(n_new, typical))
    return replace(term, length_scale=tuple(grown.tolist()), stretch=1.0)


def _with_values(scaling: Scaling, values: Float, standardize: bool) -> Scaling:
    mean, scale = (values, magnitude(values)) if standardize else (np.zeros_like(values), np.ones_like(values))
    return scaling._replace(
        x_mean=np.concatenate([scaling.x_mean, mean]), x_scale=np.concatenate([scaling.x_scale, scale])
    )
