"""River models: rows are dictionaries, one at a time. Needs the extra ``river``."""

from __future__ import annotations

from iegp.adapters.predicted import Predicted, PredictedCount
from iegp.adapters.river_classifiers import RiverClassifier, RiverOrdinalClassifier
from iegp.adapters.river_regressors import RiverCountRegressor, RiverRegressor
from iegp.adapters.river_transformer import RiverIEGPLVM

__all__ = [
    "Predicted",
    "PredictedCount",
    "RiverClassifier",
    "RiverCountRegressor",
    "RiverIEGPLVM",
    "RiverOrdinalClassifier",
    "RiverRegressor",
]
