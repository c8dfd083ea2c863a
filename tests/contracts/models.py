"""What the contract tests share: a small model, a small stream, and everything a model knows as bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from iegp import IEGPRegressor
from iegp.kernels import RBF

SMALL: dict[str, Any] = {
    "kernels": [RBF(1.0), RBF(3.0)],
    "n_frequencies": 8,
    "drift_var": (0.0, 1e-3),
    "noise_forgetting": (None, 0.98),
    "warmup": 64,
    "random_state": 0,
}


def small(**overrides: Any) -> IEGPRegressor:
    """Eight experts that learn a row in microseconds."""
    return IEGPRegressor(**(SMALL | overrides))


def stream(n: int = 150, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A smooth function of the first two columns, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, min(1, d - 1)] + 0.1 * rng.normal(size=n)


def state_bytes(model: IEGPRegressor) -> bytes:
    """The model's file: all that it knows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        return path.read_bytes()


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
