"""What the adapters' tests share: small models and streams of dictionaries."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from contracts.models import SMALL, SMALL_LABELS

from iegp.adapters import RiverClassifier, RiverCountRegressor, RiverOrdinalClassifier, RiverRegressor


def _river(parameters: dict[str, Any]) -> dict[str, Any]:
    """Arguments of the scikit-learn face as those of River's."""
    return {("seed" if name == "random_state" else name): value for name, value in parameters.items()}


def regressor(**overrides: Any) -> RiverRegressor:
    return RiverRegressor(**(_river(SMALL) | overrides))


def classifier(**overrides: Any) -> RiverClassifier:
    return RiverClassifier(**(_river(SMALL_LABELS) | overrides))


def counter(**overrides: Any) -> RiverCountRegressor:
    return RiverCountRegressor(**(_river(SMALL_LABELS) | overrides))


def ordinal(**overrides: Any) -> RiverOrdinalClassifier:
    return RiverOrdinalClassifier(**(_river(SMALL_LABELS) | overrides))


MAKERS = (regressor, classifier, counter, ordinal)


def as_dicts(X: np.ndarray, names: list[Any] | None = None) -> list[dict[Any, float]]:
    names = list(range(X.shape[1])) if names is None else names
    return [dict(zip(names, row.tolist(), strict=True)) for row in X]


def state(model: Any) -> bytes:
    """All that a model knows."""
    return pickle.dumps(model)
