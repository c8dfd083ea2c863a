"""Incremental ensemble Gaussian processes: online learning with uncertainty you can trust.

>>> from iegp import IEGPRegressor
"""

from __future__ import annotations

import importlib
import types
from importlib.metadata import version

from iegp import kernels, presets
from iegp.estimators import (
    IEGPClassifier,
    IEGPCountRegressor,
    IEGPOrdinalClassifier,
    IEGPRegressor,
    RandomFourierFeatures,
    load,
)

__all__ = [
    "IEGPClassifier",
    "IEGPCountRegressor",
    "IEGPOrdinalClassifier",
    "IEGPRegressor",
    "RandomFourierFeatures",
    "__version__",
    "kernels",
    "load",
    "presets",
]

__version__ = version("iegp")


def __getattr__(name: str) -> types.ModuleType:
    """Rooms that need more than NumPy, SciPy and scikit-learn are opened when somebody looks into them."""
    if name in ("evaluate", "plots", "streams"):
        return importlib.import_module(f"iegp.{name}")
    raise AttributeError(f"module 'iegp' has no attribute {name!r}")
