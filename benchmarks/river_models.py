"""iegp's River regressor beside River's own: accuracy and time per row in one run.

    IEGP_DATA=folder python benchmarks/river_models.py [--jobs 1] [--streams "air_quality;..."] [--models "..."]

Protocol: predict_one, then learn_one, from the first row on, as River's progressive validation does; scores leave out
the first 100 rows. River's models (``river_peers.py``) get a StandardScaler in front, iegp has its own. nMSE is the
mean squared error over the variance of the target; cover the share inside the 95 % interval, where a model has one. µs
per row are processor time, which is what the clock would show on a quiet machine: no model here uses two threads. They
include the refits of iegp's warm-up.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import machine
import numpy as np
from river.datasets import synth
from river_peers import PEERS

from iegp.adapters import RiverRegressor
from iegp.datasets import Stream, load_dataset, load_embedded
from iegp.errors import DatasetError
from iegp.kernels import RBF

SKIPPED = 100


def _friedman_drift() -> Stream:
    rows = list(synth.FriedmanDrift(drift_type="gra", position=(1500, 3500), seed=0).take(5000))
    X = np.array([list(x.values()) for x, _ in rows], dtype=np.float64)
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    y = np.array([y for _, y in rows])
    return Stream("friedman_drift", X, y, names, "y", "River's FriedmanDrift, two gradual changes")


STREAMS: dict[str, Callable[[], Stream]] = {
    "trump_approval": lambda: load_embedded("trump_approval"),
    "chick_weights": lambda: load_embedded("chick_weights"),
    "water_flow": lambda: load_embedded("water_flow"),
    "friedman_drift": _friedman_drift,
    "air_quality": lambda: load_dataset("air_quality"),
    "sarcos (10,000)": lambda: load_dataset("sarcos").head(10_000),
}
OURS: dict[str, Callable[[], Any]] = {
    "iegp light": partial(RiverRegressor.light, seed=0),
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
}
MODELS = OURS | PEERS
Rows = list[dict[str, float]]


class Score(NamedTuple):
    nmse: float
    coverage: float
    microseconds: float


def score(model_name: str, stream_name: str) -> Score:
    stream = STREAMS[stream_name]()
    names = list(stream.feature_names)
    rows: Rows = [dict(zip(names, row, strict=True)) for row in stream.X.tolist()]
    labels: list[float] = stream.y.tolist()
    make = MODELS[model_name]
    covered = np.nan
    if model_name in OURS:  # in a pass of its own, which also compiles what the clock must not see
        covered = _coverage(make(), rows, labels)
    predicted, seconds = _progressive(make(), zip(rows, labels, strict=True))
    truth = stream.y[SKIPPED:]
    nmse = float(np.mean((predicted[SKIPPED:] - truth) ** 2) / truth.var())
    return Score(nmse, covered, 1e6 * seconds / len(rows))


def _progressive(model: Any, pairs: Iterable[tuple[dict[str, float], float]]) -> tuple[Any, float]:
    """Predictions, each made before its label was learned, and the processor time they took."""
    predicted, seconds = [], 0.0
    for x, y in pairs:
        start = time.process_time()
        guess = model.predict_one(x)
        model.learn_one(x, y)
        seconds += time.process_time() - start
        predicted.append(0.0 if guess is None else guess)
    return np.array(predicted), seconds


def _coverage(model: RiverRegressor, rows: Rows, labels: list[float]) -> float:
    """Share of labels inside the 95 % interval."""
    inside = []
    for t, (x, y) in enumerate(zip(rows, labels, strict=True)):
        if t >= SKIPPED:
            low, high = model.predict_one(x, with_dist=True).interval(0.95)
            inside.append(low <= y <= high)
        model.predict_one(x)
        model.learn_one(x, y)
    return float(np.mean(inside))


def _job(arguments: tuple[str, str]) -> tuple[str, str, Score | str]:
    """The scores, or why there are none: some of River's models do not survive every stream."""
    model, stream = arguments
    try:
        return model, stream, score(model, stream)
    except ArithmeticError as error:
        return model, stream, type(error).__name__


def _line(found: Score | str) -> str:
    if isinstance(found, str):
        return f"{found:>27}"
    covered = "" if np.isnan(found.coverage) else f"{100 * found.coverage:.1f} %"
    nmse = f"{found.nmse:9.4f}" if found.nmse < 1e3 else "diverges"
    return f"{nmse:>9} {covered:>7} {found.microseconds:9.0f}"


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
            print(f"{stream:16} {model:28} {_line(found)}", flush=True)


if __name__ == "__main__":
    main()
