"""Fits of rows that are sorted, beside fits of the same rows in random order (docs/design.md).

Functions of one input at points of a grid with noise 0.1: the error of means on a finer grid, and the share of it whose
true value lies within two predicted standard deviations. Sets of scikit-learn that are sorted by class: accuracy by
cross-validation in three folds. Medians of three seeds of the noise or of the order.

python benchmarks/sorted_rows.py
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import cross_val_score

from iegp import IEGPClassifier, IEGPRegressor
from iegp.typing import Float

SEEDS = range(3)
FUNCTIONS: dict[str, Callable[[Float], Float]] = {
    "two sines": lambda x: np.sin(2.0 * x) + np.sin(3.0 * x),
    "step": np.sign,
    "soft step and trend": lambda x: np.tanh(4.0 * x) + 0.3 * x,
}
CLASSES = {"iris": load_iris, "wine": load_wine}


def fitted(function: Callable[[Float], Float], n: int, seed: int, in_order: bool) -> tuple[float, float]:
    """The error between the points, and the share of the grid whose true value is within two standard deviations."""
    rng = np.random.default_rng(seed)
    x = np.linspace(-3.0, 3.0, n)
    x = x if in_order else rng.permutation(x)
    model = IEGPRegressor(random_state=0).fit(x[:, None], function(x) + 0.1 * rng.normal(size=n))
    grid = np.linspace(-2.9, 2.9, 201)
    mean, std = model.predict(grid[:, None], return_std=True)
    errors = np.abs(mean - function(grid))
    return float(np.sqrt(np.mean(errors**2))), float(np.mean(errors < 2.0 * std))


def accuracy(load: Callable[..., tuple[Float, Float]], seed: int, in_order: bool) -> float:
    x, y = load(return_X_y=True)
    order = np.arange(len(y)) if in_order else np.random.default_rng(seed).permutation(len(y))
    return float(cross_val_score(IEGPClassifier(random_state=0), x[order], y[order], cv=3).mean())


def main() -> None:
    print("| | points | sorted: error / covered | random: error / covered |\n|---|---:|---:|---:|")
    for name, function in FUNCTIONS.items():
        for n in (30, 50, 100, 300):
            cells = []
            for in_order in (True, False):
                error, covered = np.median([fitted(function, n, seed, in_order) for seed in SEEDS], axis=0)
                cells.append(f"{error:.3f} / {100.0 * covered:.0f} %")
            print(f"| {name} | {n} | {cells[0]} | {cells[1]} |", flush=True)
    print("\n| accuracy | sorted by class | random order |\n|---|---:|---:|")
    for name, load in CLASSES.items():
        shuffled = np.median([accuracy(load, seed, False) for seed in SEEDS])
        print(f"| {name} | {accuracy(load, 0, True):.3f} | {shuffled:.3f} |", flush=True)


if __name__ == "__main__":
    main()
