"""Draw an expert's frequencies, reproducibly from a seed.

*Plain* features (the paper's) are independent draws. Each input column is drawn from a generator keyed by the seed and
the column's key (its number, unless it has a name), so that adding a column leaves the others as they are and the order
of the columns does not matter.

*Orthogonal* features have the same distribution one by one, but the directions of a group are orthogonal and the norms
are spread evenly over their distribution (one draw per stratum). The approximate kernel is still unbiased and varies
less.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from iegp.core.compute.tolerances import LEAST_UNIFORM
from iegp.errors import InputError
from iegp.typing import Float

if TYPE_CHECKING:
    from iegp.core.kernels.stationary import Stationary

METHODS = ("orthogonal", "random")

# Streams of random numbers derived from one seed; never renumber them, stored models depend on it.
_NORMS, _COLUMNS, _DIRECTIONS = 0, 1, 2


def draw_frequencies(
    kernel: Stationary,
    n_frequencies: int,
    n_columns: int,
    method: str,
    seed: tuple[int, ...],
    keys: Sequence[int] | None = None,
) -> Float:
    """Draw frequencies (n_frequencies, n_columns) of ``kernel`` at length scale one, to be divided by the length scale.

    ``keys`` identify the columns of plain features; they are 0, 1, 2, ... if not given.

    >>> from iegp.core.kernels import RBF
    >>> draw_frequencies(RBF(), 0, 3, "sobol", (0,))
    Traceback (most recent call last):
    iegp.errors.InputError: features='sobol' is not known; use 'orthogonal' or 'random'
    """
    keys = range(n_columns) if keys is None else keys
    if method == "random":
        return _plain(kernel, n_frequencies, keys, seed)
    if method == "orthogonal":
        if list(keys) != list(range(n_columns)):
            raise InputError(
                "features='orthogonal' couples the columns, so they cannot have names or come later; "
                "use features='random'"
            )
        return _orthogonal(kernel, n_frequencies, n_columns, seed)
    raise InputError(f"features={method!r} is not known; use 'orthogonal' or 'random'")


def _plain(kernel: Stationary, n: int, keys: Sequence[int], seed: tuple[int, ...]) -> Float:
    columns = [np.random.default_rng([*seed, _COLUMNS, key]).standard_normal(n) for key in keys]
    normal = np.ascontiguousarray(np.stack(columns, axis=1))
    if kernel.is_product:
        return kernel.spectral(normal)
    rng = np.random.default_rng([*seed, _NORMS])
    return normal * kernel.radial_scale(n, rng)[:, None]


def _orthogonal(kernel: Stationary, n: int, n_columns: int, seed: tuple[int, ...]) -> Float:
    directions, uniform = _unit_draws(n, n_columns, seed)
    if kernel.is_product:
        # Standard normal vectors with orthogonal directions, then each coordinate to its own marginal distribution.
        norms = np.sqrt(2.0 * special.gammaincinv(0.5 * n_columns, uniform))
        return kernel.spectral(directions * norms[:, None])
    return directions * kernel.radius(uniform.copy(), n_columns)[:, None]


@lru_cache(maxsize=32)
def _unit_draws(n: int, n_columns: int, seed: tuple[int, ...]) -> tuple[Float, Float]:
    """Directions (n, n_columns) and uniform numbers (n,), kept because every refit of a warm-up asks for them again."""
    directions = _orthogonal_directions(n, n_columns, np.random.default_rng([*seed, _DIRECTIONS]))
    uniform = _stratified(n, np.random.default_rng([*seed, _NORMS]))
    directions.flags.writeable = uniform.flags.writeable = False
    return directions, uniform


def _orthogonal_directions(n: int, n_columns: int, rng: np.random.Generator) -> Float:
    """Draw unit vectors, uniform on the sphere, orthogonal within groups of ``n_columns``."""
    groups = []
    for start in range(0, n, n_columns):
        rows = min(n_columns, n - start)
        q, r = np.linalg.qr(rng.standard_normal((n_columns, rows)))
        groups.append((q * np.sign(np.diagonal(r))).T)
    return np.concatenate(groups)


def _stratified(n: int, rng: np.random.Generator) -> Float:
    """Draw one uniform number in each of n equal intervals, in random order: each is uniform on (0, 1)."""
    points = (rng.permutation(n) + rng.random(n)) / n
    return np.asarray(np.clip(points, LEAST_UNIFORM, 1.0 - LEAST_UNIFORM))
