"""Terms that are not drawn at random: linear, constant, periodic."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import special

from iegp.core.compute.tolerances import MAX_LINEAR_COLUMNS, PERIODIC_REST
from iegp.core.features import Basis, affine
from iegp.core.kernels.base import Draw, Inputs, Kernel, Sum, Term
from iegp.errors import InputError
from iegp.typing import Float


@dataclass(frozen=True, repr=False)
class Linear(Term):
    """Linear functions of the columns: ``x · x' / d`` for d standardised columns.

    One feature per column, so that many columns make an expert slow: name the ``columns`` that matter. A term that
    would see more than 1,000, lags counted, is refused; the default models leave theirs out.

    Parameters
    ----------
    prior_var, drift_var, columns, lags : optional
        As in :class:`Term`.

    Examples
    --------
    >>> from iegp.kernels import RBF, Linear
    >>> RBF(2.0) + Linear(columns=[0, 3])
    RBF(2.0) + Linear(columns=[0, 3])
    """

    def __call__(self, x: Float, x2: Float | None = None) -> Float:
        return np.asarray(x @ (x if x2 is None else x2).T / x.shape[1])

    def n_features(self, n_frequencies: int, n_columns: int) -> tuple[int, int]:
        del n_frequencies
        if n_columns > MAX_LINEAR_COLUMNS:
            raise InputError(
                f"Linear sees {n_columns} columns, more than {MAX_LINEAR_COLUMNS}: it has a feature for each, and "
                "experts would not fit into memory; name the columns that matter, as in Linear(columns=[0, 5])"
            )
        return 0, n_columns

    def is_too_wide(self, inputs: Inputs) -> bool:
        """Whether the term would see more columns than it may.

        Parameters
        ----------
        inputs : Inputs
            The columns of the model.

        Returns
        -------
        bool
            Whether :meth:`n_features` refuses it.
        """
        return len(self.places(inputs)) > MAX_LINEAR_COLUMNS

    def basis(self, draw: Draw) -> Basis:
        n = draw.n_columns
        return affine(np.arange(n), np.full(n, 1.0 / np.sqrt(n)), n)


@dataclass(frozen=True, repr=False)
class Constant(Term):
    """A constant; with a drift of its own, a drifting level.

    Parameters
    ----------
    prior_var, drift_var, columns, lags : optional
        As in :class:`Term`; columns and lags have no effect.

    Examples
    --------
    >>> from iegp.kernels import RBF, Constant
    >>> RBF(2.0) + Constant(drift_var=0.01)
    RBF(2.0) + Constant(drift_var=0.01)
    """

    def __call__(self, x: Float, x2: Float | None = None) -> Float:
        return np.ones((len(x), len(x if x2 is None else x2)))

    def n_features(self, n_frequencies: int, n_columns: int) -> tuple[int, int]:
        del n_frequencies, n_columns
        return 0, 1

    def basis(self, draw: Draw) -> Basis:
        return affine(np.array([-1]), np.ones(1), draw.n_columns)


@dataclass(frozen=True, repr=False)
class Periodic(Term):
    """Periodic functions of a column: ``exp(-2 sin²(pi (x - x') / period) / length_scale²)``.

    Features are the first harmonics of the period, with the weights of the kernel's Fourier series. With several
    columns it is the mean of one such kernel for each.

    Parameters
    ----------
    period : float, default=1.0
        Length of a period in the column's own units, before standardisation.
    length_scale : float, default=1.0
        Smoothness within a period: large values leave hardly more than one wave.
    prior_var, drift_var, columns, lags : optional
        As in :class:`Term`; name the column that has the period. Lags are not seen by default.

    Examples
    --------
    >>> from iegp.kernels import RBF, Periodic
    >>> RBF("dimension") + Periodic(24.0, columns=["hour"])
    RBF('dimension') + Periodic(24.0, columns=['hour'])
    """

    period: float = 1.0
    length_scale: float = 1.0
    lags: bool | str = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("period", "length_scale"):
            value = getattr(self, name)
            is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not is_number or not 1e-3 * (name == "length_scale") < value < 1e100:
                wanted = "in the column's own units, such as 24.0" if name == "period" else "from 0.001 on"
                raise InputError(f"{name}={value!r} of Periodic must be a positive finite number, {wanted}")
            self._set(name, float(value))

    def weights(self, n_frequencies: int) -> Float:
        """Compute the weights of the harmonics in the kernel's Fourier series.

        Parameters
        ----------
        n_frequencies : int
            The most harmonics to use.

        Returns
        -------
        ndarray (1 + n_harmonics,)
            Weights of the constant and of each harmonic; they sum to one.
        """
        series = special.ive(np.arange(n_frequencies + 1), self.length_scale**-2)
        series[1:] *= 2.0
        used = max(1, int(np.searchsorted(np.cumsum(series), 1.0 - PERIODIC_REST)))
        return np.asarray(series[: used + 1] / series[: used + 1].sum())

    def __call__(self, x: Float, x2: Float | None = None) -> Float:
        turn = np.sin(np.pi / self.period * (x[:, None, :] - (x if x2 is None else x2)[None, :, :]))
        return np.asarray(np.exp(-2.0 * (turn / self.length_scale) ** 2).mean(axis=2))

    def n_features(self, n_frequencies: int, n_columns: int) -> tuple[int, int]:
        return n_columns * (len(self.weights(n_frequencies)) - 1), 1

    def basis(self, draw: Draw) -> Basis:
        weights, n = self.weights(draw.n_frequencies), draw.n_columns
        harmonics = 2.0 * np.pi / self.period * np.arange(1, len(weights))
        # Column by column: harmonic j of column c turns with that column alone.
        frequencies = np.concatenate(
            [np.outer(harmonics * scale, row) for scale, row in zip(draw.scale, np.eye(n), strict=True)]
        )
        constant = affine(np.array([-1]), np.sqrt(weights[:1]), n)
        return constant._replace(frequencies=frequencies, amplitudes=np.tile(np.sqrt(weights[1:] / n), n))

    def _kind(self) -> str:
        return f"Periodic {self.period:.3g}"


def without_wide_linear(kernel: Kernel, inputs: Inputs) -> Kernel:
    """The kernel without linear terms that would see too many columns; a kernel of these alone stays as it is."""
    kept = tuple(term for term in kernel.terms if not (isinstance(term, Linear) and term.is_too_wide(inputs)))
    if not kept or len(kept) == len(kernel.terms):
        return kernel
    return kept[0] if len(kept) == 1 else Sum(kept)
