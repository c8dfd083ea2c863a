"""Coverage and width of 95 % intervals with and without ``conformal="online"``, per stream.

    IEGP_DATA=folder python benchmarks/conformal.py [--rows 8000] [--model light|default] [--streams air-quality,...]
    python benchmarks/conformal.py --scores [--rows 5000]

Streams are those of ``accuracy.py`` that the folder has, with their delay, and simulated ones: abrupt drift, heavy
tails, labels that come 24 rows late. All rows but those before the first label are scored, the warm-up included. Width
is the mean width with the correction over that without; the last columns are the widest interval over the median one,
without and with it.

With ``--scores`` there is no model: coverage for simulated scores, which calibrated predictions make standard normal.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from typing import Any, NamedTuple

import machine
import numpy as np
from accuracy import IN_TIME_ORDER, TARGETS, available, load

from iegp import IEGPRegressor
from iegp.core import conformal
from iegp.datasets.synthetic import drifting
from iegp.evaluate.runs import PrequentialRun
from iegp.presets import light
from iegp.typing import Float

SIMULATED: dict[str, dict[str, Any]] = {
    "abrupt drift": {"kind": "abrupt"},
    "recurring drift, Student noise": {"kind": "recurring", "noise_kind": "student"},
    "no drift": {"kind": "none"},
    "abrupt drift, labels 24 rows late": {"kind": "abrupt", "random_state": 1},
    "recurring drift, labels 24 rows late": {"kind": "recurring", "random_state": 2},
}


DELAYS = 0, 5, 24


def wandering(n_rows: int, rows: float, rng: np.random.Generator) -> Float:
    """A standard normal process that is remembered for so many rows."""
    share, found = np.exp(-1.0 / rows), rng.standard_normal(n_rows)
    for t in range(1, n_rows):
        found[t] = share * found[t - 1] + np.sqrt(1.0 - share**2) * found[t]
    return found


def simulated_scores(n_rows: int) -> dict[str, Float]:
    """Scores of a model that errs in one way or another."""
    rng, t = np.random.default_rng(0), np.arange(n_rows)
    normal = rng.standard_normal(n_rows)
    return {
        "calibrated": normal,
        "twice as large as they should be": 2.0 * normal,
        "Student-t, 2 degrees of freedom": rng.standard_t(2, n_rows),
        "size changes fourfold every 500 rows": np.where(t // 500 % 2, 2.0, 0.5) * normal,
        "8 off after a change, for some 50 rows": normal + 8.0 * np.exp(-np.maximum(t - 2000, 0) / 50.0) * (t >= 2000),
        "30 rows of 500 are 5 off": normal + 5.0 * (t % 500 < 30),
        "remembered for 100 rows": wandering(n_rows, 100.0, rng),
        "size wanders by a factor of 2 in 100 rows": 2.0 ** wandering(n_rows, 100.0, rng) * normal,
        "size wanders by a factor of 2 in 1000 rows": 2.0 ** wandering(n_rows, 1000.0, rng) * normal,
        "four times as large in the last 600 rows": np.where(t >= n_rows - 600, 4.0, 1.0) * normal,
        "200 rows are 30 off": normal + 30.0 * ((t >= 3000) & (t < 3200)),
    }


def print_scores(n_rows: int) -> None:
    print("| scores | " + " | ".join(f"{delay} rows late" for delay in DELAYS) + " |")
    print("|---|" + "---|" * len(DELAYS))
    for name, scores in simulated_scores(n_rows).items():
        shown = []
        for delay in DELAYS:
            _, ends = conformal.follow(conformal.begin((0.95,), 1), scores[:, None], delay, 0)
            low, high = ends[:, 0].T
            shown.append(f"{100 * np.mean((scores >= low) & (scores <= high)):.2f} %")
        print(f"| {name} | {' | '.join(shown)} |")


class Case(NamedTuple):
    X: Float
    y: Float
    delay: int


def cases(n_rows: int, names: list[str] | None) -> Iterator[tuple[str, Case]]:
    for name in available([*TARGETS, *IN_TIME_ORDER]):
        if names is None or name in names:
            stream = load(name)
            yield name, Case(stream.X[:n_rows], np.asarray(stream.y[:n_rows], dtype=float), stream.delay)
    for name, options in SIMULATED.items():
        if names is None or name in names:
            stream = drifting(n=n_rows, **options)
            yield name, Case(stream.X, stream.y, 24 if "late" in name else 0)


def run(case: Case, model: str, intervals: str | None) -> PrequentialRun:
    made: Any = light if model == "light" else IEGPRegressor
    found: PrequentialRun = made(random_state=0, delay=case.delay, conformal=intervals).prequential(case.X, case.y)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--model", default="light", choices=("light", "default"))
    parser.add_argument("--streams", type=lambda text: text.split(","))
    parser.add_argument("--scores", action="store_true")
    arguments = parser.parse_args()
    if arguments.scores:
        print_scores(arguments.rows)
        return
    print(machine.describe())
    print("| stream | rows | delay | coverage | conformal | width | widest | conformal |")
    print("|---|---|---|---|---|---|---|---|")
    for name, case in cases(arguments.rows, arguments.streams):
        plain, kept = (run(case, arguments.model, intervals) for intervals in (None, "online"))
        rows = slice(plain.n_blind, None)
        widths = [(found.upper - found.lower)[rows] for found in (plain, kept)]
        assert np.isfinite(widths[1]).all()
        ratio, widest = widths[1].mean() / widths[0].mean(), [own.max() / np.median(own) for own in widths]
        shown = f"{100 * plain.coverage:.2f} % | {100 * kept.coverage:.2f} % | {ratio:.3f}"
        print(f"| {name} | {len(plain)} | {case.delay} | {shown} | {widest[0]:.1f} | {widest[1]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
