"""All River models in one place."""

from __future__ import annotations

from iegp.adapters.river_classifier import RiverClassifier
from iegp.adapters.river_counts import RiverCountRegressor
from iegp.adapters.river_latent import RiverIEGPLVM
from iegp.adapters.river_ordinal import RiverOrdinalClassifier
from iegp.adapters.river_regressor import RiverRegressor

__all__ = ["RiverClassifier", "RiverCountRegressor", "RiverIEGPLVM", "RiverOrdinalClassifier", "RiverRegressor"]
