"""Coverage and width of 95 % intervals with and without ``conformal="online"``, per stream.

    IEGP_DATA=folder python benchmarks/conformal.py [--rows 8000] [--model light|default] [--streams air-quality,...]

Streams are those of ``accuracy.py`` that the folder has, with their delay, and simulated ones: abrupt drift, heavy
tails, labels that come 24 rows late. All rows but those before the first label are scored, the warm-up included. Width
is the mean width with the correction over that without; the last column is the longest interval over the median one.
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
from iegp.datasets.synthetic import drifting
from iegp.evaluate.runs import PrequentialRun
from iegp.presets import light
from iegp.typing import Float

SIMULATED: dict[str, dict[str, Any]] = {
    "abrupt drift": {"kind": "abrupt"},
    "recurring drift, Student noise": {"kind": "recurring", "noise_kind": "student"},
    "no drift": {"kind": "none"},
    "abrupt drift, labels 24 rows late": {"kind": "abrupt", "random_state": 1},
}


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


def run(case: Case, model: str, conformal: str | None) -> PrequentialRun:
    made: Any = light if model == "light" else IEGPRegressor
    found: PrequentialRun = made(random_state=0, delay=case.delay, conformal=conformal).prequential(case.X, case.y)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--model", default="light", choices=("light", "default"))
    parser.add_argument("--streams", type=lambda text: text.split(","))
    arguments = parser.parse_args()
    print(machine.describe())
    print("| stream | rows | delay | coverage | conformal | width | longest |")
    print("|---|---|---|---|---|---|---|")
    for name, case in cases(arguments.rows, arguments.streams):
        plain, kept = (run(case, arguments.model, conformal) for conformal in (None, "online"))
        rows = slice(plain.n_blind, None)
        widths = [(found.upper - found.lower)[rows] for found in (plain, kept)]
        assert np.isfinite(widths[1]).all()
        ratio, longest = widths[1].mean() / widths[0].mean(), widths[1].max() / np.median(widths[1])
        shown = f"{100 * plain.coverage:.2f} % | {100 * kept.coverage:.2f} % | {ratio:.3f} | {longest:.1f}"
        print(f"| {name} | {len(plain)} | {case.delay} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
