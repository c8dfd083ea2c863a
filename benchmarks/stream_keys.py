"""``iegp stream --key`` against the same run without keys: rows per second, and the cost and gain of a model per key.

``python benchmarks/stream_keys.py [--rows 60000] [--keys 1000]``. Rates are rows per second of processor time, because
machines are noisy; medians of three. Sensors share the shape of their response and differ in offset and gain.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from machine import describe

from iegp.cli.about import fleet_of
from iegp.cli.options import StreamOptions
from iegp.cli.stream import stream
from iegp.fleet.keyed_learner import Fleets
from iegp.stream import checkpoint
from iegp.stream.checkpoint import RunState
from iegp.stream.job import Job

REPEATS = 3


def write_readings(path: Path, n: int, n_keys: int) -> None:
    rng = np.random.default_rng(0)
    key = rng.integers(0, n_keys, n)
    x = rng.normal(size=(n, 5))
    offset, gain = rng.normal(size=n_keys), rng.uniform(0.5, 2.0, n_keys)
    y = offset[key] + gain[key] * np.sin(2.0 * x[:, 0]) + 0.3 * x[:, 1] + 0.1 * rng.normal(size=n)
    with open(path, "w") as file:
        file.write("sensor,a,b,c,d,e,y\n")
        for name, row in zip(key.tolist(), np.column_stack([x, y]).tolist(), strict=True):
            file.write(f"s{name}," + ",".join(f"{value:.6f}" for value in row) + "\n")


def run(folder: Path, model: str, save: bool, flags: dict[str, Any]) -> float:
    """The command in this process; seconds of processor time. Only the last of several runs writes its model."""
    options = StreamOptions(
        source=str(folder / "readings.csv"),
        target="y",
        task="regression",
        model=model,
        out=str(folder / "answers.jsonl"),
        save=str(folder / "bench.model") if save else None,
        checkpoint_every="1h",
        overwrite=True,
        quiet=True,
        **flags,
    )
    begun = time.process_time()
    stream(options)
    return time.process_time() - begun


def measure(folder: Path, model: str, n: int, **flags: Any) -> tuple[float, Job, RunState]:
    """Rows per second, and what the run left."""
    seconds = median(run(folder, model, False, flags) for _ in range(REPEATS))
    run(folder, model, True, flags)
    return n / seconds, *checkpoint.read(folder / "bench.model", by_key=Fleets())


def line(folder: Path, model: str, n: int) -> str:
    alone, plain, _ = measure(folder, model, n, ignore=("sensor",))
    by_key, job, where = measure(folder, model, n, key="sensor")
    fleet = fleet_of(job)
    assert fleet is not None
    begun = time.process_time()
    checkpoint.write(folder / "bench.model", job, where)
    seconds = time.process_time() - begun
    errors = [f"{one.digest.results().loss.model:.3f}" for one in (plain, job)]
    covered = [f"{one.digest.results().coverage:.1%}" for one in (plain, job)]
    numbers = [
        f"{alone:,.0f}",
        f"{by_key:,.0f}",
        *errors,
        *covered,
        f"{fleet.bytes_per_key / 2**20:.2f}",
        f"{seconds:.1f} s",
    ]
    return "| " + " | ".join([model, *numbers]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--models", default="die-gp,light")
    arguments = parser.parse_args()
    print(describe())
    print(f"\n{arguments.rows:,} rows of {arguments.keys:,} keys as CSV, 5 columns, exact intervals\n")
    head = ["model", "rows/s without --key", "with", "nMSE without", "with", "95 % covers without", "with"]
    print("| " + " | ".join([*head, "MiB per key", "a checkpoint"]) + " |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for model in arguments.models.split(","):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_readings(folder / "readings.csv", arguments.rows, arguments.keys)
            print(line(folder, model, arguments.rows), flush=True)


if __name__ == "__main__":
    main()
