"""The competitors of the paper, each as its own paper describes it, with one small interface.

``warm_up(X, y)`` sets scaling and hyperparameters from the first rows, ``prequential(X, y)`` predicts each row and then
learns it, ``partial_fit`` and ``predict`` do one of the two. Runs have the types of iegp's estimators; a method without
uncertainty has NaN in ``std``, ``lower``, ``upper`` and ``log_score``. Defaults are the tuning of the IE-GP paper.

Competitors for maps have ``fit_transform(X)`` instead (:mod:`iegp_paper.competitors.maps`). SSGP needs PyTorch and is
imported on first use; GPLVM and varGPLVM need GPy when they are fitted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iegp._imports import lazy_names
from iegp_paper.competitors.ada_raker import AdaRaker, AdaRakerClassifier
from iegp_paper.competitors.batch_gp import BatchGP
from iegp_paper.competitors.batch_random_features import BatchRandomFeatureGP
from iegp_paper.competitors.issgpr import ISSGPR
from iegp_paper.competitors.maps import GPLVM, BestKernelPCA, OnGPLVM, OnlinePCA, VarGPLVM
from iegp_paper.competitors.raker import Raker, RakerClassifier

if TYPE_CHECKING:
    from iegp_paper.competitors.ssgp import SSGP
    from iegp_paper.competitors.ssgp_classifier import SSGPClassifier

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

# They need PyTorch, which is large: imported on first use.
__getattr__ = lazy_names(__name__, {"SSGP": f"{__name__}.ssgp", "SSGPClassifier": f"{__name__}.ssgp_classifier"})
