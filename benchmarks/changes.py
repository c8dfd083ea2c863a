"""How soon changes of a stream are noticed, beside River's ADWIN, KSWIN and PageHinkley on our residuals.

    python benchmarks/changes.py [--seeds 8] [--quiet-rows 60000] [--calibrate]

Streams of three columns with a smooth function and Gaussian noise. After row 1,500 of 2,000 one thing changes: the
level, by so many standard deviations of the noise; the standard deviation of the noise, by a factor; or the relation,
a share of the function being replaced by another one. The model is ``presets.light``. Delay is the number of rows
from the change to the first alarm, 500 if there is none. False alarms are counted on streams without a change, after
their first 500 rows. River's detectors get the standardised residuals and, in a second copy, their absolute values;
of a grid of settings each has the first, most sensitive one that raises at most one false alarm in 10,000 rows.
``--calibrate`` prints the false alarms of ours on independent normal scores.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import machine
import numpy as np
from river import drift

from iegp.core import changes as chg
from iegp.presets import light
from iegp.typing import Float

N, AT, LONGEST, SETTLED = 2000, 1500, 500, 500
NOISE = 0.3
TARGET = 1.0 / 10_000
CASES: dict[str, tuple[float, ...]] = {"level": (1.0, 2.0, 4.0), "noise": (0.4, 2.0, 4.0), "relation": (0.5, 1.0)}
GRIDS: dict[str, list[tuple[str, Callable[[], Any]]]] = {
    "ADWIN": [(f"delta {d:g}", lambda d=d: drift.ADWIN(delta=d, clock=1)) for d in (1e-2, 1e-3, 1e-5, 1e-7, 1e-10)],
    "KSWIN": [(f"alpha {a:g}", lambda a=a: drift.KSWIN(alpha=a, seed=0)) for a in (1e-4, 1e-5, 1e-6)],
    "PageHinkley": [
        (f"threshold {t:g}, delta {d:g}", lambda t=t, d=d: drift.PageHinkley(threshold=t, delta=d, min_instances=30))
        for d in (0.1, 0.25, 0.5)
        for t in (5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0)
    ],
}


class Passed(NamedTuple):
    """A stream that a model has passed over."""

    residuals: Float
    """(n,): in predicted standard deviations."""
    alarms: list[chg.Change]


Find = Callable[[Passed], list[int]]


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


def alarms_of(make: Callable[[], Any], residuals: Float) -> Iterator[int]:
    """Rows at which either copy of a detector of River says that something changed."""
    signed, absolute = make(), make()
    for row, value in enumerate(residuals[SETTLED:].tolist(), SETTLED):
        signed.update(value)
        absolute.update(abs(value))
        if signed.drift_detected or absolute.drift_detected:
            yield row


def delay(rows: list[int], at: int) -> int:
    return next((row - at for row in rows if at <= row < at + LONGEST), LONGEST)


def calibrate() -> None:
    rng, n = np.random.default_rng(0), 1_000_000
    rows = np.column_stack([np.clip(rng.normal(size=n), -3.5, 3.5), rng.normal(size=n)])
    found = chg.watch(chg.begin(1), rows, chg.FROM_START)
    print(f"threshold {chg.CHANGE_THRESHOLD:g}: {1e4 * found.n_changes / n:.2f} false alarms in 10,000 normal scores")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--quiet-rows", type=int, default=60_000)
    parser.add_argument("--calibrate", action="store_true")
    arguments = parser.parse_args()
    print(machine.describe())
    if arguments.calibrate:
        calibrate()
        return
    quiet = [passed("none", 0.0, 10_000, 0, 100 + seed) for seed in range(arguments.quiet_rows // 10_000)]
    n_quiet = sum(len(one.residuals) - SETTLED for one in quiet)
    cases = {
        (kind, size): [passed(kind, size, N, AT, seed) for seed in range(arguments.seeds)]
        for kind, sizes in CASES.items()
        for size in sizes
    }
    chosen: dict[str, Find] = {"iegp": lambda one: [change.row for change in one.alarms]}
    rates = {"iegp": sum(len(one.alarms) for one in quiet) / n_quiet}
    for name, grid in GRIDS.items():
        for setting, make in grid:
            rate = sum(1 for one in quiet for _ in alarms_of(make, one.residuals)) / n_quiet
            if rate <= TARGET:
                chosen[f"{name} ({setting})"] = lambda one, make=make: list(alarms_of(make, one.residuals))
                rates[f"{name} ({setting})"] = rate
                break
    _table(cases, chosen, rates)


def _table(
    cases: dict[tuple[str, float], list[Passed]],
    chosen: dict[str, Callable[[Passed], list[int]]],
    rates: dict[str, float],
) -> None:
    print(
        "| detector | false alarms in 10,000 rows |", " | ".join(f"{kind} {size:g}" for kind, size in cases), "| all |"
    )
    print("|---" * (len(cases) + 3) + "|")
    for name, find in chosen.items():
        delays = [[delay(find(one), AT) for one in streams] for streams in cases.values()]
        medians = " | ".join(f"{np.median(own):.0f}" for own in delays)
        print(f"| {name} | {1e4 * rates[name]:.2f} | {medians} | {np.median(np.concatenate(delays)):.0f} |", flush=True)
    for (kind, size), streams in cases.items():
        kinds = [next((c.kind for c in one.alarms if c.row >= AT), "none") for one in streams]
        print(f"{kind} {size:g} was called {', '.join(sorted(kinds))}")


if __name__ == "__main__":
    main()
