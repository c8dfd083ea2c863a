"""The competitors of the paper, each as its own paper describes it, all behind one small interface.

``warm_up(X, y)`` sets scaling and hyperparameters from the first rows, ``prequential(X, y)`` predicts each row and then
learns it, ``partial_fit`` and ``predict`` do one of the two. Runs are those of our estimators; a method that gives no
uncertainty has NaN in ``std``, ``lower``, ``upper`` and ``log_score``. Defaults are the tuning of the IE-GP paper.

Competitors for maps have ``fit_transform(X)`` instead (:mod:`iegp.baselines.maps`).

Touch this room to add a method to compare with. SSGP needs PyTorch (dependency group ``bench``) and is imported when it
is asked for; GPLVM and varGPLVM need GPy when they are fitted.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from iegp.baselines.ada_raker import AdaRaker, AdaRakerClassifier
from iegp.baselines.batch_gp import BatchGP
from iegp.baselines.batch_random_features import BatchRandomFeatureGP
from iegp.baselines.issgpr import ISSGPR
from iegp.baselines.maps import GPLVM, BestKernelPCA, OnGPLVM, OnlinePCA, VarGPLVM
from iegp.baselines.raker import Raker, RakerClassifier

if TYPE_CHECKING:
    from iegp.baselines.ssgp import SSGP
    from iegp.baselines.ssgp_classifier import SSGPClassifier

__all__ = [
    "GPLVM",
    "ISSGPR",
    "SSGP",
    "AdaRaker",
    "AdaRakerClassifier",
    "BatchGP",
    "BatchRandomFeatureGP",
    "BestKernelPCA",
    "OnGPLVM",
    "OnlinePCA",
    "Raker",
    "RakerClassifier",
    "SSGPClassifier",
    "VarGPLVM",
]

_NEED_TORCH = {"SSGP": "ssgp", "SSGPClassifier": "ssgp_classifier"}


def __getattr__(name: str) -> Any:
    """Import what needs PyTorch when it is asked for."""
    if name not in _NEED_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_NEED_TORCH[name]}"), name)
    except ImportError as error:
        if (error.name or "").split(".")[0] != "torch":
            raise
        raise ImportError(f"{name} needs PyTorch: pip install torch") from error
