"""The kernels by name, so that a model file can say which it has. Files execute nothing: unknown names are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from iegp.core.kernels.base import Kernel, Sum, Term
from iegp.core.kernels.hilbert import HSGP
from iegp.core.kernels.others import Constant, Linear, Periodic
from iegp.core.kernels.stationary import RBF, Cauchy, Laplace, Matern
from iegp.errors import InputError

KERNELS: dict[str, type[Term]] = {
    kind.__name__: kind for kind in (RBF, Matern, Laplace, Cauchy, Linear, Constant, Periodic, HSGP)
}
BUILT_IN = frozenset(KERNELS)


def register(kind: type[Term]) -> type[Term]:
    """Make a kernel of your own known by its name, so that models that use it can be loaded. Use as a decorator.

    Parameters
    ----------
    kind : type
        A frozen dataclass derived from ``iegp.kernels.Stationary`` or ``iegp.kernels.Term``.

    Returns
    -------
    type
        The same class.

    Examples
    --------
    A kernel with frequencies from a product of triangular densities:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from scipy.special import ndtr
    >>> from iegp.kernels import Stationary, register
    >>> @register
    ... @dataclass(frozen=True, repr=False)
    ... class SquaredSinc(Stationary):
    ...     is_product = True
    ...     def value(self, x, x2):
    ...         return np.prod(np.sinc((x[:, None] - x2[None]) / (2 * np.pi)) ** 2, axis=2)
    ...     def spectral(self, normal):
    ...         u = ndtr(normal)
    ...         return np.where(u < 0.5, np.sqrt(2 * u) - 1, 1 - np.sqrt(2 * (1 - u)))
    >>> SquaredSinc(2.0)
    SquaredSinc(2.0)
    """
    if not (isinstance(kind, type) and issubclass(kind, Term)):
        raise InputError(f"{kind!r} is no class of kernels; derive it from iegp.kernels.Stationary or Term")
    if kind.__name__ in BUILT_IN:
        raise InputError(f"a kernel named {kind.__name__} exists already; give yours another name")
    KERNELS[kind.__name__] = kind
    return kind


def kernel_from_config(config: Mapping[str, Any]) -> Kernel:
    """Make a kernel from the output of :meth:`Kernel.to_config`.

    Parameters
    ----------
    config : mapping
        Plain data.

    Returns
    -------
    Kernel
        An equal kernel. A name that is not registered raises ``InputError``.
    """
    arguments = dict(config)
    if "sum" in arguments:
        return Sum(tuple(term for part in arguments["sum"] for term in kernel_from_config(part).terms))
    name = arguments.pop("kernel", None)
    if name not in KERNELS:
        raise InputError(
            f"kernel {name!r} is not known; expected one of {', '.join(KERNELS)}. "
            "Register a kernel of your own first, with iegp.kernels.register"
        )
    return KERNELS[name](**arguments)
