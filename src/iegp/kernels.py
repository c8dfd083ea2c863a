"""Kernels that an expert can have. The first argument of each is ``length_scale``."""

from __future__ import annotations

from iegp.core.kernels import RBF, Cauchy, Kernel, Laplace, Matern

__all__ = ["RBF", "Cauchy", "Kernel", "Laplace", "Matern"]
