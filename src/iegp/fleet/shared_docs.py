"""Descriptions that fleets and ensembles of several processes or on a GPU share, for :mod:`iegp._docstrings`."""

from __future__ import annotations

from iegp._docstrings import entries

FLEET = entries("""
keys : str, int or sequence of them (n,)
    One per row, or one for all. New keys start from the template.
X : array-like (n, d)
    Rows.
y : array-like (n,) or (n, D)
    Targets, in the shape that the template has learned.
level : float or None, default=None
    Probability of central intervals, which cost extra; ``None`` computes none.
return_std : bool, default=False
    Also return the standard deviation *of y*, observation noise included.
path : str or path
    The file; an existing one is replaced.
key : str or int
    A key of the fleet.
template_rows : float or None, default=None
    How many rows what the template has learned counts as in a new key: 1 where the keys of its rows differ in level or
    gain, with experts that do not drift given at least the prior variance of an unfitted model. ``None`` keeps all as
    it is, for keys that do not differ.
""") | {
    "keys_to_start_with": """\
keys : iterable of str or int, default=()
    Keys to start with; others are added with their first row.""",
    "keys_to_predict": """\
keys : str, int or sequence of them (n,)
    One per row, or one for all. A key that is not in the fleet is predicted by the template.""",
    "example_of_template": """\
Examples
--------
>>> import numpy as np
>>> from iegp import IEGPRegressor
>>> from iegp.kernels import RBF
>>> X = np.linspace(-3, 3, 200)[:, None]
>>> y = np.sin(X[:, 0])
>>> template = IEGPRegressor([RBF(1.0)], n_frequencies=10, robust=False, random_state=0).warm_up(X, y)""",
    "returns_run": """\
Returns
-------
FleetRun
    One prediction per row, in the order of the rows.""",
    "returns_means": """\
Returns
-------
ndarray, or a pair of them
    Predictive means in the shape and units of y, and standard deviations if ``return_std``.""",
    "returns_mixture": """\
Returns
-------
Mixture
    One distribution per row, in the units of y.""",
}

# PyTorch takes tensors too.
TORCH = FLEET | entries("""
X : array-like or tensor (n, d)
    Rows.
y : array-like or tensor (n,) or (n, D)
    Targets, in the shape that the template has learned.
level : float or None, default=None
    Probability of central intervals, which are computed on the CPU; ``None`` computes none.
dtype : {"float64", "float32"}, default="float64"
    How beliefs are stored and computed. Noise and weights are float64.
device : str, default="cuda"
    Device of the states, in PyTorch's notation: ``"cuda"``, ``"cuda:1"``, ``"cpu"``.
""")
