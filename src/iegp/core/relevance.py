"""How much each input column matters to an ensemble, by the length scales of its kernels and the experts' weights."""

from __future__ import annotations

import numpy as np

from iegp.core.fitting.experts import term_shares
from iegp.core.kernels import Constant, Inputs, Kernel, Periodic, Stationary, Term
from iegp.core.model import Online
from iegp.core.scaling import varies
from iegp.typing import Float


def input_relevance(model: Online) -> Float:
    """Relevance of every input column, lags of the label last; it sums to one, or is zero where no expert sees any.

    An expert finds a column as relevant as its functions are steep along it: one over the squared length scale,
    relative to all its columns. The experts' weights average that. Length scales are those of the warm-up, in units of
    the standardised columns; the weights follow the stream. A column that was constant on the warm-up rows has no
    relevance: its length scale is not fitted to anything.

    Parameters
    ----------
    model : Online
        A model, at any row of a stream.

    Returns
    -------
    ndarray (d + n_lags,)
        Not negative; before the warm-up is over all columns are alike.
    """
    ensemble, inputs = model.experts.ensemble, model.inputs
    by_kernel = np.zeros(len(model.experts.kernels))
    np.add.at(by_kernel, ensemble.belief_of // ensemble.n_drifts, np.exp(model.state.log_weights))
    slopes = np.array([_of_kernel(kernel, inputs) for kernel in model.experts.kernels])
    if model.settings.standardize:
        slopes[:, : len(model.scaling.x_scale)] *= varies(model.scaling.x_scale)
        slopes = np.apply_along_axis(_to_one, 1, slopes)
    return _to_one(by_kernel @ slopes)


def _of_kernel(kernel: Kernel, inputs: Inputs) -> Float:
    """(n_columns,): expected squared slope of a function of the kernel along each column, relative to all."""
    slopes = np.zeros(inputs.n_columns)
    for share, term in zip(term_shares(kernel), kernel.terms, strict=True):
        places = term.places(inputs)
        slopes[places] += share * _of_term(term, inputs.scale[places])
    return _to_one(slopes)


def _of_term(term: Term, scale: Float) -> Float:
    """(n,): the same of one term, for the columns that it sees; ``scale`` is a standardised unit in their own units."""
    n = len(scale)
    if isinstance(term, Constant):
        return np.zeros(n)
    if isinstance(term, Stationary):
        return np.asarray(term.scales(n) ** -2.0 / (1 if term.is_drawn else n))
    if isinstance(term, Periodic):
        return np.asarray((2.0 * np.pi * scale / (term.period * term.length_scale)) ** 2 / n)
    # Linear, and terms that are not known here: all columns alike.
    return np.full(n, 1.0 / n)


def _to_one(values: Float) -> Float:
    total = values.sum()
    return np.asarray(values / total) if total > 0.0 else values
