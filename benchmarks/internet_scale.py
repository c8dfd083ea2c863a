"""Estimates for a million keys and a million rows per second: the tables of docs/internet-scale.md.

    python benchmarks/internet_scale.py [--keys 1e6] [--rows 1e6] [--cpu-blocks 31000] ...

All measured figures, and all assumptions about machines, are arguments; the rest is arithmetic on these. Nothing is
measured here. Run it with your own figures, or with those of a later version.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

GB, GIB = 1e9, 2.0**30
HOUR, YEAR = 3600.0, 365.25 * 24 * 3600.0

MEASURED = {
    "cpu_blocks": (31_000.0, "rows/s of one core, 32 rows per key and call", "`python benchmarks/outgrowing.py`"),
    "cpu_single": (8_600.0, "rows/s of one core, 1 row per key and call", "`python benchmarks/outgrowing.py`"),
    "gpu_blocks": (6.6e6, "rows/s of an H200, 32 rows per key and call", "`python benchmarks/fleet_gpu.py`"),
    "gpu_single": (5.1e5, "rows/s of an H200, 1 row per key, other keys each call", "`docs/gpu.md`, 1,000 keys"),
    "gpu_gib": (139.0, "memory of an H200, GiB", "`nvidia-smi`"),
    "driver_ms": (8.0, "ms of a Ray driver per batch of 10,000 rows", "`make bench-ray`, on busy cores"),
    "restart_s": (3.0, "s until a killed Ray shard is back, state small", "one run, `docs/ray.md`"),
    "history": (83_000.0, "rows/s of one worker learning a history", "`python benchmarks/outgrowing.py`"),
}
ASSUMED = {
    "keys": (1e6, "keys"),
    "rows": (1e6, "rows/s, all keys together, evenly"),
    "columns": (20.0, "columns of X, 8 bytes each"),
    "key_bytes": (16.0, "bytes of a key on the wire"),
    "node_cores": (64.0, "cores of a CPU node"),
    "node_gib": (512.0, "memory of a CPU node, GiB"),
    "node_gbs": (400.0, "GB/s between a CPU node's memory and its cores"),
    "disk_gbs": (2.0, "GB/s of a node, or of a GPU's host, to where checkpoints lie"),
    "use": (0.5, "share of speed and memory that is planned for; the rest catches up after failures"),
    "failures": (1.0, "failures per node and year"),
}


class Model(NamedTuple):
    """What the size of a state depends on, for one output."""

    name: str
    beliefs: int
    features: int
    noise_models: int = 1

    def bytes_per_key(self, item: int = 8) -> int:
        """As ``Fleet.bytes_per_key``: beliefs; in float64 noise, weights, spread, counts of rows, far-off labels."""
        experts = self.beliefs * self.noise_models
        return self.beliefs * (self.features**2 + self.features) * item + 8 * (self.noise_models + 2 * experts + 6)

    @property
    def work(self) -> float:
        """Matrix entries that a row meets."""
        return float(self.beliefs * self.features**2)


PAPER = Model("11 experts, F = 100", 11, 100)
MODELS = [
    PAPER,
    Model("11 experts, F = 50", 11, 50),
    Model("4 experts, F = 100", 4, 100),
    Model("4 experts, F = 50", 4, 50),
    Model("`presets.light`", 12, 100, 3),
    Model("the default", 32, 150, 3),
]


def table(title: str, head: Sequence[str], lines: Iterable[Sequence[str]], n_text: int = 1) -> None:
    """Columns of text first, then of numbers."""
    print(f"\n{title}\n")
    print(f"| {' | '.join(head)} |")
    print(f"|{'---|' * n_text}{'---:|' * (len(head) - n_text)}")
    for line in lines:
        print(f"| {' | '.join(line)} |")


def number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def whole(value: float) -> str:
    return f"{math.ceil(value - 1e-9):,}"


def short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def amount(n_bytes: float) -> str:
    return f"{n_bytes / 1e12:,.2f} TB" if n_bytes >= 1e10 else f"{n_bytes / GB:,.2f} GB"


def inputs(given: argparse.Namespace) -> None:
    values = vars(given)
    lines = [(text, f"{number(values[name])}", source) for name, (_, text, source) in MEASURED.items()]
    lines += [(text, f"{number(values[name])}", "assumed") for name, (_, text) in ASSUMED.items()]
    table("Inputs", ("input", "value", "from"), lines, n_text=3)


def states(given: argparse.Namespace) -> None:
    lines = []
    for model in MODELS:
        for item, dtype in ((8, "float64"), (4, "float32")):
            total = given.keys * model.bytes_per_key(item)
            nodes = total / (given.use * given.node_gib * GIB)
            gpus = total / (0.9 * given.gpu_gib * GIB)
            lines.append(
                (
                    f"{model.name}, {dtype}",
                    f"{model.bytes_per_key(item):,}",
                    amount(total),
                    whole(nodes),
                    whole(gpus),
                )
            )
    table("State", ("model", "bytes per key", f"{given.keys:,.0f} keys", "CPU nodes to hold it", "GPUs"), lines)


def rates(given: argparse.Namespace) -> None:
    lines = []
    for model in (PAPER, MODELS[-1]):
        slower = model.work / PAPER.work
        for per_call, cpu, gpu in (
            (32, given.cpu_blocks, given.gpu_blocks),
            (1, given.cpu_single, given.gpu_single),
        ):
            cores = given.rows * slower / cpu / given.use
            # A state is read and written once per key and call.
            moved = 2.0 * model.bytes_per_key() / per_call
            bandwidth = given.rows * moved / (given.node_gbs * GB) / given.use
            lines.append(
                (
                    f"{model.name}, {per_call} row{'' if per_call == 1 else 's'} per key and call",
                    f"{1e6 * slower / cpu:,.0f} µs",
                    f"{moved / 1024:,.0f} KiB",
                    whole(cores),
                    whole(cores / given.node_cores),
                    whole(bandwidth),
                    whole(given.rows * slower / gpu / given.use),
                    f"{per_call * given.keys / given.rows:,.0f} s",
                )
            )
    head = (
        "",
        "core time per row",
        "memory moved per row",
        "cores",
        "CPU nodes by cores",
        "by bandwidth",
        "GPUs",
        "rows wait",
    )
    table("Rate", head, lines)


def wire(given: argparse.Namespace) -> None:
    row_in = given.key_bytes + 8 * given.columns + 8
    lines = [("rows in: key, X, y", short(row_in), f"{row_in * given.rows / 1e6:,.0f} MB/s")]
    row_out = given.key_bytes + 5 * 8
    lines.append(
        ("answers: key, mean, std, interval, score", short(row_out), f"{row_out * given.rows / 1e6:,.0f} MB/s")
    )
    for model in (PAPER, MODELS[-1]):
        weights = 8 * model.beliefs * model.noise_models
        lines.append((f"weights, if sent: {model.name}", short(weights), f"{weights * given.rows / 1e6:,.0f} MB/s"))
    per_driver = 10_000 / (given.driver_ms * 1e-3)
    lines.append(("Ray drivers, 10,000 rows per batch", "", whole(given.rows / per_driver / given.use)))
    table("Network", ("what", "bytes per row", "all"), lines)


def checkpoints(given: argparse.Namespace) -> None:
    n_nodes = nodes_needed(given)
    share = given.keys * PAPER.bytes_per_key() / n_nodes
    seconds = share / (given.disk_gbs * GB)
    row_bytes = given.key_bytes + 8 * given.columns + 8
    lines = []
    for name, interval in (("10 minutes", 600.0), ("1 hour", HOUR), ("6 hours", 6 * HOUR), ("1 day", 24 * HOUR)):
        reload = given.restart_s + seconds
        # Rows of half an interval and of the reload, learned at full speed while new ones come in.
        late = reload + (0.5 * interval + reload) * given.use / (1.0 - given.use)
        lines.append(
            (
                name,
                f"{seconds / interval:.1%}",
                f"{given.keys * PAPER.bytes_per_key() / interval / GB:,.2f} GB/s",
                amount(2 * interval * given.rows * row_bytes),
                f"{late / 60:,.0f} min",
                f"{given.failures * late / YEAR:.1e}",
            )
        )
    head = "every", "of the time", "written, all nodes", "journal kept", "back after a failure", "of a key's time late"
    title = f"Checkpoints of {n_nodes} nodes, {share / GB:,.0f} GB and {seconds:,.0f} s each"
    table(title, head, lines)
    per_year = n_nodes * given.failures
    print(
        f"\n{n_nodes} nodes fail {per_year:,.0f} times a year, one every {365.25 / per_year:,.0f} days; a second fails"
    )
    print(f"within an hour of the first {per_year * (n_nodes - 1) * given.failures * HOUR / YEAR:.1g} times a year.")


def nodes_needed(given: argparse.Namespace) -> int:
    """CPU nodes for the paper's model at one row per key and call: memory, cores or bandwidth, whatever wants most."""
    size = PAPER.bytes_per_key()
    by_memory = given.keys * size / (given.use * given.node_gib * GIB)
    by_cores = given.rows / given.cpu_single / given.node_cores / given.use
    by_bandwidth = 2.0 * given.rows * size / (given.node_gbs * GB) / given.use
    return math.ceil(float(max(by_memory, by_cores, by_bandwidth)))


def paging(given: argparse.Namespace) -> None:
    size = PAPER.bytes_per_key()
    lines = []
    for live in (1.0, 0.1, 0.01):
        # Every key that is not live comes back once a day, and another goes.
        swaps = given.keys * (1.0 - live) / (24 * HOUR)
        lines.append(
            (
                f"{live:.0%}",
                f"{live * given.keys * size / GB:,.0f} GB",
                short(swaps) if swaps else "0",
                f"{2 * swaps * size / 1e6:,.0f} MB/s",
                f"{1e3 * size / (given.disk_gbs * GB):.1f} ms",
            )
        )
    head = "keys live", "memory", "keys fetched per second", "disk", "a fetch takes"
    table("Idle keys paged out, each back once a day (not built)", head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, (default, text, *_) in (MEASURED | ASSUMED).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=default, help=text)
    given = parser.parse_args()
    for print_table in (inputs, states, rates, wire, checkpoints, paging):
        print_table(given)
    one, all_keys = 1e9 / given.history / HOUR, 1e3 * given.keys / given.cpu_blocks / HOUR
    print(
        f"\nTo begin with a past: 10^9 rows of one stream take one core {one:,.1f} hours (`fit_history`), 1,000 rows of"
    )
    print(f"every key {all_keys:,.1f} hours (a fleet, 32 rows per key and call); both divide among cores.")


if __name__ == "__main__":
    main()
