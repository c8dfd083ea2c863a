"""Stationary terms and the spectral densities that random features are drawn from (eq:kernel_psd, as3).

Each class implements the kernel's value for two sets of rows, and the map from standard normal vectors to frequencies
distributed as the spectral density at length scale one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from scipy import special
from scipy.spatial.distance import cdist

from iegp._docstrings import entries, fill_docstrings
from iegp.core.features import Basis, waves
from iegp.core.frequencies import draw_frequencies
from iegp.core.kernels.base import Draw, Term
from iegp.errors import InputError
from iegp.typing import Float

FITTED = ("evidence", "per-dimension")
WORDS = (*FITTED, "dimension")

DOCS = entries("""
length_scale : float, sequence of float, or str, default=1.0
    One positive number or one per column, in units of the standardised inputs; or ``"evidence"``,
    ``"per-dimension"`` or ``"dimension"``, as in :class:`Stationary`.
stretch : float, default=1.0
    Positive factor on the length scale.
nu : {0.5, 1.5, 2.5}, default=1.5
    Smoothness: with 0.5 functions are continuous, with 1.5 once and with 2.5 twice differentiable.
prior_var, drift_var, columns, lags : optional
    As in :class:`Term`.
""")

LengthScale = float | Sequence[float] | str


@dataclass(frozen=True, repr=False)
class Stationary(Term):
    """Base class of terms whose value depends on the distance of two rows alone: holds the length scale.

    Parameters
    ----------
    length_scale : float, sequence of float, or str, default=1.0
        Distance over which an expert's function varies, in units of the standardised inputs: one positive number, or
        one per input column. ``"evidence"`` fits one number to the warm-up rows, ``"per-dimension"`` fits one number
        per column, ``"dimension"`` is sqrt(number of columns), the typical distance between standardised rows.
    prior_var, drift_var, columns, lags : optional
        As in :class:`Term`. With ``columns``, there is one length scale for each of them.
    stretch : float, default=1.0
        Positive factor on the length scale, fitted or given.
    """

    length_scale: LengthScale = 1.0
    stretch: float = field(default=1.0, kw_only=True)

    # Whether the spectral density is a product over columns (else it is rotation invariant).
    is_product: ClassVar[bool] = False
    # Whether the features are random frequencies over all columns.
    is_drawn: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.stretch, int | float | np.number) or not 0.0 < self.stretch < np.inf:
            raise InputError(f"stretch={self.stretch!r} must be a positive finite number")
        if isinstance(self.length_scale, str):
            if self.length_scale not in WORDS:
                raise InputError(
                    f"length_scale={self.length_scale!r} is not known; give a positive number, one per column, "
                    f"or one of {', '.join(map(repr, WORDS))}"
                )
            return
        values = np.asarray(self.length_scale, dtype=np.float64)
        if values.ndim > 1 or values.size == 0 or not np.all(np.isfinite(values)) or not np.all(values > 0.0):
            raise InputError(
                f"length_scale={self.length_scale!r} must be a positive finite number or one per input column"
            )
        self._set("length_scale", float(values) if values.ndim == 0 else tuple(values.tolist()))

    @property
    def is_fitted_to_data(self) -> bool:
        """Whether the length scale is fitted to the warm-up rows."""
        return self.length_scale in FITTED

    def resolved(self, n_columns: int, fitted: Float) -> Self:
        """Return the same kernel with numbers in place of words.

        Parameters
        ----------
        n_columns : int
            Number of input columns.
        fitted : ndarray (n_columns,)
            Length scales fitted to the warm-up rows. Used, times ``stretch``, if ``length_scale`` is ``"evidence"`` or
            ``"per-dimension"``; ignored otherwise.

        Returns
        -------
        Stationary
            Term of the same class with a numeric ``length_scale`` (one number if all columns agree) and stretch one.
        """
        values = self.stretch * fitted if self.is_fitted_to_data else self.scales(n_columns)
        plain = float(values[0]) if np.all(values == values[0]) else tuple(values.tolist())
        return replace(self, length_scale=plain, stretch=1.0)

    def scales(self, n_columns: int) -> Float:
        """Return the length scale of every input column.

        Parameters
        ----------
        n_columns : int
            Number of input columns.

        Returns
        -------
        ndarray (n_columns,)
            Length scales, ``stretch`` included. A kernel that waits for the warm-up rows, or that has another number of
            length scales, raises ``InputError``.
        """
        if self.length_scale == "dimension":
            return np.full(n_columns, self.stretch * np.sqrt(n_columns))
        if isinstance(self.length_scale, str):
            raise InputError(f"{self} has no length scale yet: it is fitted on the warm-up rows")
        values = self.stretch * np.asarray(self.length_scale, dtype=np.float64)
        if values.ndim == 1 and values.size != n_columns:
            raise InputError(
                f"{type(self).__name__} has {values.size} length scales but the data have {n_columns} columns; "
                "give one number, or one per column"
            )
        return np.broadcast_to(values, (n_columns,)).copy()

    def __call__(self, x: Float, x2: Float | None = None) -> Float:
        scale = self.scales(x.shape[1])
        return self.value(x / scale, (x if x2 is None else x2) / scale)

    def value(self, x: Float, x2: Float) -> Float:
        """Compute the kernel matrix at length scale one.

        Parameters
        ----------
        x : ndarray (n, d)
            Rows, already divided by the length scale.
        x2 : ndarray (m, d)
            Other rows, already divided by the length scale.

        Returns
        -------
        ndarray (n, m)
            Kernel values, between 0 and 1.
        """
        raise NotImplementedError

    def relative(self) -> Stationary:
        """Return the kernel used to fit length scales in place of this one.

        Returns
        -------
        Stationary
            A kernel close to this one, rotation invariant, and with an evidence that is smooth in the length scales.
        """
        return RBF()

    def value_and_slope(self, square: Float) -> tuple[Float, Float]:
        """Compute the kernel and its slope as functions of the squared distance.

        Only kernels that :meth:`relative` can return implement it.

        Parameters
        ----------
        square : ndarray
            Squared distances at length scale one, of any shape.

        Returns
        -------
        value : ndarray
            Kernel values, with the shape of ``square``.
        slope : ndarray
            Minus twice the derivative with respect to the squared distance, with the same shape.
        """
        raise NotImplementedError

    def spectral(self, normal: Float) -> Float:
        """Map standard normal numbers to frequencies at length scale one (product kernels only).

        Parameters
        ----------
        normal : ndarray (n, d)
            Independent standard normal numbers.

        Returns
        -------
        ndarray (n, d)
            Frequencies distributed as the spectral density.
        """
        raise NotImplementedError

    def radius(self, uniform: Float, n_columns: int) -> Float:
        """Compute quantiles of a frequency's norm at length scale one (rotation-invariant kernels only).

        Parameters
        ----------
        uniform : ndarray
            Probabilities between 0 and 1, of any shape.
        n_columns : int
            Number of input columns.

        Returns
        -------
        ndarray
            Norms, with the shape of ``uniform``.
        """
        raise NotImplementedError

    def radial_scale(self, n: int, rng: np.random.Generator) -> Float:
        """Draw the factors that turn standard normal vectors into frequencies (rotation-invariant kernels only).

        Parameters
        ----------
        n : int
            Number of vectors.
        rng : numpy.random.Generator
            Source of randomness; not used by kernels with Gaussian frequencies.

        Returns
        -------
        ndarray (n,)
            One factor per vector, shared by its columns; ones for Gaussian frequencies.
        """
        del rng
        return np.ones(n)

    def n_features(self, n_frequencies: int, n_columns: int) -> tuple[int, int]:
        del n_columns
        return n_frequencies, 0

    def basis(self, draw: Draw) -> Basis:
        base = draw_frequencies(self, draw.n_frequencies, draw.n_columns, draw.method, draw.seed, draw.keys)
        return waves(np.ascontiguousarray(base / self.scales(draw.n_columns)))

    def _kind(self) -> str:
        scale = self.length_scale
        if isinstance(scale, tuple):
            return f"{self._family()} {min(scale):.3g} to {max(scale):.3g}"
        return f"{self._family()} {scale if isinstance(scale, str) else format(scale, '.3g')}"

    def _family(self) -> str:
        return type(self).__name__


@fill_docstrings(DOCS)
@dataclass(frozen=True, repr=False)
class RBF(Stationary):
    """Gaussian kernel ``exp(-|x - x'|² / (2 length_scale²))``; its frequencies are Gaussian.

    {parameters}

    Examples
    --------
    >>> from iegp.kernels import RBF
    >>> import numpy as np
    >>> float(RBF(2.0)(np.array([[0.0]]), np.array([[2.0]]))[0, 0].round(4))
    0.6065
    """

    def value(self, x: Float, x2: Float) -> Float:
        return np.asarray(np.exp(-0.5 * cdist(x, x2, "sqeuclidean")))

    def value_and_slope(self, square: Float) -> tuple[Float, Float]:
        gram = np.exp(-0.5 * square)
        return gram, gram

    def radius(self, uniform: Float, n_columns: int) -> Float:
        return np.asarray(np.sqrt(2.0 * special.gammaincinv(0.5 * n_columns, uniform)))


@fill_docstrings(DOCS)
@dataclass(frozen=True, repr=False)
class Matern(Stationary):
    """Matérn kernel: functions rougher than those of RBF; its frequencies are Student-t.

    {parameters}

    Examples
    --------
    >>> from iegp.kernels import Matern
    >>> import numpy as np
    >>> float(Matern(1.0, nu=0.5)(np.array([[0.0]]), np.array([[1.0]]))[0, 0].round(4))
    0.3679
    """

    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu not in (0.5, 1.5, 2.5):
            raise InputError(f"nu={self.nu!r} is not supported; use 0.5, 1.5 or 2.5 (or RBF, the limit of large nu)")

    def value(self, x: Float, x2: Float) -> Float:
        r = np.sqrt(2.0 * self.nu) * cdist(x, x2)
        polynomial = {0.5: 1.0, 1.5: 1.0 + r, 2.5: 1.0 + r + r**2 / 3.0}[self.nu]
        return np.asarray(polynomial * np.exp(-r))

    def relative(self) -> Stationary:
        # With nu = 0.5 the derivative at distance zero does not exist.
        return RBF() if self.nu == 0.5 else Matern(nu=self.nu)

    def value_and_slope(self, square: Float) -> tuple[Float, Float]:
        r = np.sqrt(2.0 * self.nu * square)
        decay = np.exp(-r)
        if self.nu == 1.5:
            return (1.0 + r) * decay, 3.0 * decay
        return (1.0 + r + r**2 / 3.0) * decay, (5.0 / 3.0) * (1.0 + r) * decay

    def radius(self, uniform: Float, n_columns: int) -> Float:
        # |g|² / d over chi²/dof is an F variable.
        return np.asarray(np.sqrt(n_columns * special.fdtri(n_columns, 2.0 * self.nu, uniform)))

    def radial_scale(self, n: int, rng: np.random.Generator) -> Float:
        dof = 2.0 * self.nu
        return np.asarray(np.sqrt(dof / rng.chisquare(dof, n)))

    def _family(self) -> str:
        return f"Matern-{self.nu:g}"


@fill_docstrings(DOCS)
@dataclass(frozen=True, repr=False)
class Laplace(Stationary):
    """Laplace kernel, product form ``exp(-sum |x_i - x'_i| / length_scale_i)``; its frequencies are Cauchy.

    {parameters}
    """

    is_product: ClassVar[bool] = True

    def value(self, x: Float, x2: Float) -> Float:
        return np.asarray(np.exp(-cdist(x, x2, "cityblock")))

    def spectral(self, normal: Float) -> Float:
        return np.asarray(np.tan(0.5 * np.pi * special.erf(normal / np.sqrt(2.0))))


@fill_docstrings(DOCS)
@dataclass(frozen=True, repr=False)
class Cauchy(Stationary):
    """Cauchy kernel, product form ``prod 1 / (1 + (x_i - x'_i)² / length_scale_i²)``; its frequencies are Laplace.

    {parameters}
    """

    is_product: ClassVar[bool] = True

    def value(self, x: Float, x2: Float) -> Float:
        gram = np.ones((len(x), len(x2)))
        for column, column2 in zip(x.T, x2.T, strict=True):
            gram /= 1.0 + (column[:, None] - column2[None, :]) ** 2
        return gram

    def spectral(self, normal: Float) -> Float:
        return np.asarray(-np.sign(normal) * np.log(special.erfc(np.abs(normal) / np.sqrt(2.0))))
