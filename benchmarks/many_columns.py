"""Time and memory of the default models with thousands of columns: ``python benchmarks/many_columns.py``."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

from iegp import IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier, IEGPRegressor, presets

MODELS: dict[str, Any] = {
    "default": IEGPRegressor,
    "classes": IEGPClassifier,
    "ordered classes": IEGPOrdinalClassifier,
    "counts": IEGPCountRegressor,
    "light": presets.light,
}
RUNS = [("default", 990), ("default", 5_000), ("default", 20_000), *((name, 5_000) for name in list(MODELS)[1:])]
SCORED = 500


def measure(name: str, n_columns: int) -> str:
    """A line of the table; in a process of its own, of which the largest memory is known."""
    warmup, rng = 256 if name == "light" else 1_000, np.random.default_rng(0)
    x = rng.normal(size=(warmup + SCORED, n_columns))
    labels = {
        "classes": (x[:, 0] > 0.0).astype(int),
        "ordered classes": np.digitize(x[:, 0], [-1.0, 1.0]),
        "counts": rng.poisson(np.exp(x[:, 0])),
    }
    y = labels.get(name, x[:, 0] + 0.1 * rng.normal(size=len(x)))
    model = MODELS[name](warmup=warmup, random_state=0)
    begun = time.process_time()
    model.partial_fit(x[:warmup], y[:warmup])
    warm = time.process_time()
    model.prequential(x[warmup:], y[warmup:])
    row = 1e3 * (time.process_time() - warm) / SCORED
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return f"| {name} | {n_columns:,} | {warm - begun:.1f} | {row:.2f} | {memory:,} |"


def main() -> None:
    """All runs, one after another; run twice, so that nothing is compiled in the second."""
    if len(sys.argv) == 3:
        print(measure(sys.argv[1], int(sys.argv[2])))
        return
    for name, n_columns in RUNS:
        subprocess.run([sys.executable, __file__, name, str(n_columns)], check=True)


if __name__ == "__main__":
    main()
