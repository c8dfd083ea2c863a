"""Small streams for the baselines' tests."""

from __future__ import annotations

import numpy as np


def wave(n: int, seed: int = 0, noise: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """A smooth function of two columns."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, size=(n, 2))
    return x, np.sin(1.5 * x[:, 0]) + 0.5 * x[:, 1] + noise * rng.standard_normal(n)


def moons(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that no line separates."""
    x, y = wave(n, seed)
    return x, np.where(y > 0.2, "up", "down")
