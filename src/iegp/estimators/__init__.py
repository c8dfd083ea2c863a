"""The scikit-learn face: estimators that check what they are given and hand clean arrays to the core.

Touch this room to change how people call us, never to change what is computed.
"""

from __future__ import annotations

from iegp.estimators.classifier import IEGPClassifier
from iegp.estimators.count_regressor import IEGPCountRegressor
from iegp.estimators.latent import IEGPLVM
from iegp.estimators.ordinal import IEGPOrdinalClassifier
from iegp.estimators.random_features import RandomFourierFeatures
from iegp.estimators.regressor import IEGPRegressor
from iegp.estimators.storage import load

__all__ = [
    "IEGPLVM",
    "IEGPClassifier",
    "IEGPCountRegressor",
    "IEGPOrdinalClassifier",
    "IEGPRegressor",
    "RandomFourierFeatures",
    "load",
]
