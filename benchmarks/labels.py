"""Classes, counts and ordered classes beside naive forecasts and other libraries: scores, medians over seeds.

    IEGP_DATA=folder python benchmarks/labels.py [--seeds 3] [--jobs 2] [--models default,...] [--streams banana,...]
        [--stored results.csv]

Protocol: every row is predicted, then learned, from the very first; scores are over all rows. Rows are shuffled by the
seed where their order means nothing (the paper's sets among them), other streams keep theirs. Models of ours are run
with every seed; others once per order of the rows. LightGBM has the three newest labels as further columns and is
fitted anew every 250 rows on all rows so far; linear models of batch libraries whenever the rows have grown by a tenth.
"before" is the default before kernels were sums of terms and labels were inputs. Microseconds are processor time of one
thread per row, refits included. Each result is printed on stderr when it is there. With ``--stored`` results are also
appended to a file, and those that it already has are not made again, so that the tables can be made in several runs;
the file is of one version of the package: begin a new one after a change.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import label_peers as peers
import machine
import numpy as np
from label_streams import STREAMS
from numpy.typing import NDArray

from iegp import IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier, presets
from iegp.datasets import Stream
from iegp.errors import DatasetError
from iegp.estimators.defaults import CLASS_KERNELS
from iegp.evaluate.classification import brier, error_rate, expected_calibration_error, log_loss
from iegp.evaluate.metrics import coverage, nmse, poisson_deviance
from iegp.evaluate.naive import running_frequencies
from iegp.kernels import RBF, Cauchy, Laplace, Matern
from iegp.typing import Float

# What the default has to reach: error, and calibration error where one was set.
TARGETS = {"banana": (0.102, 0.03), "musk": (0.060, 0.03), "ionosphere": (0.16, None)}

# The kernels of the default before they were sums, without lags.
BEFORE = (
    RBF("dimension", stretch=0.5),
    Matern("dimension", nu=1.5, stretch=1.5),
    Cauchy("dimension", stretch=3.0),
    RBF("per-dimension", stretch=1.5),
    Cauchy("per-dimension", stretch=3.0),
    Laplace("per-dimension", stretch=10.0),
)

CLASSIFIERS: dict[str, Callable[..., IEGPClassifier]] = {
    "default": IEGPClassifier,
    "light": partial(presets.light, "classification"),
    "before": partial(IEGPClassifier, BEFORE, n_frequencies=100),
    "ie_gp": partial(presets.ie_gp, "classification"),
    "die_gp": partial(presets.die_gp, "classification"),
    "sie_gp": partial(presets.sie_gp, "classification"),
    "dsie_gp": partial(presets.dsie_gp, "classification"),
    # The default without one part, to measure the gain of each.
    "nolags": partial(IEGPClassifier, lags=0),
    "nodrift": partial(IEGPClassifier, drift_var=0.0),
    "asis": partial(IEGPClassifier, sharpness=1.0),
    "bayes": partial(IEGPClassifier, CLASS_KERNELS, weights="bayes", drift_units="prior", lags=3),
    "plain": partial(IEGPClassifier, features="random"),
    "probit": partial(IEGPClassifier, integration="probit"),
    "nf50": partial(IEGPClassifier, n_frequencies=50),
    "nf100": partial(IEGPClassifier, n_frequencies=100),
}
COUNTERS: dict[str, Callable[..., IEGPCountRegressor]] = {
    "default": IEGPCountRegressor,
    "light": partial(presets.light, "count"),
    "before": partial(IEGPCountRegressor, BEFORE, n_frequencies=75, stacking_rate=0.1),
    "poisson only": partial(IEGPCountRegressor, overdispersion=0.0),
}
GRADERS: dict[str, Callable[..., IEGPOrdinalClassifier | IEGPClassifier]] = {
    "default": IEGPOrdinalClassifier,
    "light": partial(presets.light, "ordinal"),
    "before": lambda **seed: IEGPOrdinalClassifier(kernels=BEFORE, n_frequencies=100, **seed),
    "unordered": IEGPClassifier,
}
OF_CLASSES: dict[str, Callable[[Stream, NDArray[Any]], Float]] = {
    "last label": peers.last_label,
    "frequencies": lambda stream, classes: running_frequencies(stream.y, classes),
    "LightGBM + lags": peers.lightgbm,
    **{name: partial(peers.river, make) for name, make in peers.RIVER.items()},
}
OF_LEVELS = {
    "last label": peers.last_label,
    "frequencies": OF_CLASSES["frequencies"],
    "linear ordinal": peers.linear_ordinal,
    "LightGBM + lags": peers.lightgbm,
}
OF_COUNTS: dict[str, Callable[[Stream], Float]] = {
    "last label": peers.last_count,
    "running mean": peers.running_mean,
    "PoissonRegressor": peers.refitted_poisson,
    "LightGBM + lags": peers.lightgbm_counts,
}
OURS: dict[str, dict[str, Callable[..., Any]]] = {"classification": CLASSIFIERS, "counts": COUNTERS, "ordinal": GRADERS}
PEERS: dict[str, dict[str, Callable[..., Float]]] = {
    "classification": OF_CLASSES,
    "counts": OF_COUNTS,
    "ordinal": OF_LEVELS,
}


class Score(NamedTuple):
    """NaN where a score does not apply."""

    error: float
    log_loss: float
    brier: float
    calibration: float
    nmse: float
    deviance: float
    coverage: float
    microseconds: float


NONE = Score(*[np.nan] * len(Score._fields))


class Job(NamedTuple):
    """A model, a stream and the seed of both."""

    model: str
    stream: str
    seed: int


def _of_classes(stream: Stream, proba: Float, classes: NDArray[Any], predicted: NDArray[Any] | None = None) -> Score:
    y = stream.y
    predicted = classes[np.argmax(proba, axis=1)] if predicted is None else predicted
    return NONE._replace(
        error=error_rate(y, predicted),
        log_loss=log_loss(y, proba, classes),
        brier=brier(y, proba, classes),
        calibration=expected_calibration_error(y, proba, classes),
        coverage=_share_inside(y, proba, classes) if stream.task == "ordinal" else np.nan,
    )


def _share_inside(y: NDArray[Any], proba: Float, classes: NDArray[Any]) -> float:
    """Share of ordered labels in the central 95 % of their predictive distribution.

    A level that straddles an end counts by the part of its probability inside, so that calibrated predictions score 95
    % however few levels there are.
    """
    rows, level = np.arange(len(y)), np.searchsorted(classes, y)
    upper = np.cumsum(proba, axis=1)[rows, level]
    lower = upper - proba[rows, level]
    inside = np.minimum(upper, 0.975) - np.maximum(lower, 0.025)
    return float(np.mean(np.maximum(inside, 0.0) / np.maximum(proba[rows, level], 1e-300)))


def _of_counts(y: NDArray[Any], mean: Float) -> Score:
    # A mean of zero has no Poisson deviance.
    deviance = poisson_deviance(y, mean) if np.all(mean > 0.0) else np.nan
    return NONE._replace(nmse=nmse(np.asarray(y, dtype=np.float64), mean), deviance=deviance)


def score_of_ours(model: Any, stream: Stream) -> Score:
    start = time.process_time()
    run = model.prequential(stream.X, stream.y)
    microseconds = 1e6 * (time.process_time() - start) / len(run)
    if stream.task != "counts":
        return _of_classes(stream, run.proba, run.classes)._replace(microseconds=microseconds)
    own = _of_counts(run.y, run.mean)
    covered = coverage(run.y, run.lower, run.upper)
    return own._replace(log_loss=-float(run.log_score.mean()), coverage=covered, microseconds=microseconds)


def score_of_peer(name: str, stream: Stream) -> Score:
    start = time.process_time()
    if stream.task == "counts":
        found = _of_counts(stream.y, PEERS["counts"][name](stream))
    else:
        classes = np.unique(stream.y)
        predicted = peers.repeated(stream, classes) if name == "last label" else None
        found = _of_classes(stream, PEERS[stream.task][name](stream, classes), classes, predicted)
    return found._replace(microseconds=1e6 * (time.process_time() - start) / len(stream.y))


def load(name: str, seed: int) -> Stream:
    source = STREAMS[name]
    stream = source.load()
    rows = np.arange(len(stream.X))
    if source.is_shuffled:
        rows = np.random.default_rng(seed).permutation(rows)
    rows = rows[: source.most_rows]
    return replace(stream, X=np.ascontiguousarray(stream.X[rows], dtype=np.float64), y=stream.y[rows])


def _job(job: Job) -> Score:
    model, name, seed = job
    warnings.simplefilter("ignore")
    stream = load(name, seed)
    ours = OURS[stream.task]
    if model in ours:
        if not seed:  # compiles what the clock must not see
            score_of_ours(ours[model](random_state=0, warmup=64), stream.head(80))
        return score_of_ours(ours[model](random_state=seed), stream)
    return score_of_peer(model, stream)


def jobs_for(name: str, task: str, models: list[str], n_seeds: int) -> list[Job]:
    known = [model for model in models if model in OURS[task] or model in PEERS[task]]
    return [
        Job(model, name, seed)
        for model in known
        for seed in range(n_seeds if model in OURS[task] or STREAMS[name].is_shuffled else 1)
    ]


def read_stored(path: Path | None) -> dict[Job, Score]:
    """The results of earlier runs, in lines as :func:`line_of` writes them."""
    if path is None or not path.exists():
        return {}
    rows = [line.split(";") for line in path.read_text().splitlines()]
    return {Job(row[0], row[1], int(row[2])): Score(*map(float, row[3:])) for row in rows}


def line_of(job: Job, score: Score) -> str:
    return ";".join([*map(str, job), *(f"{value:.6g}" for value in score)])


def run_jobs(jobs: list[Job], n_processes: int, stored: Path | None) -> dict[tuple[str, str], list[Score]]:
    """The scores of every model on every stream, by seed; new ones are shown and stored as they come."""
    known = read_stored(stored)
    missing = [job for job in jobs if job not in known]
    with ProcessPoolExecutor(n_processes) as pool:
        for job, score in zip(missing, pool.map(_job, missing), strict=True):
            known[job] = score
            print(line_of(job, score), file=sys.stderr, flush=True)
            if stored is not None:
                with stored.open("a") as file:
                    print(line_of(job, score), file=file)
    scores: dict[tuple[str, str], list[Score]] = defaultdict(list)
    for job in jobs:
        scores[job.model, job.stream].append(known[job])
    return scores


def available(names: list[str]) -> dict[str, str]:
    """The tasks of the streams that can be loaded here."""
    tasks: dict[str, str] = {}
    absent = []
    for name in names:
        try:
            tasks[name] = STREAMS[name].load().task
        except DatasetError:
            absent.append(name)
    if absent:
        print(f"left out, neither in $IEGP_DATA nor to be downloaded: {', '.join(absent)}")
    return tasks


def print_tables(scores: dict[tuple[str, str], list[Score]], tasks: dict[str, str]) -> None:
    """For every task its measures, streams by models."""
    shown = {
        "classification": {"error": ".4f", "log_loss": ".4f", "calibration": ".3f", "microseconds": ".0f"},
        "counts": {"nmse": ".4f", "log_loss": ".4f", "deviance": ".4f", "coverage": ".1%", "microseconds": ".0f"},
        "ordinal": {"error": ".4f", "log_loss": ".4f", "coverage": ".1%", "microseconds": ".0f"},
    }
    median = {key: Score(*np.median(several, axis=0)) for key, several in scores.items()}
    for task, measures in shown.items():
        streams = [name for name in tasks if tasks[name] == task]
        for measure, form in measures.items():
            values = {key: getattr(score, measure) for key, score in median.items() if key[1] in streams}
            models = dict.fromkeys(model for (model, _), value in values.items() if not np.isnan(value))
            if models:
                print(f"\n| {task}: {measure} | {' | '.join(models)} |\n|---|{'---:|' * len(models)}")
            for name in streams if models else []:
                cells = (values.get((model, name), np.nan) for model in models)
                print(f"| {name} | {' | '.join('' if np.isnan(cell) else format(cell, form) for cell in cells)} |")


def print_verdicts(scores: dict[tuple[str, str], list[Score]], tasks: dict[str, str]) -> None:
    """Where the default is behind what it has to reach."""
    median = {key: Score(*np.median(several, axis=0)) for key, several in scores.items()}
    for name in tasks:
        own, last, before = (median.get((model, name)) for model in ("default", "last label", "before"))
        if own is None:
            continue
        target = TARGETS.get(name, (np.inf, None))[0]
        if own.error > target:
            print(f"{name}: error {own.error:.4f}, target {target}")
        if last is not None and (own.error > last.error or own.nmse > last.nmse):
            print(f"{name}: behind the last label, {own.error:.4f} {own.nmse:.4f} / {last.error:.4f} {last.nmse:.4f}")
        if before is not None and own.log_loss > before.log_loss + 0.01:
            print(f"{name}: log loss {own.log_loss:.4f}, before {before.log_loss:.4f}")


EVERY_MODEL = ["default", "light", "before", "poisson only", "unordered", *OF_CLASSES, *OF_LEVELS, *OF_COUNTS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--models", default=",".join(dict.fromkeys(EVERY_MODEL)))
    parser.add_argument("--streams", default=",".join(STREAMS))
    parser.add_argument("--stored", type=Path)
    arguments = parser.parse_args()
    tasks = available(arguments.streams.split(","))
    models = arguments.models.split(",")
    jobs = [job for name, task in tasks.items() for job in jobs_for(name, task, models, arguments.seeds)]
    scores = run_jobs(jobs, arguments.jobs, arguments.stored)
    print(machine.describe())
    print(f"models of ours: medians over {arguments.seeds} seeds")
    print_tables(scores, tasks)
    print()
    print_verdicts(scores, tasks)


if __name__ == "__main__":
    main()
