"""Columns that have names, and columns that come later.

Each column's frequencies are drawn by its own key, and an absent value counts as the centre of its column, which is
zero once standardised. So a column that was never seen adds nothing to the angle of any feature: a model may grow one
at any time and every past feature vector stays what it was. Beliefs and weights need not change at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import replace
from numbers import Real

import numpy as np

from iegp.core.fitting.experts import Experts, expert_frequencies
from iegp.core.kernels import Kernel
from iegp.core.model import Online
from iegp.core.scaling import Scaling, magnitude
from iegp.errors import InputError
from iegp.typing import Float

# Keys of names that are not numbers lie above, those of numbers below.
FIRST_NAMED = 2**62


def column_key(name: Hashable) -> int:
    """The number by which a column of this name is known, in every process and version.

    A whole number that is not negative is its own key, so that ``{0: ..., 1: ...}`` has the columns of an array. All
    other names get 62 bits of a hash.

    >>> column_key(3), column_key("3") > 2**62, column_key("3") == column_key("4")
    (3, True, False)
    """
    if isinstance(name, Real) and 0 <= name < FIRST_NAMED and name == int(name):
        return int(name)
    # Names that are equal as keys of a dictionary must be equal here, whatever their type shows.
    text = f"text {name}" if isinstance(name, str) else f"other {name!r}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return FIRST_NAMED + (int.from_bytes(digest[:8], "big") >> 2)


def add_columns(model: Online, keys: Sequence[int], first_values: Float) -> Online:
    """The same model with more columns, in this order after its own; ``first_values`` (len(keys),) are their first.

    A new column is centred at its first value and scaled by its size (1 if it is zero), until the next refit of a
    warm-up that is not over; without ``standardize`` it is taken as it is. Its length scale is the geometric mean of
    the others. ``model`` itself is left as it was, but shares its beliefs with the result.
    """
    if not model.fills_gaps:
        raise InputError("columns can only be added to a model that fills gaps; begin it with fills_gaps=True")
    if len(set(keys)) != len(keys) or not set(keys).isdisjoint(model.column_keys):
        raise InputError(f"columns {list(keys)!r:.80} are not all new and different; add each column once")
    all_keys = (*model.column_keys, *keys)
    kernels = tuple(_with_columns(kernel, model.n_columns, len(keys)) for kernel in model.experts.kernels)
    frequencies = [expert_frequencies(model.settings, kernel, i, all_keys) for i, kernel in enumerate(kernels)]
    ensemble = model.experts.ensemble._replace(frequencies=np.concatenate(frequencies))
    gap = np.full((len(model.kept_x), len(keys)), np.nan)
    return replace(
        model,
        scaling=_with_values(model.scaling, np.asarray(first_values), model.settings.standardize),
        experts=Experts(kernels, ensemble),
        kept_x=np.concatenate([model.kept_x, gap], axis=1),
        column_keys=all_keys,
    )


def _with_columns(kernel: Kernel, n_columns: int, n_new: int) -> Kernel:
    """A kernel with numbers for length scales, and as many as there will be columns."""
    if isinstance(kernel.length_scale, float):
        return kernel
    scales = kernel.scales(n_columns)
    typical = np.exp(np.log(scales).mean())
    return replace(kernel, length_scale=(*scales.tolist(), *[float(typical)] * n_new), stretch=1.0)


def _with_values(scaling: Scaling, values: Float, standardize: bool) -> Scaling:
    mean, scale = (values, magnitude(values)) if standardize else (np.zeros_like(values), np.ones_like(values))
    return scaling._replace(
        x_mean=np.concatenate([scaling.x_mean, mean]), x_scale=np.concatenate([scaling.x_scale, scale])
    )
