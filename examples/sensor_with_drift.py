"""A sensor with a jump in its calibration: follow it, save the model, resume later.

python examples/sensor_with_drift.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from iegp import IEGPRegressor, load


def sensor(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Temperature and load in, reading out; after half of the rows the sensor reads three units more."""
    rng = np.random.default_rng(seed)
    x = rng.uniform([0.0, 0.0], [40.0, 1.0], size=(n, 2))
    y = 10.0 * np.sin(x[:, 0] / 8.0) + 4.0 * x[:, 1] ** 2 + 0.3 * rng.standard_normal(n)
    y[n // 2 :] += 3.0
    return x, y


def main() -> None:
    x, y = sensor(4000, seed=0)
    model = IEGPRegressor(random_state=0)
    before = model.prequential(x[:2000], y[:2000])
    after = model.prequential(x[2000:], y[2000:])
    error = np.abs(after.mean - y[2000:])
    settled = np.abs(before.mean - y[:2000])[1000:]
    print(f"before the jump   mean error {settled.mean():.2f}, coverage {before.coverage:.1%}")
    print(f"first 20 rows     mean error {error[:20].mean():.2f}")
    print(f"300 rows later    mean error {error[300:].mean():.2f}, coverage {after.coverage:.1%}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sensor.safetensors"
        model.save(path)
        same = load(path)
    print(f"saved and loaded  same bits: {np.array_equal(model.predict(x[:100]), same.predict(x[:100]))}")


if __name__ == "__main__":
    main()
