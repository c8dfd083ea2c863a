"""Competitors in the settings of their own papers and published code, for docs/baselines.md.

    python paper/benchmarks/published.py [adaraker] [issgpr] [ssgp]

``adaraker``: what its authors' script does (all rows as they are in the file, frequencies of three scales, D = 50);
mean squared error. ``issgpr``: SARCOS, hyperparameters from 1,000 rows, then all training rows one by one, nMSE on the
test rows. ``ssgp``: the script for Banana, 400 rows in three batches with 30 inducing points, error on the other 4,900.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from iegp_paper import competitors as baselines

from iegp.datasets import load_dataset
from iegp.kernels import RBF

SEEDS = range(5)


def adaraker() -> None:
    """Frequencies of scale s: length scale 1 / s. The authors draw theirs shorter by sqrt(d), so both are shown."""
    print("| data set | scales | steps | MSE in 1e-3 | lowest to highest |\n|---|---|---|---|---|")
    for name in ("toms_hardware", "air_quality", "twitter"):
        stream = load_dataset(name)
        for label, factor in (("1/s", 1.0), ("sqrt(d)/s", np.sqrt(stream.X.shape[1]))):
            kernels = tuple(RBF(factor / s) for s in (0.1, 1.0, 10.0))
            for steps, settings in (("ours", {}), ("theirs", {"eta_0": 0.35, "max_rate": 0.25})):
                shared = {"features": "orthogonal", "standardize": False, "warmup": 0, **settings}
                errors = []
                for seed in SEEDS:
                    model = baselines.AdaRaker(kernels, random_state=seed, **shared)  # type: ignore[arg-type]
                    run = model.warm_up(stream.X[:0], stream.y[:0]).prequential(stream.X, stream.y)
                    errors.append(1e3 * float(np.mean((run.mean - stream.y) ** 2)))
                spread = f"{min(errors):.3g} to {max(errors):.3g}"
                print(f"| {name} | {label} | {steps} | {np.median(errors):.3g} | {spread} |", flush=True)


def issgpr() -> None:
    """All training rows in random order; the test rows are the published ones (nearly all are among the training)."""
    stream, test = load_dataset("sarcos"), load_dataset("sarcos_test")
    print("| frequencies | nMSE, test rows | lowest to highest | µs per row |\n|---|---|---|---|")
    for n_frequencies in (50, 100, 200, 500):
        errors, times = [], []
        for seed in list(SEEDS)[: 5 if n_frequencies <= 200 else 1]:
            order = np.random.default_rng(seed).permutation(len(stream.X))
            x, y = stream.X[order], stream.y[order]
            model = baselines.ISSGPR(n_frequencies=n_frequencies, random_state=seed).warm_up(x[:1000], y[:1000])
            started = time.perf_counter()
            model.partial_fit(x, y)
            times.append(1e6 * (time.perf_counter() - started) / len(x))
            errors.append(float(np.mean((model.predict(test.X) - test.y) ** 2) / test.y.var()))
        spread = f"{min(errors):.4f} to {max(errors):.4f}"
        print(f"| {n_frequencies} | {np.median(errors):.4f} | {spread} | {np.median(times):.0f} |", flush=True)


def ssgp() -> None:
    """Rows in random order, and sorted by their first column: each batch then sees a third of the plane."""
    stream = load_dataset("banana")
    print("| order | error after batch 1 | 2 | 3 |\n|---|---|---|---|")
    for order in ("random", "sorted"):
        errors: list[list[float]] = []
        for seed in SEEDS:
            shuffled = np.random.default_rng(seed).permutation(len(stream.X))
            train, rest = shuffled[:399], shuffled[400:]
            if order == "sorted":
                train = train[np.argsort(stream.X[train, 0])]
            model = baselines.SSGPClassifier(batch_size=133, n_inducing=30, random_state=seed, standardize=False)
            model.warm_up(stream.X[train[:133]], stream.y[train[:133]], classes=[-1, 1])
            errors.append([])
            for begin in (0, 133, 266):
                if begin:
                    rows = train[begin : begin + 133]
                    model.partial_fit(stream.X[rows], stream.y[rows])
                errors[-1].append(float(np.mean(model.predict(stream.X[rest]) != stream.y[rest])))
        print(f"| {order} | " + " | ".join(f"{e:.3f}" for e in np.median(errors, axis=0)) + " |", flush=True)


PARTS: dict[str, Callable[[], None]] = {"adaraker": adaraker, "issgpr": issgpr, "ssgp": ssgp}


if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        print(f"\n{part}\n")
        PARTS[part]()
