"""What the contract tests share: small models, small streams, and everything a model knows as bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from iegp import IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier, IEGPRegressor
from iegp.kernels import RBF

SMALL: dict[str, Any] = {
    "kernels": [RBF(1.0), RBF(3.0)],
    "n_frequencies": 8,
    "drift_var": (0.0, 1e-3),
    "noise_forgetting": (None, 0.98),
    "warmup": 64,
    "random_state": 0,
}

SMALL_LABELS: dict[str, Any] = {
    "kernels": [RBF(1.0), RBF(3.0)],
    "n_frequencies": 8,
    "drift_var": (0.0, 1e-2),
    "warmup": 64,
    "random_state": 0,
}
SHARPNESS = (1.0, 2.0)
GRADES = ("poor", "fair", "good")

Estimator = IEGPRegressor | IEGPClassifier | IEGPCountRegressor | IEGPOrdinalClassifier


def small(**overrides: Any) -> IEGPRegressor:
    """Eight experts that learn a row in microseconds."""
    return IEGPRegressor(**(SMALL | overrides))


def small_classifier(**overrides: Any) -> IEGPClassifier:
    """The same for two classes or more: two kernels, two drifts, two rungs of sharpness."""
    return IEGPClassifier(**(SMALL_LABELS | {"sharpness": SHARPNESS} | overrides))


def small_counts(**overrides: Any) -> IEGPCountRegressor:
    """Four experts for counts."""
    return IEGPCountRegressor(**(SMALL_LABELS | overrides))


def small_ordinal(**overrides: Any) -> IEGPOrdinalClassifier:
    """Eight experts for grades from poor to good."""
    return IEGPOrdinalClassifier(**(SMALL_LABELS | {"sharpness": SHARPNESS, "order": GRADES} | overrides))


def stream(n: int = 150, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A smooth function of the first two columns, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, min(1, d - 1)] + 0.1 * rng.normal(size=n)


def class_stream(n: int = 150, n_classes: int = 2, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Class numbers that follow two columns, about one in ten by chance; all classes are among the first few rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = np.stack([np.sin(2 * X[:, 0] + 2 * k) + 0.5 * np.cos(X[:, min(1, d - 1)] + k) for k in range(n_classes)])
    numbers = np.where(rng.uniform(size=n) < 0.1, rng.integers(n_classes, size=n), np.argmax(scores, axis=0))
    numbers[:n_classes] = np.arange(n_classes)[:n]
    return X, numbers


def count_stream(n: int = 150, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Overdispersed counts whose rate follows two columns, and exposures between a half and four."""
    rng = np.random.default_rng(seed)
    X, exposure = rng.normal(size=(n, d)), rng.uniform(0.5, 4.0, size=n)
    log_rate = 0.7 + np.sin(2 * X[:, 0]) + 0.3 * X[:, min(1, d - 1)] + 0.3 * rng.normal(size=n)
    return X, rng.poisson(exposure * np.exp(log_rate)).astype(float), exposure


def grade_stream(n: int = 150, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Grades that rise with a smooth function of two columns; all grades are among the first few rows."""
    X, level = stream(n, d, seed)
    numbers = np.searchsorted([-0.5, 0.6], level + 0.3 * np.random.default_rng(seed + 1).normal(size=n))
    numbers[:3] = np.arange(3)[:n]
    return X, np.array(GRADES)[numbers]


def state_bytes(model: Estimator) -> bytes:
    """The model's file: all that it knows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        return path.read_bytes()


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
