"""Cost of one row through River: predicted, then learned, M = 11 kernels, F = 100 features, d = 21 columns."""

from __future__ import annotations

import time

import numpy as np

from iegp.adapters import RiverRegressor
from iegp.kernels import RBF

ROWS, FIRST, PIECE = 3000, 300, 20
KERNELS = [RBF(10.0**power) for power in np.linspace(-2.0, 3.0, 11)]


def microseconds(drift_var: float) -> tuple[float, float]:
    """Least and median processor time of a row over many short pieces of a stream: the least is of a quiet machine."""
    X = np.random.default_rng(0).normal(size=(ROWS, 21))
    rows = [{f"x{j}": value for j, value in enumerate(row)} for row in X.tolist()]
    labels = (X[:, 0] + np.sin(X[:, 1])).tolist()
    # No expert is shut down, so that the cost of all is measured.
    model = RiverRegressor(
        KERNELS,
        n_frequencies=50,
        drift_var=drift_var,
        weights="bayes",
        shutdown=0.0,
        noise_forgetting=None,
        warmup=200,
        seed=0,
    )
    for x, y in zip(rows[:FIRST], labels[:FIRST], strict=True):
        model.predict_one(x)
        model.learn_one(x, y)
    costs = []
    for start in range(FIRST, ROWS, PIECE):
        began = time.process_time()
        for t in range(start, start + PIECE):
            model.predict_one(rows[t])
            model.learn_one(rows[t], labels[t])
        costs.append((time.process_time() - began) / PIECE * 1e6)
    return min(costs), float(np.median(costs))


if __name__ == "__main__":
    for name, drift_var in (("static", 0.0), ("random walk", 1e-3)):
        least, median = microseconds(drift_var)
        print(f"{name:12} {least:4.0f} µs at best, {median:4.0f} µs median")
