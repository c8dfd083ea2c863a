"""Hilbert-space Gaussian processes: features that are eigenfunctions of the Laplacian on an interval of each column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy import special

from iegp.core.compute.tolerances import HSGP_MARGIN, LARGEST_BOUNDARY, LEAST_BOUNDARY, MAX_LINEAR_COLUMNS
from iegp.core.features import Basis, affine
from iegp.core.kernels.base import Draw
from iegp.core.kernels.stationary import RBF, Matern, Stationary
from iegp.errors import InputError
from iegp.typing import Float


@dataclass(frozen=True, repr=False)
class HSGP(Stationary):
    """Additive functions of the columns by a Hilbert-space basis: few features, and none of them random.

    The mean over columns of an RBF or Matérn kernel of each. The features of a column x are ``sin(pi j (x + L) / 2L)``,
    j = 1, 2, ..., the eigenfunctions of the Laplacian on ``[-L, L]``, weighted by the kernel's spectral density. Inside
    ``[-boundary, boundary]`` they approximate the kernel; columns beyond are clipped to it. L lies two length scales
    farther out.

    Parameters
    ----------
    length_scale : float, sequence of float, or str, default=1.0
        As in :class:`Stationary`. With ``n_functions`` functions, those below ``2 L / n_functions`` are too short.
    prior_var, drift_var, columns, lags : optional
        As in :class:`Term`.
    stretch : float, default=1.0
        Positive factor on the length scale.
    n_functions : int or None, default=16
        Features per column; with ``None`` all columns together have as many as random features would, ``2
        n_frequencies``, and each at least one.
    boundary : float, default=3.0
        Largest absolute value of a standardised column that the term distinguishes; farther ones count as this one.
    nu : {None, 0.5, 1.5, 2.5}, default=None
        Smoothness of a Matérn kernel; ``None`` is RBF.

    Notes
    -----
    The basis is that of Solin and Särkkä (2020), *Hilbert space methods for reduced-rank Gaussian process regression*.

    Examples
    --------
    >>> import numpy as np
    >>> from iegp import IEGPRegressor
    >>> from iegp.kernels import HSGP, Linear
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    >>> model = IEGPRegressor([HSGP(0.5) + Linear()], warmup=100, random_state=0).fit(X[:250], y[:250])
    >>> bool(np.abs(model.predict(X[250:]) - y[250:]).mean() < 0.1)
    True
    >>> HSGP("per-dimension", n_functions=8, nu=1.5)
    HSGP('per-dimension', n_functions=8, nu=1.5)
    """

    n_functions: int | None = field(default=16, kw_only=True)
    boundary: float = field(default=3.0, kw_only=True)
    nu: float | None = field(default=None, kw_only=True)

    is_drawn: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_functions is not None:
            is_whole = isinstance(self.n_functions, int | np.integer) and not isinstance(self.n_functions, bool)
            if not is_whole or not 1 <= self.n_functions <= MAX_LINEAR_COLUMNS:
                raise InputError(f"n_functions={self.n_functions!r} must be a whole number, 1 to {MAX_LINEAR_COLUMNS}")
            self._set("n_functions", int(self.n_functions))
        is_number = isinstance(self.boundary, int | float | np.number) and not isinstance(self.boundary, bool)
        if not is_number or not LEAST_BOUNDARY <= self.boundary <= LARGEST_BOUNDARY:
            raise InputError(
                f"boundary={self.boundary!r} must be a number, {LEAST_BOUNDARY:g} to {LARGEST_BOUNDARY:g}, in units of "
                "the standardised inputs"
            )
        self._set("boundary", float(self.boundary))
        self._of_one_column()  # raises an error for an unknown nu

    def __call__(self, x: Float, x2: Float | None = None) -> Float:
        inside = [np.clip(rows, -self.boundary, self.boundary) for rows in (x, x if x2 is None else x2)]
        return super().__call__(*inside)

    def value(self, x: Float, x2: Float) -> Float:
        kernel = self._of_one_column()
        return np.asarray(np.mean([kernel.value(x[:, [c]], x2[:, [c]]) for c in range(x.shape[1])], axis=0))

    def relative(self) -> Stationary:
        return self._of_one_column().relative()

    def _of_one_column(self) -> Stationary:
        return RBF() if self.nu is None else Matern(nu=self.nu)

    def half_width(self, length_scales: Float) -> Float:
        """Compute L, where all functions are zero.

        Parameters
        ----------
        length_scales : ndarray
            Length scales.

        Returns
        -------
        ndarray
            Half the length of the interval, for each of them.
        """
        return np.asarray(self.boundary + HSGP_MARGIN * length_scales)

    def density(self, frequencies: Float) -> Float:
        """Compute the spectral density of the kernel of one column at length scale one.

        Parameters
        ----------
        frequencies : ndarray
            Frequencies, of any shape.

        Returns
        -------
        ndarray
            Densities, with the same shape; their integral is 2 pi.
        """
        if self.nu is None:
            return np.asarray(np.sqrt(2.0 * np.pi) * np.exp(-0.5 * frequencies**2))
        nu = self.nu
        constant = 2.0 * np.sqrt(np.pi) * special.gamma(nu + 0.5) / special.gamma(nu) * (2.0 * nu) ** nu
        return np.asarray(constant * (2.0 * nu + frequencies**2) ** -(nu + 0.5))

    def n_features(self, n_frequencies: int, n_columns: int) -> tuple[int, int]:
        n_functions = self.n_functions or max(1, 2 * n_frequencies // n_columns)
        if n_functions * n_columns > MAX_LINEAR_COLUMNS:
            fewer = ", or lower n_functions" if n_functions > 1 else ""
            raise InputError(
                f"HSGP has {n_functions} functions for each of {n_columns} columns, more than "
                f"{MAX_LINEAR_COLUMNS} features: experts would not fit into memory; name the columns that matter, as "
                f"in HSGP(columns=[0, 5]){fewer}"
            )
        return 0, n_functions * n_columns

    def basis(self, draw: Draw) -> Basis:
        n, scales = draw.n_columns, self.scales(draw.n_columns)
        width = self.half_width(scales)
        n_functions = self.n_features(draw.n_frequencies, n)[1] // n
        numbers = np.arange(1, n_functions + 1)
        turns = 0.5 * np.pi * numbers / width[:, None]
        densities = scales[:, None] * self.density(scales[:, None] * turns)
        slopes = np.sqrt(densities / (n * width[:, None]))
        phases = np.broadcast_to(0.5 * np.pi * numbers, turns.shape)
        curves = np.stack([np.full_like(turns, self.boundary), turns, phases], axis=2).reshape(-1, 3)
        return affine(np.repeat(np.arange(n), n_functions), slopes.ravel(), n)._replace(curves=curves)

    def _family(self) -> str:
        return "HSGP" if self.nu is None else f"HSGP-Matern-{self.nu:g}"
