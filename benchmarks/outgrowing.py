"""Beyond one stream: merging, histories and fleets, M = 11 experts, F = 100 features, d = 20 columns; then an ensemble
of thousands of experts.

    python benchmarks/outgrowing.py [--rows 1000000] [--keys 1000] [--experts 2000] [--workers 2]    (0: leave that out)

Wall-clock times mean little while the machine does other things, so processor time is printed beside them, and the
load. The *floor* of a history is the time of the products it cannot do without, as plain ``np.matmul`` calls of the
same shapes: features (B x d x F/2), whitening (B x F x F) and the update (F x B x F), with B = 6 F rows, for every
expert.
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
from iegp.core.compute.tolerances import BLOCK_FEATURES
from iegp.core.ensemble import start
from iegp.core.expert.bulk_learning import absorb_in_any_order
from iegp.history import fit_history
from iegp.kernels import RBF
from iegp.parallel import ProcessEnsemble
from iegp.presets import ie_gp
from iegp.typing import Float

M, F, D_IN = 11, 100, 20
FILE_ROWS = 250_000
N_DRIFTS = 8
# Calls of one row that are timed together.
REPEATS = 50


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


def static_model() -> IEGPRegressor:
    return ie_gp(random_state=0, shutdown=0.0)


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


def precision() -> None:
    print("\nMerged, and unlearned, against one process: 11 RBF kernels with length scales 0.01 to 1000, 2,000 rows")
    print(
        f"{'prior/noise':>12} {'means':>9} {'stds':>9} {'log weights':>12} {'unlearned means':>16} {'log weights':>12}"
    )
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3000, 3))
    y = np.sin(x[:, 0]) + 0.1 * rng.standard_normal(3000)
    warm, first, second = slice(1000), slice(1000, 1700), slice(1700, 3000)
    for ratio in 10.0 ** np.arange(2, 13, 2):
        base = ie_gp(random_state=0, shutdown=0.0, prior_var=0.01 * ratio, noise_var=0.01).warm_up(x[warm], y[warm])
        one, two = (deepcopy(base).partial_fit(x[part], y[part]) for part in (first, second))
        whole = deepcopy(one).partial_fit(x[second], y[second])
        gaps = [*differences(deepcopy(one).merge(two), whole, x[:500])]
        gaps += differences(deepcopy(whole).unlearn(x[second], y[second]), one, x[:500])
        mean, std, weights, mean_without, _, weights_without = gaps
        print(f"{ratio:12.0e} {mean:9.0e} {std:9.0e} {weights:12.0e} {mean_without:16.0e} {weights_without:12.0e}")


def differences(got: IEGPRegressor, wanted: IEGPRegressor, x: Float) -> list[float]:
    """Largest errors of means, of standard deviations (relative), and of log weights in nats."""
    ours, theirs = got.predict_dist(x), wanted.predict_dist(x)
    nats = np.abs(got.model_.state.log_weights - wanted.model_.state.log_weights)
    return [
        float(np.abs(ours.mean - theirs.mean).max()),
        float(np.abs(ours.std / theirs.std - 1.0).max()),
        float(nats.max()),
    ]


def history(n_rows: int, most_workers: int) -> None:
    print(f"\nHistory of {n_rows:,} rows in Parquet files ({load()})")
    floor = floor_seconds()
    model = static_model().warm_up(*rows(1000)).model_
    x, y = rows(60_000)
    x, labels = model.scaling.standardise_x(x), model.scaling.standardise_y(y[:, None])
    state = start(model.experts.ensemble)
    absorb_in_any_order(model.experts.ensemble, state, x, labels)
    own = best(lambda: absorb_in_any_order(model.experts.ensemble, state, x, labels)).cpu / len(x)
    print(f"  floor (matrix products alone)    {floor.cpu * 1e6:7.1f} µs of processor time per row")
    print(f"  absorbing rows, one core         {own * 1e6:7.1f} µs: {own / floor.cpu:.2f} x the floor")
    with tempfile.TemporaryDirectory() as folder:
        write_history(Path(folder), n_rows)
        runs = {n_workers: timed_history(folder, n_rows, n_workers) for n_workers in dict.fromkeys((1, most_workers))}
        for n_workers, run in runs.items():
            print(
                f"  workers: {n_workers}, from start to end     {n_rows / run.wall:10,.0f} rows/s; between first and "
                f"last part {run.rate:,.0f} rows/s, 10^7 rows in {1e7 / run.rate / 60:.1f} minutes"
            )
        one, many = runs[1], runs[most_workers]
        starting = max(many.cpu - one.cpu, 0.0)
        long = one.cpu * 1e7 / n_rows
        print(
            f"  {most_workers} workers over one: {many.rate / one.rate:.2f} x between parts, as it was ({load()}).\n"
            f"  By processor time ({one.cpu:.1f} s alone, {many.cpu:.1f} s together), on idle "
            f"cores: {most_workers * one.cpu / many.cpu:.2f} x here, "
            f"{most_workers * long / (long + starting):.2f} x at 10^7 rows"
        )


class HistoryRun(NamedTuple):
    wall: float
    cpu: float
    """Of all workers, their start included."""
    rate: float
    """Rows per second once all workers are up."""


def timed_history(folder: str, n_rows: int, n_workers: int) -> HistoryRun:
    marks: list[tuple[float, int]] = []
    begun, cpu = time.perf_counter(), processor_seconds()
    fit_history(
        folder,
        static_model(),
        target="y",
        n_workers=n_workers,
        progress=lambda n: marks.append((time.perf_counter(), n)),
    )
    wall = time.perf_counter() - begun
    first, last = marks[min(n_workers, len(marks)) - 1], marks[-1]
    rate = (last[1] - first[1]) / (last[0] - first[0]) if last[0] > first[0] else n_rows / wall
    return HistoryRun(wall, processor_seconds() - cpu, rate)


def processor_seconds() -> float:
    """Of this process and of all its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


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
        line(f"single model, blocks, {n_threads} thread{'' if n_threads == 1 else 's'}", 20_000, seconds)
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
                line(f"{dtype}, {per_key} rows per key, {n_threads} thread{'' if n_threads == 1 else 's'}", n, seconds)
        grown = resident() - before
        print(
            f"  {dtype}: {fleet.bytes_per_key:,} bytes per key; the process grew by {grown / 2**20:.0f} MiB, "
            f"{grown / fleet.nbytes:.2f} x the sum of the states"
        )
        del fleet


def float32_precision() -> None:
    print(
        "\nBeliefs stored as float32, rounded after every call: largest difference to float64 over 100 calls of 32 rows"
    )
    print(f"{'experts':>12} {'prior/noise':>12} {'means / std of y':>17} {'stds':>9}")
    for name, drift_var in (("static", 0.0), ("random walk", 1e-3)):
        for ratio in (1e2, 1e4, 1e6):
            base = ie_gp(
                random_state=0, shutdown=0.0, prior_var=0.01 * ratio, noise_var=0.01, drift_var=drift_var
            ).warm_up(*rows(1000))
            x, y = rows(3200, 1)
            gaps = []
            full, half = (Fleet(base, dtype=dtype) for dtype in ("float64", "float32"))
            for i in range(0, 3200, 32):
                one, two = (fleet.learn("key", x[i : i + 32], y[i : i + 32]) for fleet in (full, half))
                gaps.append((np.abs(two.mean - one.mean).max() / y.std(), np.abs(two.std / one.std - 1.0).max()))
            mean, std = np.max(gaps, axis=0)
            print(f"{name:>12} {ratio:12.0e} {mean:17.0e} {std:9.0e}")


def large_ensemble(n_experts: int, n_workers: int) -> None:
    """One stream: threads against processes, in calls of many rows and row by row.

    Workers wait while the parent weighs the experts, so on idle cores a row takes the parent's processor time and that
    of one worker.
    """
    n_kernels = max(1, n_experts // N_DRIFTS)
    base = large_model(n_kernels, "bayes")
    n_experts = n_kernels * N_DRIFTS
    size = base.model_.state.matrix.nbytes / 2**20
    print(f"\nEnsemble of {n_experts:,} experts, {n_kernels} kernels x {N_DRIFTS} drifts: {size:.0f} MiB ({load()})")
    print(f"  {'':34}{'rows/s':>12}{'rows/s of processor time':>28}{'on idle cores':>16}{'the parent':>12}")
    x, y = rows(1000, 5)
    for n, name in ((len(x), f"{len(x)} rows per call"), (1, "1 row per call")):
        for n_threads in dict.fromkeys((1, n_workers)):
            base.n_jobs = n_threads
            seconds = best(lambda n=n: repeated(n, lambda: base._learn(x[:n], y[:n, None])))  # type: ignore[misc]
            line(f"{name}, threads: {n_threads}", max(n, REPEATS), seconds)
        over_processes(f"{name}, processes: {n_workers}", base, n_workers, x[:n], y[:n])
    for rule in ("stacking", "switching"):
        over_processes(f"{rule}, processes: {n_workers}", large_model(n_kernels, rule), n_workers, x, y)


def large_model(n_kernels: int, rule: str) -> IEGPRegressor:
    kernels = [RBF(float(length_scale)) for length_scale in np.geomspace(0.1, 100.0, n_kernels)]
    drifts = (0.0, *np.geomspace(1e-6, 1e-1, N_DRIFTS - 1).tolist())
    changes = {"noise_forgetting": None, "weights": rule, "shutdown": 0.0, "learn_warmup": False}
    model = IEGPRegressor(kernels, n_frequencies=F // 2, drift_var=drifts, random_state=0, **changes)  # type: ignore[arg-type]
    return model.warm_up(*rows(1000))


def repeated(n: int, task: Callable[[], object]) -> None:
    """Single rows are timed many at a time."""
    for _ in range(1 if n > 1 else REPEATS):
        task()


def over_processes(name: str, base: IEGPRegressor, n_workers: int, x: Float, y: Float) -> None:
    with ProcessEnsemble(base, n_workers=n_workers) as ensemble:
        pids = [worker.process.pid for worker in ensemble._pool.workers]
        ensemble.learn(x, y)
        before = sum(map(seconds_of, pids))
        seconds = best(lambda: repeated(len(x), lambda: ensemble.learn(x, y)))
        theirs = (sum(map(seconds_of, pids)) - before) / 3
    n = max(len(x), REPEATS)
    idle = seconds.cpu + theirs / n_workers
    speeds = f"{n / seconds.wall:12,.0f}{n / (seconds.cpu + theirs):28,.0f}{n / idle:16,.0f}"
    print(f"  {name:34}{speeds}{seconds.cpu / idle:12.1%}")


def seconds_of(pid: int | None) -> float:
    """Processor time of another process so far."""
    with open(f"/proc/{pid}/stat") as file:
        user, system = file.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def line(name: str, n: int, seconds: Seconds) -> None:
    print(f"  {name:34}{n / seconds.wall:12,.0f}{n / seconds.cpu:28,.0f}")


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--experts", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    print(machine.describe())
    if arguments.keys:
        merging()
        precision()
        fleets(arguments.keys)
        float32_precision()
    if arguments.rows:
        history(arguments.rows, arguments.workers)
    if arguments.experts:
        large_ensemble(arguments.experts, arguments.workers)


if __name__ == "__main__":
    main()
