"""``iegp stream`` against the core alone: end to end over a CSV file, a live pipe line by line, memory.

``python benchmarks/stream.py [--rows 44484] [--memory-rows 1000000]``. Ratios are taken within one run, because
machines are noisy; rows come from SARCOS, or from a simulated robot arm where the data set is absent.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from machine import describe

from iegp.cli.models import settings_of
from iegp.cli.options import StreamOptions
from iegp.cli.stream import stream
from iegp.core import model as online
from iegp.datasets import load_dataset, robot_arm
from iegp.errors import DatasetError
from iegp.typing import Float

REPEATS = 5


def rows_of(n: int) -> tuple[str, Float, Float]:
    """SARCOS if it is there, else a robot arm of as many rows."""
    try:
        data = load_dataset("sarcos")
        return "SARCOS", data.X[:n], data.y[:n]
    except DatasetError:
        arm = robot_arm(n, noise=1.5, random_state=0)
        return "robot arm", arm.X[:n], arm.y[:n]


def write_csv(path: Path, x: Float, y: Float) -> None:
    names = ",".join([*(f"x{i}" for i in range(x.shape[1])), "y"])
    np.savetxt(path, np.column_stack([x, y]), delimiter=",", header=names, comments="", fmt="%.17g")


def replay_seconds(model: str, x: Float, y: Float, level: float | None) -> float:
    """The core's own pass over arrays in memory: predict, learn, and nothing else."""
    fresh = online.begin(settings_of(model, "regression", 0, {}), x.shape[1], 1)
    begun = time.perf_counter()
    for start in range(0, len(x), 1024):
        online.learn(fresh, x[start : start + 1024], y[start : start + 1024, None], 1, level)
    return time.perf_counter() - begun


def stream_seconds(folder: Path, source: Path, model: str, intervals: str, out: str) -> float:
    """The command, in this process: read, predict with intervals, learn, write answers and model."""
    options = StreamOptions(
        source=str(source),
        target="y",
        task="regression",
        model=model,
        out=str(folder / out),
        save=str(folder / "bench.model"),
        intervals=intervals,
        overwrite=True,
        quiet=True,
    )
    begun = time.perf_counter()
    stream(options)
    return time.perf_counter() - begun


def end_to_end(folder: Path, n: int) -> None:
    name, x, y = rows_of(n)
    source = folder / "rows.csv"
    write_csv(source, x, y)
    print(
        f"\n{name} as CSV, {len(x):,} rows of {x.shape[1]} columns: share of the core's replay rate (with intervals)\n"
    )
    print("| model | intervals | answers | core, rows/s | stream, rows/s | share |")
    print("|---|---|---|---:|---:|---:|")
    for model in ("die-gp", "default"):
        for intervals, out in (("exact", "a.jsonl"), ("exact", "a.csv"), ("exact", "a.parquet"), ("normal", "a.jsonl")):
            pairs = []
            for _ in range(REPEATS):
                core = replay_seconds(model, x, y, 0.95)
                pairs.append((core, stream_seconds(folder, source, model, intervals, out)))
            core, ours = sorted(pairs, key=lambda pair: pair[0] / pair[1])[len(pairs) // 2]
            rates = f"{len(x) / core:,.0f} | {len(x) / ours:,.0f} | {100 * core / ours:.0f} %"
            print(f"| {model} | {intervals} | {Path(out).suffix} | {rates} |", flush=True)


def live_pipe(n: int) -> None:
    """One line out for each line in, M = 11 experts of F = 100 features, d = 21; the model saved, lines journalled."""
    _, x, y = rows_of(n + 1100)
    print("\nA live pipe, each line answered before the next is sent, M = 11, F = 100, d = 21\n")
    print("| model | journal | median, ms | p99, ms |")
    print("|---|---|---:|---:|")
    for model in ("die-gp", "ie-gp"):
        for with_journal in (False, True):
            waits = pipe_waits(model, x, y, with_journal)[1100:]
            median, slow = np.quantile(waits, [0.5, 0.99])
            print(f"| {model} | {'yes' if with_journal else 'no'} | {median:.2f} | {slow:.2f} |", flush=True)


def pipe_waits(model: str, x: Float, y: Float, with_journal: bool) -> Float:
    """Milliseconds from each line to its answer."""
    with tempfile.TemporaryDirectory() as folder:
        # No expert is shut down, so that all eleven work to the end.
        config = Path(folder) / "keep.toml"
        config.write_text("[parameters]\nshutdown = 0.0\n")
        command = [sys.executable, "-m", "iegp", "stream", "-", "--target", "y", "--task", "regression", "--out", "-"]
        command += ["--model", model, "--quiet", "--config", str(config)]
        if with_journal:
            command += ["--save", str(Path(folder) / "pipe.model")]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None
        assert process.stdout is not None
        waits = []
        for features, label in zip(x.tolist(), y.tolist(), strict=True):
            record = {f"x{i}": value for i, value in enumerate(features)} | {"y": label}
            line = (json.dumps(record) + "\n").encode()
            begun = time.perf_counter()
            process.stdin.write(line)
            process.stdin.flush()
            process.stdout.readline()
            waits.append(1e3 * (time.perf_counter() - begun))
        process.stdin.close()
        process.wait()
        return np.array(waits)


def memory(n: int) -> None:
    """Resident memory of a run over n rows, from a CSV file that is written first."""
    print(f"\nResident memory of a run over {n:,} rows (die-gp, d = 21)\n")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "long.csv"
        _, x, y = rows_of(20_000)
        write_csv(source, x, y)
        body = source.read_text().split("\n", 1)[1]
        with open(source, "a") as file:
            for _ in range(max(0, n // len(x) - 1)):
                file.write(body)
        command = [sys.executable, "-m", "iegp", "stream", str(source), "--target", "y", "--model", "die-gp", "--quiet"]
        command += ["--task", "regression", "--out", str(Path(folder) / "a.jsonl"), "--save", str(Path(folder) / "m")]
        process = subprocess.Popen(command)
        sizes = []
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            sizes.append(watched.memory_info().rss / 2**20)
            time.sleep(0.5)
        sizes = [size for size in sizes if size > 0.0]
        marks = [sizes[int(share * (len(sizes) - 1))] for share in (0.25, 0.5, 0.75, 1.0)]
        print("| a quarter | half | three quarters | the end |\n|---:|---:|---:|---:|")
        print("| " + " | ".join(f"{mark:.1f} MiB" for mark in marks) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=44_484)
    parser.add_argument("--pipe-rows", type=int, default=3_000)
    parser.add_argument("--memory-rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    print(describe())
    with tempfile.TemporaryDirectory() as folder:
        end_to_end(Path(folder), arguments.rows)
    live_pipe(arguments.pipe_rows)
    memory(arguments.memory_rows)


if __name__ == "__main__":
    main()
