"""Rows 10 to 100 of every key under ``iegp stream --key``: how many 95 % intervals cover, and the error.

``python benchmarks/new_keys.py [--models default,light] [--lags 3,none] [--seed 0]``. Errors are over those of the
mean of the key's own labels so far, for the same rows. Streams: sensors that share the shape of their response and
differ in offset and gain, all from the beginning or most of them after the shared rows; levels that wander; and the
five tickers of ``stock_range`` in ``$IEGP_DATA``, interleaved, or two of them after the shared rows.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from machine import describe

from iegp.cli.models import keyed_parameters, settings_of
from iegp.estimators.defaults import KEYED_TEMPLATE_ROWS
from iegp.fleet.keyed_learner import Fleets
from iegp.readers import Batch, object_array
from iegp.stream.answers import Answers
from iegp.stream.job import Job
from iegp.stream.plan import Plan

FIRST, LAST = 10, 100
SHARED = 1000


class Keyed(NamedTuple):
    """Rows in their order."""

    keys: np.ndarray
    x: np.ndarray
    y: np.ndarray


def age_of(keys: np.ndarray) -> np.ndarray:
    """(n,): which row of its key each row is, from 1 on."""
    counts: dict[Any, int] = {}
    ages = np.empty(len(keys), dtype=int)
    for i, key in enumerate(keys.tolist()):
        ages[i] = counts[key] = counts.get(key, 0) + 1
    return ages


def late(stream: Keyed, new: np.ndarray) -> Keyed:
    """Rows of new keys come after so many rows of the others as share a model."""
    is_new = np.isin(stream.keys, new)
    old = np.flatnonzero(~is_new)[:SHARED]
    return Keyed(*(np.concatenate([part[old], part[is_new]]) for part in stream))


def sensors(seed: int = 0, n: int = 4000, n_keys: int = 40) -> Keyed:
    """Offset and gain of each sensor are its own, as in ``stream_keys.py``."""
    rng = np.random.default_rng(seed)
    key, x = rng.integers(0, n_keys, n), rng.normal(size=(n, 5))
    offset, gain = rng.normal(size=n_keys), rng.uniform(0.5, 2.0, n_keys)
    y = offset[key] + gain[key] * np.sin(2.0 * x[:, 0]) + 0.3 * x[:, 1] + 0.1 * rng.normal(size=n)
    return Keyed(key, x, y)


def wandering(seed: int = 0, n: int = 4000, n_keys: int = 40) -> Keyed:
    """The level of each key follows its own autoregression."""
    rng = np.random.default_rng(seed)
    key, x, y = rng.integers(0, n_keys, n), rng.normal(size=(n, 2)), np.empty(n)
    centre, level = rng.normal(size=n_keys), np.zeros(n_keys)
    for t, k in enumerate(key):
        level[k] = 0.9 * level[k] + 0.3 * rng.normal()
        y[t] = centre[k] + level[k] + 0.5 * np.sin(x[t, 0]) + 0.1 * rng.normal()
    return Keyed(key, x, y)


def tickers() -> Keyed:
    with np.load(Path(os.environ["IEGP_DATA"]) / "stock_range.npz", allow_pickle=False) as file:
        return Keyed(file["key"], file["X"], file["y"])


STREAMS: dict[str, Callable[[int], Keyed]] = {
    "sensors": sensors,
    "sensors, late keys": lambda seed: late(sensors(seed, 6000), np.arange(20)),
    "wandering levels": wandering,
    "wandering levels, late keys": lambda seed: late(wandering(seed, 6000), np.arange(20)),
    "stock_range": lambda _: tickers(),
    "stock_range, two late": lambda _: late(tickers(), np.unique(tickers().keys)[[1, 3]]),
}


def measure(stream: Keyed, model: str, parameters: dict[str, Any]) -> tuple[int, float, float]:
    """Scored rows, the share that is covered, and the error over that of the key's running mean."""
    ages = age_of(stream.keys)
    # Rows after the last one of a new key need not be learned.
    stop = int(np.flatnonzero(ages <= LAST)[-1]) + 1
    stop = min(stop, int(np.searchsorted(np.cumsum((ages >= FIRST) & (ages <= LAST)), 20_000)) + 1)
    keys, x, y = (part[:stop] for part in stream)
    plan = Plan(target="y", task="regression", key="key")
    settings = settings_of(model, "regression", 0, keyed_parameters(model, parameters))
    job = Job(plan, settings, True, Fleets(template_rows=KEYED_TEMPLATE_ROWS))
    columns: dict[str, Any] = {f"x{j}": x[:, j].astype(float) for j in range(x.shape[1])}
    columns |= {"y": y.astype(float), "key": object_array([str(key) for key in keys.tolist()])}
    answers: list[Answers] = []
    job.absorb(Batch(columns, np.arange(len(y))), answers.append, _refuse)
    mean, lower, upper = (np.concatenate([a.number(name) for a in answers]) for name in ("mean", "lower", "upper"))
    scored = (ages[:stop] >= FIRST) & (ages[:stop] <= LAST)
    running = running_means(keys, y)
    error, naive = (np.mean((guess - y)[scored] ** 2) for guess in (mean, running))
    return int(scored.sum()), float(np.mean((lower <= y) & (y <= upper), where=scored)), float(error / naive)


def _refuse(index: int, problem: Any) -> None:
    raise AssertionError(f"row {index}: {problem}")


def running_means(keys: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(n,): mean of the labels of the row's key before it, 0 where there are none."""
    sums: dict[Any, tuple[float, int]] = {}
    means = np.zeros(len(y))
    for i, key in enumerate(keys.tolist()):
        total, n = sums.get(key, (0.0, 0))
        means[i] = total / n if n else 0.0
        sums[key] = total + float(y[i]), n + 1
    return means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="default,light")
    parser.add_argument("--lags", default="3,none")
    parser.add_argument("--streams", default=";".join(STREAMS))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(describe())
    print(f"\nRows {FIRST} to {LAST} of every key\n")
    print("| stream | model | lags | rows | 95 % covers | error over the running mean's |")
    print("|---|---|---|---:|---:|---:|")
    for name in arguments.streams.split(";"):
        for model in arguments.models.split(","):
            for lags in arguments.lags.split(","):
                n, covered, error = measure(
                    STREAMS[name](arguments.seed), model, {"lags": 0 if lags == "none" else int(lags)}
                )
                print(f"| {name} | {model} | {lags} | {n:,} | {covered:.1%} | {error:.3f} |", flush=True)


if __name__ == "__main__":
    main()
