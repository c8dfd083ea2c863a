"""Incremental ensemble Gaussian processes: they learn from a stream row by row, and predict with intervals.

>>> from iegp import IEGPRegressor
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING as _TYPE_CHECKING

from iegp._imports import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from iegp import (
        adapters,  # noqa: F401
        datasets,
        evaluate,
        fleet,
        history,
        kernels,
        likelihoods,
        parallel,
        plots,
        preprocessing,
        presets,
    )
    from iegp.comparison import compare
    from iegp.estimators import (
        IEGPLVM,
        IEGPClassifier,
        IEGPCountRegressor,
        IEGPForecaster,
        IEGPOrdinalClassifier,
        IEGPRegressor,
        RandomFourierFeatures,
        load,
    )
    from iegp.evaluate.protocol import prequential
    from iegp.fleet import Fleet

__all__ = [
    "IEGPLVM",
    "Fleet",
    "IEGPClassifier",
    "IEGPCountRegressor",
    "IEGPForecaster",
    "IEGPOrdinalClassifier",
    "IEGPRegressor",
    "RandomFourierFeatures",
    "__version__",
    "compare",
    "datasets",
    "evaluate",
    "fleet",
    "history",
    "kernels",
    "likelihoods",
    "load",
    "parallel",
    "plots",
    "preprocessing",
    "prequential",
    "presets",
]

__version__ = version("iegp")

# Names are imported when they are first used: few programs need all of them, and a command must set the threads of BLAS
# before NumPy is loaded. Submodules have lower-case names, estimators have not.
_PLACES = {name: f"iegp.{name}" if name.islower() else "iegp.estimators" for name in __all__}
_PLACES |= {
    # Not in __all__: `from iegp import *` works without River.
    "adapters": "iegp.adapters",
    "Fleet": "iegp.fleet",
    "compare": "iegp.comparison",
    "load": "iegp.estimators",
    "prequential": "iegp.evaluate.protocol",
}
__getattr__ = _lazy_names(__name__, _PLACES)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES, *__all__})
