"""Kernels: terms, sums of them, and the registry by which model files find them."""

from __future__ import annotations

from iegp.core.kernels.base import Draw, Inputs, Kernel, Sum, Term
from iegp.core.kernels.hilbert import HSGP
from iegp.core.kernels.others import Constant, Linear, Periodic, without_wide_linear
from iegp.core.kernels.registry import KERNELS, kernel_from_config, register
from iegp.core.kernels.stationary import RBF, Cauchy, Laplace, Matern, Stationary

__all__ = [
    "HSGP",
    "KERNELS",
    "RBF",
    "Cauchy",
    "Constant",
    "Draw",
    "Inputs",
    "Kernel",
    "Laplace",
    "Linear",
    "Matern",
    "Periodic",
    "Stationary",
    "Sum",
    "Term",
    "kernel_from_config",
    "register",
    "without_wide_linear",
]
