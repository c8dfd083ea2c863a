"""Fleets on a GPU: rows per second, the ratio to the CPU's fleet, and how far the two are apart.

    python benchmarks/fleet_gpu.py [--small] [--device cuda] [--keys 1000] [--jobs 2] [--profile]
        [--no-fused] [--only fleets|large] [--kinds 1]

Needs, beside ``src/`` on PYTHONPATH (or the package installed): Python >= 3.11, torch (with CUDA for a GPU), numpy,
scipy, scikit-learn, numba, threadpoolctl, safetensors. Nothing is downloaded. Without a GPU it runs with PyTorch on the
CPU, which says nothing about speed: use ``--small`` to see that it works.

Every figure is the median of several calls after a warm-up call, with the device's queue emptied before and after. *On
the device* means that data is there already, keys are routed (``learn_slots``) and results stay there; *from NumPy* is
``learn(keys, X, y)`` with everything that goes with it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from iegp import Fleet, IEGPRegressor
from iegp.fleet import TorchFleet
from iegp.fleet.pytorch import fused
from iegp.kernels import RBF
from iegp.parallel import TorchEnsemble
from iegp.typing import Float

D_IN = 21
STATIC = {"drift_var": 0.0, "weights": "bayes", "shutdown": 0.0, "noise_forgetting": None}
KINDS: dict[str, dict[str, Any]] = {
    "static, Bayes, fixed noise": STATIC,
    "static, Bayes with shutdown": STATIC | {"shutdown": 1e-16},
    "drifting, Bayes, fixed noise": STATIC | {"drift_var": 1e-3},
    "static, switching": STATIC | {"weights": "switching"},
    "static, stacking, three noise models": STATIC
    | {"weights": "stacking", "noise_forgetting": (None, 0.98, (0.9, 5.0))},
}


class Size(NamedTuple):
    keys: int
    experts: int
    frequencies: int
    calls: int
    cpu_keys: int
    large_experts: int
    gram_frequencies: int
    gram_rows: int


FULL = Size(1000, 11, 50, 20, 1000, 2000, 500, 2**20)
SMALL = Size(20, 3, 10, 3, 20, 40, 25, 2**12)


def rows_of(n: int, seed: int = 0) -> tuple[Float, Float]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D_IN))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n)


def template(n_experts: int, n_frequencies: int, changes: dict[str, Any]) -> IEGPRegressor:
    kernels = [RBF(float(scale)) for scale in 10.0 ** np.linspace(0.0, 1.5, n_experts)]
    model = IEGPRegressor(kernels, n_frequencies=n_frequencies, warmup=500, random_state=0, robust=False, **changes)
    return model.warm_up(*rows_of(500, seed=1))


def seconds(task: Callable[[], object], device: str, calls: int) -> float:
    """Median time of a call."""
    wait = torch.cuda.synchronize if device.startswith("cuda") else lambda: None
    times = []
    for _ in range(calls + 2):
        wait()
        start = time.perf_counter()
        task()
        wait()
        times.append(time.perf_counter() - start)
    return statistics.median(times[2:])


def difference(base: IEGPRegressor, dtype: str, device: str, n_keys: int, rows_per_key: int) -> float:
    """Largest difference to the CPU's fleet over three calls, of means, deviations, log scores and weights."""
    fleets = TorchFleet(base, dtype=dtype, device=device), Fleet(base, n_jobs=-1)
    worst = 0.0
    for call in range(3):
        X, y = rows_of(n_keys * rows_per_key, seed=10 + call)
        keys = np.random.default_rng(call).permutation(np.repeat(np.arange(n_keys), rows_per_key))
        ours, theirs = (fleet.learn(keys, X, y) for fleet in fleets)
        for name in ("mean", "std", "log_score", "weights"):
            worst = max(worst, float(np.abs(getattr(ours, name) - getattr(theirs, name)).max()))
    return worst


def profile(task: Callable[[], object]) -> None:
    """What a call spends its time on."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as seen:
        task()
        torch.cuda.synchronize()
    kernels = sum(event.count for event in seen.key_averages() if event.key in ("cudaLaunchKernel", "cuLaunchKernel"))
    print(f"    kernels launched: {kernels}")
    print(seen.key_averages().table(sort_by="self_cuda_time_total", row_limit=15, max_name_column_width=60))


def fleets(size: Size, device: str, jobs: int, profiles: bool, n_kinds: int) -> None:
    for kind, changes in list(KINDS.items())[:n_kinds]:
        base = template(size.experts, size.frequencies, changes)
        print(f"\n{kind}: {size.keys} keys, M = {size.experts}, F = {2 * size.frequencies}, d = {D_IN}")
        for rows_per_key in (32, 1):
            n = size.keys * rows_per_key
            X, y = rows_of(n)
            keys = np.repeat(np.arange(size.keys), rows_per_key)
            n_cpu = size.cpu_keys * rows_per_key
            cpu = Fleet(base, range(size.cpu_keys), n_jobs=jobs)
            cpu_rate = n_cpu / seconds(lambda: cpu.learn(keys[:n_cpu], X[:n_cpu], y[:n_cpu]), "cpu", 3)  # noqa: B023
            print(f"  {rows_per_key:2d} rows per key and call: CPU fleet, {jobs} threads: {cpu_rate:.3g} rows/s")
            for dtype in ("float64", "float32"):
                fleet = TorchFleet(base, range(size.keys), dtype=dtype, device=device)
                x, labels = (torch.tensor(part, device=device) for part in (X, y))
                x, labels = x.view(size.keys, rows_per_key, D_IN), labels.view(size.keys, rows_per_key)

                def on_device() -> None:
                    fleet.learn_slots(None, x, labels)  # noqa: B023

                inside = n / seconds(on_device, device, size.calls)
                outside = n / seconds(lambda: fleet.learn(keys, X, y), device, size.calls)  # noqa: B023
                apart = difference(base, dtype, device, min(size.keys, 50), rows_per_key)
                print(
                    f"     {dtype}: on the device {inside:.3g} rows/s ({inside / cpu_rate:.0f} x), from NumPy "
                    f"{outside:.3g} rows/s; furthest from the CPU fleet {apart:.1e}"
                )
                if profiles and dtype == "float64":
                    profile(on_device)


def large(size: Size, device: str) -> None:
    print(f"\nOne stream, {size.large_experts} experts, F = {2 * size.frequencies}")
    base = template(size.large_experts, size.frequencies, STATIC | {"prior_var": 1.0, "noise_var": 0.1})
    ensemble = TorchEnsemble(base, device=device)
    X, y = rows_of(256)
    rate = len(X) / seconds(lambda: ensemble.learn(X, y), device, 3)
    print(f"  blocks of 64 rows: {rate:.3g} rows/s, {rate * size.large_experts:.3g} rows x experts/s")
    base = template(2, size.gram_frequencies, STATIC | {"prior_var": 1.0, "noise_var": 0.1})
    ensemble = TorchEnsemble(base, device=device)
    X, y = rows_of(size.gram_rows)
    rows, labels = torch.tensor(X, device=device), torch.tensor(y, device=device)
    rate = 2 * len(X) / seconds(lambda: ensemble.gram(rows, labels), device, 3)
    print(f"  sums of features at F = {2 * size.gram_frequencies}: {rate:.3g} rows/s per expert")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="tiny sizes, to see that it works")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--keys", type=int, default=None)
    parser.add_argument("--jobs", type=int, default=2, help="threads of the CPU's fleet")
    parser.add_argument("--profile", action="store_true", help="show where a call spends its time (needs a GPU)")
    parser.add_argument("--no-fused", action="store_true", help="plain PyTorch, without the package's kernels")
    parser.add_argument("--only", choices=("fleets", "large"), default=None)
    parser.add_argument("--kinds", type=int, default=len(KINDS), help="how many kinds of ensembles, from the first on")
    arguments = parser.parse_args()
    size = SMALL if arguments.small else FULL
    if arguments.keys is not None:
        size = size._replace(keys=arguments.keys, cpu_keys=min(arguments.keys, 1000))
    is_gpu = arguments.device.startswith("cuda")
    name = torch.cuda.get_device_name(arguments.device) if is_gpu else "CPU (PyTorch)"
    print(f"{name}, torch {torch.__version__}, numpy {np.__version__}")
    fused.ENABLED = not arguments.no_fused
    if arguments.only != "large":
        fleets(size, arguments.device, arguments.jobs, arguments.profile and is_gpu, arguments.kinds)
    if arguments.only != "fleets":
        large(size, arguments.device)


if __name__ == "__main__":
    main()
