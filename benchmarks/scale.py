"""Outgrowing one stream: merging, histories and fleets, M = 11 experts, F = 100 features, d = 20 columns.

    python benchmarks/scale.py [--rows 1000000] [--keys 1000] [--workers 2]

Wall-clock times mean little while the machine does other things, so processor time is printed beside them, and the load.
The *floor* of a history is the time of the products it cannot do without, as plain ``np.matmul`` calls of the same shapes:
features (B x d x F/2), whitening (B x F x F) and the update (F x B x F), with B = 6 F rows, for every expert.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import tempfile
import time
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

import machine
import numpy as np
import pyarrow as pa
import pyarrow.parquet

from iegp import Fleet, IEGPRegressor
from iegp.core.absorbing import BLOCK_FEATURES, absorb_in_any_order
from iegp.core.ensemble import start
from iegp.presets import ie_gp
from iegp.scale import fit_history
from iegp.typing import Float

M, F, D_IN = 11, 100, 20
FILE_ROWS = 250_000


class Seconds(NamedTuple):
    """The shortest of a few runs: noise only ever adds."""

    wall: float
    cpu: float


def best(task: Callable[[], object], repeats: int = 3) -> Seconds:
    times = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        task()
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    return Seconds(*map(min, zip(*times, strict=True)))


def rows(n: int, seed: int = 0) -> tuple[Float, Float]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, D_IN))
    return x, np.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.1 * rng.standard_normal(n)


def static_model(**changes: object) -> IEGPRegressor:
    return ie_gp(random_state=0, shutdown=0.0, **changes)


def load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def floor_seconds() -> Seconds:
    """Per row."""
    n = BLOCK_FEATURES * F
    rng = np.random.default_rng(0)
    x, v = rng.standard_normal((n, D_IN)), rng.standard_normal((D_IN, F // 2))
    phi, square = rng.standard_normal((n, F)), rng.standard_normal((F, F))

    def products() -> None:
        for _ in range(20 * M):
            np.matmul(x, v)
            np.matmul(phi.T, np.matmul(phi, square))

    seconds = best(products)
    return Seconds(seconds.wall / (20 * n), seconds.cpu / (20 * n))


def merging() -> None:
    base = static_model().warm_up(*rows(1000))
    first, second = (deepcopy(base).partial_fit(*rows(2000, seed)) for seed in (1, 2))
    seconds = best(lambda: deepcopy(first).merge(second))
    print(f"\nMerge of two models: {seconds.cpu * 1e3:.1f} ms of processor time, whatever the number of rows")


def history(n_rows: int, most_workers: int) -> None:
    print(f"\nHistory of {n_rows:,} rows in Parquet files ({load()})")
    floor = floor_seconds()
    model = static_model().warm_up(*rows(1000))._online
    x, y = rows(60_000)
    x, labels = model.scaling.standardise_x(x), model.scaling.standardise_y(y[:, None])
    state = start(model.experts.ensemble)
    absorb_in_any_order(model.experts.ensemble, state, x, labels)
    own = best(lambda: absorb_in_any_order(model.experts.ensemble, state, x, labels)).cpu / len(x)
    print(f"  floor (matrix products alone)    {floor.cpu * 1e6:7.1f} µs of processor time per row")
    print(f"  absorbing rows, one core         {own * 1e6:7.1f} µs: {own / floor.cpu:.2f} x the floor")
    with tempfile.TemporaryDirectory() as folder:
        write_history(Path(folder), n_rows)
        rates = {}
        for n_workers in dict.fromkeys((1, most_workers)):
            begun = time.perf_counter()
            fit_history(folder, static_model(), target="y", n_workers=n_workers)
            rates[n_workers] = n_rows / (time.perf_counter() - begun)
            print(
                f"  {n_workers} worker{'s' if n_workers > 1 else ' '}, start included        "
                f"{rates[n_workers]:10,.0f} rows/s; 10^7 rows would take {1e7 / rates[n_workers] / 60:.1f} minutes"
            )
        print(f"  {most_workers} workers over one              {rates[most_workers] / rates[1]:10.2f} x ({load()})")


def write_history(folder: Path, n_rows: int) -> None:
    for number in range(-(-n_rows // FILE_ROWS)):
        x, y = rows(min(FILE_ROWS, n_rows - number * FILE_ROWS), number)
        columns = {f"x{j}": x[:, j] for j in range(D_IN)} | {"y": y}
        pa.parquet.write_table(pa.table(columns), folder / f"{number:04}.parquet", row_group_size=65536)


def fleets(n_keys: int) -> None:
    print(f"\nFleet of {n_keys:,} keys ({load()})")
    base = static_model().warm_up(*rows(1000))
    x, y = rows(n_keys * 32, 3)
    single = deepcopy(base)
    single._learn(x[:500], y[:500, None])
    print(f"  {'':34}{'rows/s':>12}{'rows/s of processor time':>28}")
    for n_threads in (1, 2):
        single.n_jobs = n_threads
        seconds = best(lambda: single._learn(x[:20_000], y[:20_000, None]))
        line(f"single model, blocks, {n_threads} thread{'s'[:n_threads - 1]}", 20_000, seconds)
    for dtype in ("float64", "float32"):
        before = resident()
        fleet = Fleet(base, range(n_keys), dtype=dtype)
        fleet.learn(np.arange(n_keys), x[:n_keys], y[:n_keys])
        for per_key in (32, 1):
            n = n_keys * per_key
            keys = np.tile(np.arange(n_keys), per_key)
            for n_threads in (1, 2):
                fleet.n_jobs = n_threads
                seconds = best(lambda keys=keys, n=n, fleet=fleet: fleet.learn(keys, x[:n], y[:n]))  # type: ignore[misc]
                line(f"{dtype}, {per_key} rows per key, {n_threads} thread{'s'[:n_threads - 1]}", n, seconds)
        grown = resident() - before
        print(
            f"  {dtype}: {fleet.bytes_per_key:,} bytes per key; the process grew by {grown / 2**20:.0f} MiB, "
            f"{grown / fleet.nbytes:.2f} x the sum of the states"
        )
        del fleet


def line(name: str, n: int, seconds: Seconds) -> None:
    print(f"  {name:34}{n / seconds.wall:12,.0f}{n / seconds.cpu:28,.0f}")


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    print(machine.describe())
    merging()
    fleets(arguments.keys)
    history(arguments.rows, arguments.workers)


if __name__ == "__main__":
    main()
