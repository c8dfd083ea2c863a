"""Our River regressor beside River's own: accuracy and time per row in one run.

    IEGP_DATA=folder python benchmarks/river_models.py [--jobs 1] [--streams air_quality,...] [--models ...]

Protocol: predict_one, then learn_one, from the first row on, as River's progressive validation does; scores leave out
the first 100 rows. River's models get a StandardScaler in front (and, where they are linear, a scaled target), ours has
its own. nMSE is the mean squared error over the variance of the target; cover the share inside the 95 % interval.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import machine
import numpy as np
from river import forest, linear_model, neighbors, optim, preprocessing, rules, tree

from iegp.adapters import RiverRegressor
from iegp.errors import DatasetError
from iegp.kernels import RBF
from iegp.streams import Stream, load_dataset, load_embedded

SKIPPED = 100
STREAMS: dict[str, Callable[[], Stream]] = {
    "air_quality": lambda: load_dataset("air_quality"),
    "sarcos (10,000)": lambda: load_dataset("sarcos").head(10_000),
    "trump_approval": lambda: load_embedded("trump_approval"),
    "chick_weights": lambda: load_embedded("chick_weights"),
}


def _scaled(model: Any) -> Any:
    return preprocessing.StandardScaler() | model


def _scaled_target(model: Any) -> Any:
    return preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(regressor=model)


MODELS: dict[str, Callable[[], Any]] = {
    "iegp default": partial(RiverRegressor, seed=0),
    "iegp M = 11, F = 100": partial(
        RiverRegressor,
        [RBF(10.0 ** (k / 2)) for k in range(-4, 7)],
        n_frequencies=50,
        drift_var=1e-3,
        weights="bayes",
        shutdown=0.0,
        noise_forgetting=None,
        seed=0,
    ),
    "ARFRegressor": lambda: _scaled(forest.ARFRegressor(seed=0)),
    "KNNRegressor": lambda: _scaled(neighbors.KNNRegressor(n_neighbors=5)),
    "HoeffdingAdaptiveTree": lambda: _scaled(tree.HoeffdingAdaptiveTreeRegressor(seed=0)),
    "AMRules": lambda: _scaled(rules.AMRules()),
    "LinearRegression": lambda: _scaled_target(linear_model.LinearRegression(optimizer=optim.SGD(0.01))),
    "LinearRegression, Adam": lambda: _scaled_target(linear_model.LinearRegression(optimizer=optim.Adam(0.01))),
    "PARegressor": lambda: _scaled_target(linear_model.PARegressor(C=0.01, mode=2)),  # type: ignore[no-untyped-call]
    "BayesianLinear": lambda: _scaled_target(linear_model.BayesianLinearRegression()),
    "BayesianLinear, forgetting": lambda: _scaled_target(linear_model.BayesianLinearRegression(smoothing=0.999)),
}


class Score(NamedTuple):
    nmse: float
    coverage: float
    microseconds: float


def score(model_name: str, stream_name: str) -> Score:
    stream = STREAMS[stream_name]()
    names = list(stream.feature_names)
    rows = [dict(zip(names, row, strict=True)) for row in stream.X.tolist()]
    model = MODELS[model_name]()
    ours = isinstance(model, RiverRegressor)
    if ours:  # compile before the clock starts
        warm = MODELS[model_name]()
        for x, y in zip(rows[:40], stream.y[:40].tolist(), strict=True):
            warm.predict_one(x, with_dist=True)
            warm.predict_one(x)
            warm.learn_one(x, y)
    predicted, seconds = np.empty(len(rows)), 0.0
    for t, (x, y) in enumerate(zip(rows, stream.y.tolist(), strict=True)):
        start = time.perf_counter()
        guess = model.predict_one(x)
        model.learn_one(x, y)
        seconds += time.perf_counter() - start
        predicted[t] = 0.0 if guess is None else guess
    truth = stream.y[SKIPPED:]
    nmse = float(np.mean((predicted[SKIPPED:] - truth) ** 2) / truth.var())
    return Score(nmse, _coverage(model_name, rows, stream) if ours else np.nan, 1e6 * seconds / len(rows))


def _coverage(model_name: str, rows: list[dict[str, float]], stream: Stream) -> float:
    """Share of labels inside the 95 % interval, in a pass of its own so that the clock does not see it."""
    model = MODELS[model_name]()
    inside: list[bool] = []
    for x, y in zip(rows, stream.y.tolist(), strict=True):
        if len(inside) >= SKIPPED:
            low, high = model.predict_one(x, with_dist=True).interval(0.95)
            inside.append(low <= y <= high)
        else:
            inside.append(True)
        model.learn_one(x, y)
    return float(np.mean(inside[SKIPPED:]))


def _job(arguments: tuple[str, str]) -> tuple[str, str, Score]:
    model, stream = arguments
    return model, stream, score(model, stream)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--streams", default=";".join(STREAMS))
    parser.add_argument("--models", default=";".join(MODELS))
    arguments = parser.parse_args()
    streams = []
    for name in arguments.streams.split(";"):
        try:
            STREAMS[name]()
            streams.append(name)
        except DatasetError:
            print(f"left out, neither in $IEGP_DATA nor to be downloaded: {name}")
    print(machine.describe())
    print(f"{'stream':16} {'model':28} {'nMSE':>9} {'cover':>7} {'µs/row':>9}")
    jobs = [(model, stream) for stream in streams for model in arguments.models.split(";")]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for model, stream, found in pool.map(_job, jobs):
            covered = "" if np.isnan(found.coverage) else f"{100 * found.coverage:.1f} %"
            print(f"{stream:16} {model:28} {found.nmse:9.4f} {covered:>7} {found.microseconds:9.0f}", flush=True)


if __name__ == "__main__":
    main()
