"""scikit-learn estimators: they check arguments and data and pass clean arrays to the core.

Change this package to change the public interface; what is computed is in :mod:`iegp.core`.
"""

from __future__ import annotations

from iegp.estimators.classifier import IEGPClassifier
from iegp.estimators.count_regressor import IEGPCountRegressor
from iegp.estimators.forecaster import IEGPForecaster
from iegp.estimators.latent import IEGPLVM
from iegp.estimators.ordinal import IEGPOrdinalClassifier
from iegp.estimators.random_features import RandomFourierFeatures
from iegp.estimators.regressor import IEGPRegressor
from iegp.estimators.storage import load

__all__ = [
    "IEGPLVM",
    "IEGPClassifier",
    "IEGPCountRegressor",
    "IEGPForecaster",
    "IEGPOrdinalClassifier",
    "IEGPRegressor",
    "RandomFourierFeatures",
    "load",
]
