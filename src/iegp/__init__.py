"""Incremental ensemble Gaussian processes: online learning with uncertainty you can trust.

>>> from iegp import IEGPRegressor
"""

from __future__ import annotations

import importlib
from importlib.metadata import version
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from iegp import kernels

if _TYPE_CHECKING:
    from iegp import presets
    from iegp.estimators import (
        IEGPLVM,
        IEGPClassifier,
        IEGPCountRegressor,
        IEGPOrdinalClassifier,
        IEGPRegressor,
        RandomFourierFeatures,
        load,
    )
    from iegp.scale import Fleet

__all__ = [
    "IEGPLVM",
    "Fleet",
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

_ESTIMATORS = (
    "IEGPLVM",
    "IEGPClassifier",
    "IEGPCountRegressor",
    "IEGPOrdinalClassifier",
    "IEGPRegressor",
    "RandomFourierFeatures",
    "load",
)
_ROOMS = ("adapters", "evaluate", "plots", "presets", "scale", "streams")


def __getattr__(name: str) -> _Any:
    """Doors are opened when somebody looks through them: scikit-learn (which loads pandas if it can), River and others
    are slow to import, and few need all of them."""
    if name in _ESTIMATORS:
        return getattr(importlib.import_module("iegp.estimators"), name)
    if name == "Fleet":
        return importlib.import_module("iegp.scale").Fleet
    if name in _ROOMS:
        return importlib.import_module(f"iegp.{name}")
    raise AttributeError(f"module 'iegp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "Fleet", *_ESTIMATORS, *_ROOMS})
