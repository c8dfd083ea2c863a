"""Incremental ensemble Gaussian processes: online learning with uncertainty you can trust.

>>> from iegp import IEGPRegressor
"""

from __future__ import annotations

from importlib.metadata import version

from iegp.estimators import IEGPRegressor, load

__all__ = ["IEGPRegressor", "__version__", "load"]

__version__ = version("iegp")
