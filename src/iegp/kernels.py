"""Kernels that an expert can have: terms, and sums of them such as ``RBF(2.0) + Linear() + Constant()``."""

from __future__ import annotations

from iegp.core.kernels import (
    HSGP,
    RBF,
    Cauchy,
    Constant,
    Kernel,
    Laplace,
    Linear,
    Matern,
    Periodic,
    Stationary,
    Sum,
    Term,
    register,
)

__all__ = [
    "HSGP",
    "RBF",
    "Cauchy",
    "Constant",
    "Kernel",
    "Laplace",
    "Linear",
    "Matern",
    "Periodic",
    "Stationary",
    "Sum",
    "Term",
    "register",
]
