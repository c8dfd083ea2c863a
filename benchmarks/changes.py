"""How soon changes of a stream are noticed, beside River's ADWIN, KSWIN and PageHinkley on our residuals.

    python benchmarks/changes.py [--seeds 8] [--quiet-rows 60000] [--calibrate] [--arm]

Streams of three columns with a smooth function and Gaussian noise. After row 1,500 of 2,000 one thing changes: the
level, by so many standard deviations of the noise; the standard deviation of the noise, by a factor; or the relation,
a share of the function being replaced by another one. The model is ``presets.light``. Delay is the number of rows
from the change to the first alarm, 500 if there is none. False alarms are counted on streams without a change, after
their first 500 rows. River's detectors get the standardised residuals and, in a second copy, their absolute values;
of a grid of settings each has the one with the shortest median delay that raises at most one false alarm in 10,000
rows. ``--calibrate`` prints the false alarms of ours on independent normal scores, ``--arm`` how many
changes are reported on the path of a robot arm whose load changes once or never, and where its rows are shuffled.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from typing import NamedTuple

import machine
import numpy as np
from river import drift

from iegp.core import changes as chg
from iegp.core.compute.tolerances import CHANGE_THRESHOLD
from iegp.datasets import robot_arm
from iegp.presets import light
from iegp.typing import Float

N, AT, LONGEST, SETTLED = 2000, 1500, 500, 500
NOISE = 0.3
TARGET = 1.0 / 10_000
CASES: dict[str, tuple[float, ...]] = {"level": (1.0, 2.0, 4.0), "noise": (0.4, 2.0, 4.0), "relation": (0.5, 1.0)}
# Of River's detectors, the settings that are tried.
GRIDS: dict[str, list[dict[str, float]]] = {
    "ADWIN": [{"delta": delta, "clock": 1} for delta in (0.5, 0.1, 0.02, 2e-3, 1e-5)],
    "KSWIN": [{"alpha": alpha, "seed": 0} for alpha in (1e-4, 1e-5, 1e-6)],
    "PageHinkley": [
        {"threshold": threshold, "delta": delta}
        for delta in (0.1, 0.25, 0.5)
        for threshold in (5, 7, 10, 15, 20, 30, 50)
    ],
}


class Passed(NamedTuple):
    """A stream that a model has passed over."""

    residuals: Float
    """(n,): in predicted standard deviations."""
    alarms: list[chg.Change]


Cases = dict[tuple[str, float], list[Passed]]


def stream(kind: str, size: float, n: int, at: int, seed: int) -> tuple[Float, Float]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    first, second = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1], np.sin(X[:, 1] + X[:, 2]) - 0.5 * X[:, 0]
    after = np.arange(n) >= at
    share = np.where(after & (kind == "relation"), size, 0.0)
    noise = NOISE * np.where(after & (kind == "noise"), size, 1.0) * rng.normal(size=n)
    level = NOISE * np.where(after & (kind == "level"), size, 0.0)
    return X, (1.0 - share) * first + share * second + noise + level


def passed(kind: str, size: float, n: int, at: int, seed: int) -> Passed:
    X, y = stream(kind, size, n, at, seed)
    model = light(random_state=0)
    run = model.prequential(X, y)
    return Passed((run.y - run.mean) / run.std, list(run.changes))


def alarms_of(name: str, setting: dict[str, float], residuals: Float) -> list[int]:
    """Rows at which either copy of a detector of River says that something changed."""
    signed, absolute = getattr(drift, name)(**setting), getattr(drift, name)(**setting)
    rows = []
    for row, value in enumerate(residuals[SETTLED:].tolist(), SETTLED):
        signed.update(value)
        absolute.update(abs(value))
        if signed.drift_detected or absolute.drift_detected:
            rows.append(row)
    return rows


def _delay(rows: list[int]) -> int:
    return next((row - AT for row in rows if AT <= row < AT + LONGEST), LONGEST)


def calibrate() -> None:
    rng, n = np.random.default_rng(0), 1_000_000
    rows = np.column_stack([np.clip(rng.normal(size=n), -3.5, 3.5), rng.normal(size=n)])
    found = chg.watch(chg.begin(1), rows, chg.FROM_START)
    print(f"threshold {CHANGE_THRESHOLD:g}: {1e4 * found.n_changes / n:.2f} false alarms in 10,000 normal scores")


def print_arm() -> None:
    heads = ("seed", "one change", "none", "one change, rows of each half shuffled", "none, shuffled")
    print(f"| {' | '.join(heads)} |\n|---|{'---:|' * (len(heads) - 1)}")
    for seed in range(3):
        counts = [arm_changes(seed, load, mixed) for mixed in (False, True) for load in (2.0, 0.0)]
        print(f"| {seed} | {' | '.join(map(str, counts))} |", flush=True)


def arm_changes(seed: int, load: float, is_shuffled: bool) -> int:
    arm, rng = robot_arm(payload_change=load, random_state=seed), np.random.default_rng(seed)
    half = len(arm.y) // 2
    mixed = np.concatenate([rng.permutation(half), half + rng.permutation(len(arm.y) - half)])
    order = mixed if is_shuffled else np.arange(len(arm.y))
    return len(light(random_state=0).prequential(arm.X[order], arm.y[order]).changes)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--quiet-rows", type=int, default=60_000)
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--arm", action="store_true")
    arguments = parser.parse_args()
    print(machine.describe())
    if arguments.calibrate:
        calibrate()
        return
    if arguments.arm:
        print_arm()
        return
    quiet = [passed("none", 0.0, 10_000, 0, 100 + seed) for seed in range(arguments.quiet_rows // 10_000)]
    n_quiet = sum(len(one.residuals) - SETTLED for one in quiet)
    cases: Cases = {
        (kind, size): [passed(kind, size, N, AT, seed) for seed in range(arguments.seeds)]
        for kind, sizes in CASES.items()
        for size in sizes
    }
    heads = " | ".join(f"{kind} {size:g}" for kind, size in cases)
    print(f"| detector | false alarms in 10,000 rows | {heads} | all |")
    print("|---" * (len(cases) + 3) + "|")
    rate = sum(len(one.alarms) for one in quiet) / n_quiet
    _print_line("iegp", rate, [[_delay([c.row for c in one.alarms]) for one in own] for own in cases.values()])
    for name, grid in GRIDS.items():
        _print_line(*min((_judged(name, setting, quiet, cases) for setting in grid), key=_median))
    for (kind, size), own in cases.items():
        kinds = [next((c.kind for c in one.alarms if c.row >= AT), "none") for one in own]
        print(f"{kind} {size:g} was called {', '.join(sorted(kinds))}")


Judged = tuple[str, float, list[list[int]]]


def _judged(name: str, setting: dict[str, float], quiet: list[Passed], cases: Cases) -> Judged:
    """A detector of River with its false alarms and delays; these are the longest if it raises too many alarms."""
    shown = (
        f"{name} ({', '.join(f'{key} {value:g}' for key, value in setting.items() if key not in ('seed', 'clock'))})"
    )
    n_quiet = sum(len(one.residuals) - SETTLED for one in quiet)
    rate = sum(len(alarms_of(name, setting, one.residuals)) for one in quiet) / n_quiet
    if rate > TARGET:
        return shown, rate, [[LONGEST + 1] * len(own) for own in cases.values()]
    delays = [[_delay(alarms_of(name, setting, one.residuals)) for one in own] for own in cases.values()]
    return shown, rate, delays


def _median(judged: Judged) -> float:
    return float(np.median(np.concatenate(judged[2])))


def _print_line(name: str, rate: float, delays: list[list[int]]) -> None:
    medians = " | ".join(f"{np.median(own):.0f}" for own in delays)
    print(f"| {name} | {1e4 * rate:.2f} | {medians} | {np.median(np.concatenate(delays)):.0f} |", flush=True)


if __name__ == "__main__":
    main()
