"""What the choices that SSGP leaves open do, for docs/baselines.md.

python paper/benchmarks/ssgp_choices.py [--data sarcos] [--rows 16000] [--seeds 1]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from iegp_paper.competitors import SSGP

from iegp.datasets import load_dataset

CHOICES: dict[str, dict[str, Any]] = {
    "default": {},
    "70 % of the points kept": {"keep_share": 0.7},
    "points do not move": {"keep_share": 0.7, "optimise_points": False},
    "20 steps": {"n_steps": 20},
    "300 steps": {"n_steps": 300},
    "jitter 1e-4": {"jitter": 1e-4},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="sarcos")
    parser.add_argument("--rows", type=int, default=16_000)
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    stream = load_dataset(arguments.data)
    x, y = stream.X[: 1000 + arguments.rows], stream.y[: 1000 + arguments.rows]
    print(f"{arguments.data}: {len(x) - 1000} rows after 1000, median of {arguments.seeds} seeds\n")
    print("| choice | nMSE | pnLL | longest length scale | seconds |\n|---|---|---|---|---|")
    for name, settings in CHOICES.items():
        results = [measure(SSGP(random_state=seed, **settings), x, y) for seed in range(arguments.seeds)]
        accuracy, score, longest, seconds = np.median(results, axis=0)
        print(f"| {name} | {accuracy:.4f} | {score:.3f} | {longest:.0f} | {seconds:.0f} |", flush=True)


def measure(model: SSGP, x: Any, y: Any) -> tuple[float, float, float, float]:
    """Two scores (the second in units of the target's deviation), the longest length scale, processor seconds."""
    started = time.process_time()
    run = model.warm_up(x[:1000], y[:1000]).prequential(x[1000:], y[1000:])
    seconds = time.process_time() - started
    longest = float(np.exp(model._hyper.log_scales.numpy().max()))
    return run.nmse, run.pnll - float(np.log(y[:1000].std())), longest, seconds


if __name__ == "__main__":
    main()
