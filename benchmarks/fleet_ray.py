"""Cost and gain of sharding over Ray: rows per second of one process against 1, 2, ... shards on this machine.

The overhead of a batch is the time of ``learn`` beyond the in-process fleet for the same rows: checks, journal, two
trips through Ray, joining the results. It is measured with a model so small that learning takes almost no time.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import ray
from machine import describe

from iegp import Fleet, IEGPRegressor
from iegp.fleet import RayFleet, RayOptions
from iegp.kernels import RBF
from iegp.typing import Float

COLUMNS = 21


def template(n_experts: int, n_frequencies: int) -> IEGPRegressor:
    kernels = [RBF(10.0**power) for power in np.linspace(-2.0, 3.0, n_experts)]
    model = IEGPRegressor(
        kernels,
        n_frequencies=n_frequencies,
        drift_var=0.0,
        weights="bayes",
        shutdown=0.0,
        noise_forgetting=None,
        warmup=200,
        random_state=0,
    )
    return model.warm_up(*rows(200))


def rows(n: int) -> tuple[Float, Float]:
    X = np.random.default_rng(0).normal(size=(n, COLUMNS))
    return X, X[:, 0] + np.sin(X[:, 1])


def seconds_per_batch(fleet: Fleet | RayFleet, keys: list[int], n_batches: int, wait: bool) -> float:
    """Time batches after two that compile and allocate. ``wait``: for each result before the next batch is sent."""
    X, y = rows(len(keys))
    for _ in range(2):
        fleet.learn(keys, X, y)
    began = time.perf_counter()
    for _ in range(n_batches):
        if wait or isinstance(fleet, Fleet):
            fleet.learn(keys, X, y)
        else:
            fleet.submit(keys, X, y)
    if isinstance(fleet, RayFleet):
        fleet.flush()
    return (time.perf_counter() - began) / n_batches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--rows-per-key", type=int, default=32)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--shards", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    print(describe(), f"ray {ray.__version__}", sep=", ")
    ray.init(num_cpus=max(arguments.shards), include_dashboard=False, log_to_driver=False)
    # Nothing is stored while the clock runs: what a checkpoint costs depends on the disk.
    options = RayOptions(checkpoint_every=10**9)
    keys = np.repeat(np.arange(arguments.keys), arguments.rows_per_key).tolist()
    print(f"\n{arguments.keys} keys x {arguments.rows_per_key} rows per batch, M = 11, F = 100")
    print("| | rows/s, batch after batch | rows/s, 8 batches on their way |\n|---|---:|---:|")
    base = template(11, 50)
    one = seconds_per_batch(Fleet(base, n_jobs=1), keys, arguments.batches, wait=True)
    print(f"| in one process, one thread | {len(keys) / one:,.0f} | |")
    with tempfile.TemporaryDirectory() as folder:
        for n_shards in arguments.shards:
            with RayFleet(base, n_shards, Path(folder) / str(n_shards), options=options) as fleet:
                times = [seconds_per_batch(fleet, keys, arguments.batches, wait) for wait in (True, False)]
            print(f"| {n_shards} shards | {len(keys) / times[0]:,.0f} | {len(keys) / times[1]:,.0f} |")
        print("\nOverhead, one expert of 2 features, 1 shard")
        print("| rows per batch | ms per batch, waiting | on their way |\n|---|---:|---:|")
        tiny = template(1, 1)
        with RayFleet(tiny, 1, Path(folder) / "tiny", options=options) as fleet:
            for n_rows in (1, 100, 10_000):
                many = [i % 100 for i in range(n_rows)]
                here = seconds_per_batch(Fleet(tiny, n_jobs=1), many, 50, wait=True)
                over = [1e3 * (seconds_per_batch(fleet, many, 50, wait) - here) for wait in (True, False)]
                print(f"| {n_rows:,} | {over[0]:.2f} | {over[1]:.2f} |")
    ray.shutdown()


if __name__ == "__main__":
    main()
