"""Classes, counts and ordered classes: error, log loss, Brier score, calibration, coverage; medians over seeds.

    IEGP_DATA=folder python benchmarks/labels.py [--seeds 5] [--jobs 2] [--models default,...] [--streams banana,...]

Protocol: every row is predicted, then learned, from the very first; scores are over all rows. Rows are shuffled by the
seed where their order means nothing (the paper's sets among them), other streams keep theirs. Refitted baselines start
from the naive prediction and are refitted on all rows so far whenever these have grown by a tenth.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import machine
import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson
from sklearn.linear_model import PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.datasets import fair, randhie
from statsmodels.miscmodels.ordinal_model import OrderedModel

from iegp import IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier, presets
from iegp.datasets import Stream, drifting, load_arrays, load_dataset, load_embedded
from iegp.datasets.stream import Task
from iegp.errors import DatasetError
from iegp.evaluate.classification import brier, error_rate, expected_calibration_error, log_loss
from iegp.evaluate.metrics import coverage, poisson_deviance
from iegp.evaluate.naive import running_count_mean, running_frequencies
from iegp.typing import Float

# What the default has to reach: error, and calibration error where one was set.
TARGETS = {"banana": (0.102, 0.03), "musk": (0.060, 0.03), "ionosphere": (0.16, None)}


def _stream(name: str, X: Float, y: NDArray[Any], task: Task) -> Stream:
    return Stream(name, X, y, tuple(f"x{i}" for i in range(X.shape[1])), "y", name, task=task)


def _drifting_classes(kind: Literal["none", "gradual", "abrupt"]) -> Stream:
    """Two classes: whether the target of a drifting regression stream is above zero."""
    stream = drifting(kind, n=6_000, random_state=1)
    return _stream(f"classes {kind}", stream.X, stream.y > np.median(stream.y), "classification")


def _doctor_visits() -> Stream:
    table = randhie.load_pandas().data
    X = table.drop(columns="mdvis").to_numpy(dtype=np.float64)
    return _stream("doctor visits", X, table.mdvis.to_numpy(dtype=np.int64), "counts")


def _discussions() -> Stream:
    """Discussions created in a week on a computing site, from the activity of the seven weeks before."""
    arrays = load_arrays("toms_hardware")
    weeks = np.rint(arrays["X"] * float(arrays["x_scale"])).reshape(len(arrays["X"]), 12, 8)
    X = np.log1p(np.maximum(weeks[:, :, :7].reshape(len(weeks), -1), 0.0))
    return _stream("discussions", X, weeks[:, 0, 7].astype(np.int64), "counts")


def _happiness() -> Stream:
    table = fair.load_pandas().data
    X = table.drop(columns="rate_marriage").to_numpy(dtype=np.float64)
    return _stream("marriage rating", X, table.rate_marriage.to_numpy(dtype=np.int64), "ordinal")


def _latent(n: int, seed: int) -> tuple[Float, Float]:
    """Inputs and a draw of the model's own prior: a smooth random function of three columns, variance one."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    frequencies, weights = rng.standard_normal((200, 3)), rng.standard_normal(400)
    angles = X @ frequencies.T
    return X, np.asarray(np.concatenate([np.sin(angles), np.cos(angles)], axis=1) @ weights / np.sqrt(200))


def _simulated_counts() -> Stream:
    X, f = _latent(4_000, 1)
    return _stream("simulated counts", X, np.random.default_rng(2).poisson(np.exp(3.0 + f)), "counts")


def _simulated_levels() -> Stream:
    X, f = _latent(4_000, 3)
    noisy = 3.0 * f + np.random.default_rng(4).logistic(size=len(f))
    return _stream("simulated levels", X, np.searchsorted(np.linspace(-6.0, 6.0, 15), noisy), "ordinal")


class Source(NamedTuple):
    load: Callable[[], Stream]
    is_shuffled: bool = True
    most_rows: int = 10_000


STREAMS: dict[str, Source] = {
    "banana": Source(partial(load_dataset, "banana")),
    "musk": Source(partial(load_dataset, "musk")),
    "ionosphere": Source(partial(load_dataset, "ionosphere")),
    "oil_flow": Source(partial(load_dataset, "oil_flow")),
    "usps": Source(partial(load_dataset, "usps"), most_rows=3_000),
    "digits": Source(partial(load_embedded, "digits"), is_shuffled=False),
    "breast_cancer": Source(partial(load_embedded, "breast_cancer")),
    "phishing": Source(partial(load_embedded, "phishing")),
    "image_segments": Source(partial(load_embedded, "image_segments")),
    "classes still": Source(partial(_drifting_classes, "none"), is_shuffled=False),
    "classes gradual": Source(partial(_drifting_classes, "gradual"), is_shuffled=False),
    "classes abrupt": Source(partial(_drifting_classes, "abrupt"), is_shuffled=False),
    "solar_flare": Source(partial(load_embedded, "solar_flare")),
    "doctor visits": Source(_doctor_visits, most_rows=6_000),
    "discussions": Source(_discussions, most_rows=6_000),
    "digits_ink": Source(partial(load_embedded, "digits_ink"), is_shuffled=False, most_rows=6_000),
    "marriage rating": Source(_happiness, most_rows=6_000),
    "simulated counts": Source(_simulated_counts, is_shuffled=False),
    "simulated levels": Source(_simulated_levels, is_shuffled=False),
}

CLASSIFIERS: dict[str, Callable[..., IEGPClassifier]] = {
    "default": IEGPClassifier,
    "ie_gp": partial(presets.ie_gp, "classification"),
    "die_gp": partial(presets.die_gp, "classification"),
    "sie_gp": partial(presets.sie_gp, "classification"),
    "dsie_gp": partial(presets.dsie_gp, "classification"),
    # The default without one part, to measure the gain of each.
    "nodrift": partial(IEGPClassifier, drift_var=0.0),
    "asis": partial(IEGPClassifier, sharpness=1.0),
    "bayes": partial(IEGPClassifier, weights="bayes"),
    "plain": partial(IEGPClassifier, features="random"),
    "probit": partial(IEGPClassifier, integration="probit"),
    "nf50": partial(IEGPClassifier, n_frequencies=50),
}


class Score(NamedTuple):
    """NaN where a score does not apply."""

    error: float
    log_loss: float
    brier: float
    calibration: float
    deviance: float
    coverage: float
    rows_per_second: float


def _of_classes(y: NDArray[Any], proba: Float, classes: NDArray[Any], speed: float) -> Score:
    predicted = classes[np.argmax(proba, axis=1)]
    calibration = expected_calibration_error(y, proba, classes)
    values = error_rate(y, predicted), log_loss(y, proba, classes), brier(y, proba, classes), calibration
    return Score(*values, np.nan, _share_inside(y, proba, classes), speed)


def _share_inside(y: NDArray[Any], proba: Float, classes: NDArray[Any]) -> float:
    """Share of ordered labels in the central 95 % of their predictive distribution.

    A level that straddles an end counts by the part of its probability inside, so that calibrated predictions score 95
    % however few levels there are.
    """
    if y.dtype.kind != "i":
        return np.nan
    rows, level = np.arange(len(y)), np.searchsorted(classes, y)
    upper = np.cumsum(proba, axis=1)[rows, level]
    lower = upper - proba[rows, level]
    inside = np.minimum(upper, 0.975) - np.maximum(lower, 0.025)
    return float(np.mean(np.maximum(inside, 0.0) / np.maximum(proba[rows, level], 1e-300)))


def _of_counts(y: NDArray[Any], mean: Float, log_score: Float, covered: float, speed: float) -> Score:
    return Score(np.nan, -float(log_score.mean()), np.nan, np.nan, poisson_deviance(y, mean), covered, speed)


def classify(model: IEGPClassifier | IEGPOrdinalClassifier, stream: Stream) -> Score:
    start = time.perf_counter()
    run = model.prequential(stream.X, stream.y)
    return _of_classes(run.y, run.proba, run.classes, len(run) / (time.perf_counter() - start))


def count(stream: Stream, seed: int, **settings: Any) -> Score:
    start = time.perf_counter()
    run = IEGPCountRegressor(random_state=seed, **settings).prequential(stream.X, stream.y)
    speed = len(run) / (time.perf_counter() - start)
    return _of_counts(run.y, run.mean, run.log_score, coverage(run.y, run.lower, run.upper), speed)


def frequencies(stream: Stream) -> Score:
    classes = np.unique(stream.y)
    return _of_classes(stream.y, running_frequencies(stream.y, classes), classes, np.nan)


def running_counts(stream: Stream) -> Score:
    naive = running_count_mean(stream.y)
    return _of_counts(stream.y[1:], naive.mean, naive.log_score, np.nan, np.nan)


def refits(n: int, first: int) -> list[int]:
    """Rows at which a batch model is fitted again."""
    stops = [first]
    while stops[-1] < n:
        stops.append(max(stops[-1] + 1, int(1.1 * stops[-1])))
    return stops


def refitted_poisson(stream: Stream) -> Score:
    """scikit-learn's PoissonRegressor, with Poisson counts around its mean."""
    y = np.asarray(stream.y, dtype=np.float64)
    mean = np.concatenate([[0.5], (np.cumsum(y)[:-1] + 0.5) / np.arange(1, len(y))])
    stops = refits(len(y), 50)
    for begin, end in pairwise(stops):
        model = make_pipeline(StandardScaler(), PoissonRegressor(alpha=1e-2, max_iter=1000))
        model.fit(stream.X[:begin], y[:begin])
        mean[begin:end] = np.clip(model.predict(stream.X[begin:end]), 1e-3, 10.0 * y[:begin].max() + 1.0)
    lower, upper = poisson.ppf(0.025, mean), poisson.ppf(0.975, mean)
    return _of_counts(y, mean, poisson.logpmf(y, mean), coverage(y, lower, upper), np.nan)


def refitted_ordinal(stream: Stream) -> Score:
    """statsmodels' proportional-odds model, linear in the columns."""
    classes, levels = np.unique(stream.y, return_inverse=True)
    proba = running_frequencies(stream.y, classes)
    varies = stream.X[:200].std(axis=0) > 0.0
    X = (stream.X[:, varies] - stream.X[:200, varies].mean(axis=0)) / stream.X[:200, varies].std(axis=0)
    stops = refits(len(levels), 200)
    for begin, end in pairwise(stops):
        if len(np.unique(levels[:begin])) < len(classes):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = OrderedModel(levels[:begin], X[:begin], distr="logit").fit(method="bfgs", disp=False)
            proba[begin:end] = np.asarray(fitted.model.predict(fitted.params, exog=X[begin:end]))
    # A linear model may be certain and wrong; a small share of the frequencies keeps its log loss finite.
    proba = 0.999 * np.maximum(proba, 0.0) + 0.001 / len(classes)
    return _of_classes(stream.y, proba / proba.sum(axis=1, keepdims=True), classes, np.nan)


def models_for(task: str, asked: list[str]) -> list[str]:
    if task == "classification":
        return [*asked, "frequencies"]
    if task == "counts":
        return ["default", "poisson only", "running mean", "PoissonRegressor"]
    return ["default", "unordered", "linear ordinal", "frequencies"]


def score(model: str, stream: Stream, seed: int) -> Score:
    baselines = {
        "frequencies": frequencies,
        "running mean": running_counts,
        "PoissonRegressor": refitted_poisson,
        "linear ordinal": refitted_ordinal,
    }
    if model in baselines:
        found = baselines[model](stream)
        return found._replace(coverage=np.nan) if stream.task == "classification" else found
    if stream.task == "counts":
        return count(stream, seed, **({"overdispersion": 0.0} if model == "poisson only" else {}))
    if stream.task == "ordinal" and model == "default":
        return classify(IEGPOrdinalClassifier(random_state=seed), stream)
    result = classify(CLASSIFIERS["default" if model == "unordered" else model](random_state=seed), stream)
    return result if stream.task == "ordinal" else result._replace(coverage=np.nan)


def load(name: str, seed: int) -> Stream:
    source = STREAMS[name]
    stream = source.load()
    rows = np.arange(len(stream.X))
    if source.is_shuffled:
        rows = np.random.default_rng(seed).permutation(rows)
    rows = rows[: source.most_rows]
    return replace(stream, X=np.ascontiguousarray(stream.X[rows]), y=stream.y[rows])


def _job(arguments: tuple[str, str, int]) -> tuple[str, str, Score]:
    model, name, seed = arguments
    return model, name, score(model, load(name, seed), seed)


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


def _shown(value: float, pattern: str) -> str:
    return "" if np.isnan(value) else format(value, pattern)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--models", default="default,ie_gp,die_gp,sie_gp,dsie_gp", help="for streams of classes")
    parser.add_argument("--streams", default=",".join(STREAMS))
    arguments = parser.parse_args()
    tasks = available(arguments.streams.split(","))
    models = {name: models_for(task, arguments.models.split(",")) for name, task in tasks.items()}
    jobs = [(model, name, seed) for name in tasks for model in models[name] for seed in range(arguments.seeds)]
    scores: dict[tuple[str, str], list[Score]] = defaultdict(list)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for model, name, result in pool.map(_job, jobs):
            scores[model, name].append(result)
    print(machine.describe())
    print(f"medians over {arguments.seeds} seeds; target: what the default has to reach\n")
    print(
        f"{'stream':16} {'model':17} {'error':>7} {'target':>7} {'log loss':>9} {'Brier':>7} {'ECE':>7} "
        f"{'deviance':>9} {'cover':>6} {'rows/s':>7}"
    )
    for name in tasks:
        for model in models[name]:
            median = Score(*np.median(scores[model, name], axis=0))
            target = TARGETS.get(name, (np.nan, None))[0] if model == "default" else np.nan
            print(
                f"{name:16} {model:17} {_shown(median.error, '.4f'):>7} {_shown(target, '.3f'):>7} "
                f"{median.log_loss:9.4f} {_shown(median.brier, '.4f'):>7} {_shown(median.calibration, '.4f'):>7} "
                f"{_shown(median.deviance, '.4f'):>9} {_shown(100 * median.coverage, '.1f'):>6} "
                f"{_shown(median.rows_per_second, '.0f'):>7}"
            )


if __name__ == "__main__":
    main()
