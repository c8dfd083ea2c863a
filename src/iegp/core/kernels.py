"""Stationary kernels and the spectral densities their random features are drawn from (eq:kernel_psd, as3).

A kernel here is *standardised*: its value at distance zero is one, its magnitude is the expert's ``prior_var``. It
knows two things: its value for two sets of rows, and how to turn standard normal vectors into frequencies distributed
as its spectral density at length scale one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import special, stats
from scipy.spatial.distance import cdist

from iegp.errors import InputError
from iegp.typing import Float

FITTED = ("evidence", "per-dimension")
WORDS = (*FITTED, "dimension")

LengthScale = float | Sequence[float] | str


@dataclass(frozen=True)
class Kernel:
    """Base class: holds the length scale.

    ``length_scale`` is a positive number, one number per input column, or a word: ``"evidence"`` fits one number to the
    warm-up rows, ``"per-dimension"`` fits one number per column, ``"dimension"`` is sqrt(number of columns), the
    typical distance of standardised rows. It is in units of the standardised inputs. ``stretch`` multiplies it.
    """

    length_scale: LengthScale = 1.0
    stretch: float = field(default=1.0, kw_only=True)

    # Whether the spectral density is a product over columns (else it is rotation invariant).
    is_product: ClassVar[bool] = False

    def __post_init__(self) -> None:
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
        # Plain floats and tuples: hashable, printable, equal when equal.
        object.__setattr__(self, "length_scale", float(values) if values.ndim == 0 else tuple(values.tolist()))

    @property
    def is_fitted_to_data(self) -> bool:
        """Whether the length scale waits for the warm-up rows."""
        return self.length_scale in FITTED

    def resolved(self, n_columns: int, fitted: Float) -> Self:
        """The same kernel with numbers in place of words: ``fitted`` scales, stretched, where they were asked for."""
        values = self.stretch * fitted if self.is_fitted_to_data else self.scales(n_columns)
        plain = float(values[0]) if np.all(values == values[0]) else tuple(values.tolist())
        return replace(self, length_scale=plain, stretch=1.0)

    def scales(self, n_columns: int) -> Float:
        """The length scale of every input column."""
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
        """Kernel matrix between the rows of ``x`` (n, d) and ``x2`` (m, d; default ``x``)."""
        scale = self.scales(x.shape[1])
        return self.value(x / scale, (x if x2 is None else x2) / scale)

    def value(self, x: Float, x2: Float) -> Float:
        """Kernel matrix at length scale one."""
        raise NotImplementedError

    def relative(self) -> Kernel:
        """The kernel whose evidence is used to fit length scales: smooth in them, rotation invariant, close to this."""
        return RBF()

    def value_and_slope(self, square: Float) -> tuple[Float, Float]:
        """Value and minus twice its derivative, as functions of the squared distance (relatives only)."""
        raise NotImplementedError

    def spectral(self, normal: Float) -> Float:
        """Turn rows of independent standard normals into frequencies at length scale one (product kernels)."""
        raise NotImplementedError

    def radius(self, uniform: Float, n_columns: int) -> Float:
        """Quantile function of a frequency's norm at length scale one (rotation-invariant kernels)."""
        raise NotImplementedError

    def radial_scale(self, n: int, rng: np.random.Generator) -> Float:
        """What a standard normal vector is multiplied by (rotation-invariant kernels), shared by its columns."""
        del rng
        return np.ones(n)

    def short(self) -> str:
        """A few words for tables and pictures; of length scales that differ by column, the ends of their range.

        >>> Matern(2.0, nu=2.5).short(), RBF((0.5, 2.0, 1.0)).short()
        ('Matern-2.5 2', 'RBF 0.5 to 2')
        """
        scale = self.length_scale
        if isinstance(scale, tuple):
            return f"{self._kind()} {min(scale):.3g} to {max(scale):.3g}"
        return f"{self._kind()} {scale if isinstance(scale, str) else format(scale, '.3g')}"

    def _kind(self) -> str:
        return type(self).__name__

    def to_config(self) -> dict[str, Any]:
        """Plain data from which :func:`kernel_from_config` makes an equal kernel."""
        scale = self.length_scale
        plain = scale if isinstance(scale, str | float) else list(scale)
        return {"kernel": type(self).__name__, "length_scale": plain, "stretch": self.stretch}


@dataclass(frozen=True)
class RBF(Kernel):
    """Gaussian kernel ``exp(-|x - x'|² / (2 length_scale²))``; its frequencies are Gaussian.

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
        return np.asarray(np.sqrt(stats.chi2.ppf(uniform, n_columns)))


@dataclass(frozen=True)
class Matern(Kernel):
    """Matérn kernel with ``nu`` 0.5, 1.5 or 2.5: rougher functions than RBF; its frequencies are Student-t."""

    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu not in (0.5, 1.5, 2.5):
            raise InputError(f"nu={self.nu!r} is not supported; use 0.5, 1.5 or 2.5 (or RBF, the limit of large nu)")

    def value(self, x: Float, x2: Float) -> Float:
        r = np.sqrt(2.0 * self.nu) * cdist(x, x2)
        polynomial = {0.5: 1.0, 1.5: 1.0 + r, 2.5: 1.0 + r + r**2 / 3.0}[self.nu]
        return np.asarray(polynomial * np.exp(-r))

    def relative(self) -> Kernel:
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
        return np.asarray(np.sqrt(n_columns * stats.f.ppf(uniform, n_columns, 2.0 * self.nu)))

    def radial_scale(self, n: int, rng: np.random.Generator) -> Float:
        dof = 2.0 * self.nu
        return np.asarray(np.sqrt(dof / rng.chisquare(dof, n)))

    def _kind(self) -> str:
        return f"Matern-{self.nu:g}"

    def to_config(self) -> dict[str, Any]:
        return {**super().to_config(), "nu": self.nu}


@dataclass(frozen=True)
class Laplace(Kernel):
    """Laplace kernel, product form ``exp(-sum |x_i - x'_i| / length_scale_i)``; its frequencies are Cauchy."""

    is_product: ClassVar[bool] = True

    def value(self, x: Float, x2: Float) -> Float:
        return np.asarray(np.exp(-cdist(x, x2, "cityblock")))

    def spectral(self, normal: Float) -> Float:
        return np.asarray(np.tan(0.5 * np.pi * special.erf(normal / np.sqrt(2.0))))


@dataclass(frozen=True)
class Cauchy(Kernel):
    """Cauchy kernel, product form ``prod 1 / (1 + (x_i - x'_i)² / length_scale_i²)``; its frequencies are Laplace."""

    is_product: ClassVar[bool] = True

    def value(self, x: Float, x2: Float) -> Float:
        gram = np.ones((len(x), len(x2)))
        for column, column2 in zip(x.T, x2.T, strict=True):
            gram /= 1.0 + (column[:, None] - column2[None, :]) ** 2
        return gram

    def spectral(self, normal: Float) -> Float:
        return np.asarray(-np.sign(normal) * np.log(special.erfc(np.abs(normal) / np.sqrt(2.0))))


KERNELS: dict[str, type[Kernel]] = {kind.__name__: kind for kind in (RBF, Matern, Laplace, Cauchy)}


def kernel_from_config(config: dict[str, Any]) -> Kernel:
    """The inverse of :meth:`Kernel.to_config`."""
    arguments = dict(config)
    name = arguments.pop("kernel", None)
    if name not in KERNELS:
        raise InputError(f"kernel {name!r} is not known; expected one of {', '.join(KERNELS)}")
    return KERNELS[name](**arguments)
