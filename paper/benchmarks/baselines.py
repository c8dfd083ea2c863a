"""Speed and accuracy of the paper's competitors beside (D)IE-GP on the first rows of a data set of the paper.

python paper/benchmarks/baselines.py [--data sarcos] [--rows 1000] [--seeds 3]

Warm-up on the first rows (their number depends on the task, as in the paper), then test-then-train. One pass is thrown
away first, so that no time goes into compilation.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from iegp_paper import competitors as baselines

from iegp import presets
from iegp.datasets import load_dataset

REGRESSION: dict[str, Callable[[int], Any]] = {
    "IE-GP": lambda seed: presets.ie_gp(random_state=seed),
    "DIE-GP": lambda seed: presets.die_gp(random_state=seed),
    "Raker": lambda seed: baselines.Raker(random_state=seed),
    "AdaRaker": lambda seed: baselines.AdaRaker(random_state=seed),
    "I-SSGPR": lambda seed: baselines.ISSGPR(random_state=seed),
    "SSGP": lambda seed: baselines.SSGP(random_state=seed),
    "batch random features": lambda seed: baselines.BatchRandomFeatureGP(random_state=seed),
    "batch GP": lambda _: baselines.BatchGP(),
}
CLASSIFICATION: dict[str, Callable[[int], Any]] = {
    "IE-GP": lambda seed: presets.ie_gp("classification", random_state=seed),
    "SIE-GP": lambda seed: presets.sie_gp("classification", random_state=seed),
    "Raker": lambda seed: baselines.RakerClassifier(random_state=seed),
    "AdaRaker": lambda seed: baselines.AdaRakerClassifier(random_state=seed),
    "SSGP": lambda seed: baselines.SSGPClassifier(random_state=seed),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="sarcos")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--models", default="", help="names separated by commas; all if empty")
    arguments = parser.parse_args()
    stream = load_dataset(arguments.data)
    x, y = stream.X, stream.y
    is_classes = arguments.data in ("banana", "musk", "ionosphere")
    # The paper: the first 1,000 rows, or 20 % of the rows for classes; those of Musk are sorted by class.
    warm = len(x) // 5 if is_classes else 1000
    if is_classes:
        order = np.random.default_rng(0).permutation(len(x))
        x, y = x[order], y[order]
    stop = warm + arguments.rows
    models = CLASSIFICATION if is_classes else REGRESSION
    chosen = [name for name in models if not arguments.models or name in arguments.models.split(",")]
    columns = "error | log loss" if is_classes else "nMSE | pnLL"
    print(f"{arguments.data}: {min(stop, len(x)) - warm} rows after {warm}, median of {arguments.seeds} seeds\n")
    print(f"| method | {columns} | warm-up s | µs per row |\n|---|---|---|---|---|")
    for name in chosen:
        measure(models[name](0), x[:warm], y[:warm], x[warm : warm + 10], y[warm : warm + 10])
        rows = x[:warm], y[:warm], x[warm:stop], y[warm:stop]
        results = [measure(models[name](seed), *rows) for seed in range(arguments.seeds)]
        accuracy, score, begin, each = np.median(results, axis=0)
        print(f"| {name} | {accuracy:.4f} | {score:.3f} | {begin:.2f} | {1e6 * each:.0f} |", flush=True)


def measure(model: Any, x_warm: Any, y_warm: Any, x: Any, y: Any) -> tuple[float, float, float, float]:
    """Two scores, seconds of the warm-up, seconds per row."""
    started = time.perf_counter()
    model.warm_up(x_warm, y_warm)
    warmed = time.perf_counter()
    run = model.prequential(x, y)
    done = time.perf_counter()
    scores = (run.error, run.log_loss) if hasattr(run, "error") else (run.nmse, run.pnll)
    return *scores, warmed - started, (done - warmed) / len(x)


if __name__ == "__main__":
    main()
