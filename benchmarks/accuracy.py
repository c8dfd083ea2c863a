"""Accuracy on the paper's regression sets and on further streams, medians over seeds.

    IEGP_DATA=folder python benchmarks/accuracy.py [--seeds 5] [--jobs 2] [--models default,...] [--streams sarcos,...]

Protocol: scaling and hyperparameters from the first 1,000 rows (the presets do not learn them, the default does), then
predict-then-learn on the rest. nMSE is over the variance of the scored rows; the negative log-likelihood is in units of
the target's standard deviation on the first 1,000 rows; coverage is that of the central 95 % interval. A stream whose
labels are known some rows later declares it: models predict with that delay, and are warmed up with the labels that are
known when the first scored row is predicted. Times are processor time, which is what the clock would show on a quiet
machine: no model here uses two threads.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import machine
import numpy as np

from iegp import IEGPRegressor, presets
from iegp.datasets import Stream, drifting, friedman, load_arrays, load_dataset, load_embedded, robot_arm
from iegp.errors import DatasetError
from iegp.estimators.defaults import KERNELS
from iegp.evaluate.metrics import coverage, nmse

WARMUP = 1000
# A stream with fewer scored rows than this has a quarter of its rows as warm-up.
LEAST_SCORED = 200

# The kernels of the default with linear and constant terms left out; one that then occurs twice is listed once.
STATIONARY = [*KERNELS[:5], *(KERNELS[k].terms[0] for k in (5, 7, 8))]

MODELS: dict[str, Callable[..., IEGPRegressor]] = {
    "default": IEGPRegressor,
    "light": presets.light,
    "ie_gp": presets.ie_gp,
    "die_gp": presets.die_gp,
    "sie_gp": presets.sie_gp,
    "dsie_gp": presets.dsie_gp,
    "doebe": presets.doebe,
    "doebe_hilbert": partial(presets.doebe, kernels=presets.HILBERT),
    "doebe_random": partial(presets.doebe, kernels=presets.RANDOM),
    "doebe_mixed": partial(presets.doebe, drift_var=(0.0, 1e-3), weights="switching"),
    "doebe_stacked": partial(presets.doebe, weights="exponentiated-gradient"),
    # The default without one part, to measure the gain of each.
    "conjugate": partial(IEGPRegressor, noise_forgetting=(None, 0.9, 0.98)),
    "fixednoise": partial(IEGPRegressor, noise_forgetting=None),
    "bayes": partial(IEGPRegressor, KERNELS, weights="bayes", drift_units="prior", lags=3),
    "nodrift": partial(IEGPRegressor, drift_var=0.0),
    "nolags": partial(IEGPRegressor, lags=0),
    "noterms": partial(IEGPRegressor, STATIONARY, drift_units="prior", lags=3),
    "targetdrift": partial(IEGPRegressor, drift_units="target"),
    "stacking01": partial(IEGPRegressor, stacking_rate=0.1),
    "notrobust": partial(IEGPRegressor, robust=False),
    "plain": partial(IEGPRegressor, features="random"),
    "nf50": partial(IEGPRegressor, n_frequencies=50),
}

# What the default has to reach: (nMSE, negative log-likelihood).
TARGETS = {
    "air_quality": (0.043, -0.49),
    "toms_hardware": (0.045, -1.18),
    "sarcos": (0.0145, -1.10),
    "twitter": (0.104, -1.20),
    "cpu_small": (0.035, -0.36),
    "energy": (0.48, 0.72),
    "elevators": (0.075, 0.03),
    "cadata": (0.163, 0.565),
}

SIMULATED: dict[str, Callable[[], Stream]] = {
    "friedman still": lambda: friedman("none", n=12_000, random_state=1),
    "friedman gradual": lambda: friedman("gradual", n=12_000, random_state=1),
    "friedman abrupt": lambda: friedman("abrupt", n=12_000, random_state=1),
    "drifting still": lambda: drifting("none", n=12_000, random_state=1),
    "drifting gradual": lambda: drifting("gradual", n=12_000, random_state=1),
    "drifting abrupt": lambda: drifting("abrupt", n=12_000, random_state=1),
    "drifting recurring": lambda: drifting("recurring", n=12_000, random_state=1),
    "heavy tails": lambda: friedman("abrupt", n=12_000, random_state=2, noise_kind="student"),
    "changing noise": lambda: friedman("none", n=12_000, random_state=3, noise_kind="heteroscedastic"),
    "robot arm": lambda: robot_arm(12_000, random_state=1),
}


def sarcos_torque(joint: int) -> Stream:
    """Another torque of the arm than the one the paper predicts, on the smaller part that has all seven."""
    arrays = load_arrays("sarcos_test")
    stream = load_dataset("sarcos_test")
    return replace(stream, name=f"sarcos torque {joint}", y=np.ascontiguousarray(arrays["Y"][:, joint - 1]))


def trump_approval() -> Stream:
    """Approval ratings by day, of River: six polls, and the rating of the day."""
    from river.datasets import TrumpApproval  # noqa: PLC0415 - only this stream needs River

    rows = list(TrumpApproval())  # type: ignore[no-untyped-call]
    names = tuple(rows[0][0])
    X = np.array([[float(x[name]) for name in names] for x, _ in rows])
    return Stream("trump approval", X, np.array([y for _, y in rows]), names, "rating", "river")


# Real streams on which no choice of the default was made.
HELD_OUT: dict[str, Callable[[], Stream]] = {
    "digits scan": lambda: load_embedded("digits_scan").head(12_000),
    "water flow": lambda: load_embedded("water_flow"),
    "sarcos torque 3": lambda: sarcos_torque(3),
    "sarcos torque 7": lambda: sarcos_torque(7),
    "trump approval": trump_approval,
}


def extra(name: str, target: str, delay: int) -> Stream:
    """A set that is no part of the catalogue, out of the folder that $IEGP_DATA names."""
    path = Path(os.environ.get("IEGP_DATA", "")) / f"{name}.npz"
    if not path.is_file():
        raise DatasetError(f"{path} is not there")
    with np.load(path, allow_pickle=False) as file:
        X, y = file["X"], file["y"]
    names = tuple(f"x{i}" for i in range(X.shape[1]))
    return Stream(name, X, y, names, target, f"{name}.npz", delay=delay)


# The labels of the last two are of the future: of twelve half-hours later, of the next day of one of five shares.
IN_TIME_ORDER: dict[str, Callable[[], Stream]] = {
    "etth1": lambda: extra("etth1", "oil temperature", 0),
    "sea surface": lambda: extra("sea_surface", "temperature in six hours", 11),
    "stock range": lambda: extra("stock_range", "log range of the next day", 4),
}


class Score(NamedTuple):
    nmse: float
    nll: float
    coverage: float
    microseconds: float
    """Per row after the warm-up."""


def load(name: str) -> Stream:
    made = SIMULATED | HELD_OUT | IN_TIME_ORDER
    return made[name]() if name in made else load_dataset(name)


def score(model_name: str, stream_name: str, seed: int) -> Score:
    return score_on(load(stream_name), model_name, seed)


def n_warmup(stream: Stream) -> int:
    """How many rows are the warm-up of a stream, which is not scored."""
    return WARMUP if len(stream.y) >= WARMUP + LEAST_SCORED else len(stream.y) // 4


def score_on(stream: Stream, model_name: str, seed: int) -> Score:
    model, first = MODELS[model_name](random_state=seed, delay=stream.delay), n_warmup(stream)
    known = first - stream.delay
    model.warm_up(stream.X[:known], stream.y[:known])
    start = time.process_time()
    run = model.prequential(stream.X[known:], stream.y[known:])
    microseconds = 1e6 * (time.process_time() - start) / len(run)
    scored, y = slice(stream.delay, None), stream.y[first:]
    nll = -float(run.log_score[scored].mean()) - float(np.log(stream.y[:first].std()))
    return Score(nmse(y, run.mean[scored]), nll, coverage(y, run.lower[scored], run.upper[scored]), microseconds)


def _job(arguments: tuple[str, str, int]) -> tuple[str, str, Score]:
    model, stream, seed = arguments
    return model, stream, score(model, stream, seed)


def available(names: list[str]) -> list[str]:
    found, absent = [], []
    for name in names:
        try:
            load(name)
            found.append(name)
        except DatasetError:
            absent.append(name)
    if absent:
        print(f"left out, neither in $IEGP_DATA nor to be downloaded: {', '.join(absent)}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--models", default="default,ie_gp,die_gp")
    parser.add_argument("--streams", default=",".join([*TARGETS, *HELD_OUT, *IN_TIME_ORDER, *SIMULATED]))
    arguments = parser.parse_args()
    models, streams = arguments.models.split(","), available(arguments.streams.split(","))
    jobs = [(model, stream, seed) for stream in streams for model in models for seed in range(arguments.seeds)]
    scores: dict[tuple[str, str], list[Score]] = defaultdict(list)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for model, stream, result in pool.map(_job, jobs):
            scores[model, stream].append(result)
    print(machine.describe())
    print(f"medians over {arguments.seeds} seeds; target: what the default has to reach\n")
    print(f"{'stream':18} {'model':10} {'nMSE':>8} {'target':>8} {'NLL':>8} {'target':>8} {'cover':>6} {'rows/s':>8}")
    for stream in streams:
        for model in models:
            median = Score(*np.median(scores[model, stream], axis=0))
            target = TARGETS.get(stream) if model == "default" else None
            wanted = ("", "") if target is None else (f"{target[0]:.4f}", f"{target[1]:.3f}")
            print(
                f"{stream:18} {model:10} {median.nmse:8.4f} {wanted[0]:>8} {median.nll:8.3f} {wanted[1]:>8} "
                f"{100 * median.coverage:5.1f}% {1e6 / median.microseconds:8.0f}"
            )


if __name__ == "__main__":
    main()
