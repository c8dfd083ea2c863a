"""The River face: dictionaries in, one row at a time. Needs the extra ``river``; nothing else in the package does."""

from __future__ import annotations

from iegp.adapters.predicted import Predicted, PredictedCount
from iegp.adapters.river_classifier import RiverClassifier
from iegp.adapters.river_counts import RiverCountRegressor
from iegp.adapters.river_latent import RiverIEGPLVM
from iegp.adapters.river_ordinal import RiverOrdinalClassifier
from iegp.adapters.river_regressor import RiverRegressor

__all__ = [
    "Predicted",
    "PredictedCount",
    "RiverClassifier",
    "RiverCountRegressor",
    "RiverIEGPLVM",
    "RiverOrdinalClassifier",
    "RiverRegressor",
]
