"""The default beside the last label, LightGBM and River's regressors: error, likelihood, coverage, time per row.

    IEGP_DATA=folder python benchmarks/peers.py [--rows 8000] [--seeds 5] [--streams sarcos,...] [--methods default,...]

Protocol: that of ``accuracy.py`` on the first rows of each stream; the first 1,000 are not scored. Every method obeys
the delay of the stream: row t is predicted from labels of rows up to t - 1 - delay. LightGBM is fitted anew every 250
rows on all rows whose labels are known, with 200 trees; "+ lags" adds the three newest known labels as columns, "+
seasonal lags" those that the default finds in the warm-up rows. The batch GP (``iegp_paper.competitors.BatchGP``,
which tests compare with scikit-learn's) sees the three newest and is fitted anew every 250 rows on the newest 1,000
rows whose labels are known: RBF with a length scale for each column, signal and noise, all by evidence (from those of
the fit before), columns standardised. River's models (``river_peers.py``) predict row t, then learn row t - delay.
NLL and coverage are of methods that predict a distribution. Microseconds are processor time of one thread per row
after the warm-up, refits included. Methods are also those of ``accuracy.py``, such as the default without one part;
streams are also its held-out ones. Models of ours are run with several seeds: medians, and for the first method the
range. Each result is printed on stderr when it is there.
"""

from __future__ import annotations

import argparse
import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Callable, Iterable, Iterator

import machine
import numpy as np
from accuracy import IN_TIME_ORDER, MODELS, TARGETS, WARMUP, Score, available, load, n_warmup, score_on
from iegp_paper.competitors import BatchGP
from lightgbm import LGBMRegressor
from river_peers import PEERS

from iegp import IEGPRegressor
from iegp.datasets import Stream
from iegp.evaluate.metrics import nmse
from iegp.typing import Float

N_LAGS = 3
EVERY = 250
GP_ROWS = 1000
DIVERGED = 1e3
RIVER = {
    "ARF": "ARFRegressor",
    "KNN": "KNNRegressor 5",
    "linear": "LinearRegression SGD 0.01",
    "linear clipped": "LinearRegression SGD clipped",
    "HAT": "HoeffdingAdaptiveTree",
    "SRP": "SRPRegressor of 3",
}
Table = dict[tuple[str, str], list[Score]]


def known_labels(stream: Stream) -> Float:
    """(n, 3): the newest labels known when a row is predicted, newest first; NaN where there are none yet."""
    return lagged(stream, [stream.delay + 1 + k for k in range(N_LAGS)])


def lagged(stream: Stream, offsets: Iterable[int]) -> Float:
    """(n, lags): the labels so many rows before each row; NaN where there are none yet."""
    columns = [np.concatenate([np.full(offset, np.nan), stream.y])[: len(stream.y)] for offset in offsets]
    return np.column_stack(columns)


def last_label(stream: Stream) -> Score:
    return _point_score(stream, known_labels(stream)[n_warmup(stream) :, 0], 0.0)


def lightgbm(stream: Stream) -> Score:
    return _refitted(stream, stream.X)


def lightgbm_with_lags(stream: Stream) -> Score:
    return _refitted(stream, np.column_stack([stream.X, known_labels(stream)]))


def lightgbm_with_lags_of_default(stream: Stream) -> Score:
    model = IEGPRegressor(random_state=0, delay=stream.delay)
    found = model.partial_fit(stream.X[: WARMUP + 1], stream.y[: WARMUP + 1]).lags_
    return _refitted(stream, np.column_stack([stream.X, lagged(stream, found)]))


def batch_gp(stream: Stream) -> Score:
    X = np.nan_to_num(np.column_stack([stream.X, known_labels(stream)]), nan=float(np.mean(stream.y[:WARMUP])))
    start, begin = time.process_time(), n_warmup(stream)
    mean, std, hyper = np.empty(len(X)), np.empty(len(X)), None
    for first in range(begin, len(X), EVERY):
        known, rows = slice(max(0, first - stream.delay - GP_ROWS), first - stream.delay), slice(first, first + EVERY)
        model = BatchGP(learn_warmup=True, begin=hyper).warm_up(X[known], stream.y[known])
        hyper = model.hyper_
        mean[rows], std[rows] = model.predict(X[rows], return_std=True)
    seconds = time.process_time() - start
    y, mean, std = stream.y[begin:], mean[begin:], std[begin:]
    z = (y - mean) / std
    unit = np.std(stream.y[:begin])
    nll = float(np.mean(0.5 * z**2 + np.log(std / unit) + 0.5 * np.log(2.0 * np.pi)))
    return Score(nmse(y, mean), nll, float(np.mean(np.abs(z) < 1.96)), 1e6 * seconds / len(y))


def _refitted(stream: Stream, X: Float) -> Score:
    start = time.process_time()
    parts = []
    for first in range(n_warmup(stream), len(X), EVERY):
        known = first - stream.delay
        model = LGBMRegressor(n_estimators=200, n_jobs=1, verbose=-1, random_state=0).fit(X[:known], stream.y[:known])
        parts.append(model.predict(X[first : first + EVERY]))
    return _point_score(stream, np.concatenate(parts), time.process_time() - start)


def river(stream: Stream, name: str) -> Score:
    """Scores of a model that learns row by row; its error is infinite where it does not survive the stream."""
    model, first = PEERS[RIVER[name]](), n_warmup(stream)
    rows = [dict(enumerate(row)) for row in stream.X.tolist()]
    predicted, seconds = [], 0.0
    try:
        for t, row in enumerate(rows):
            start = time.process_time()
            predicted.append(model.predict_one(row) or 0.0)
            if t >= stream.delay:
                model.learn_one(rows[t - stream.delay], float(stream.y[t - stream.delay]))
            seconds += (time.process_time() - start) * (t >= first)
    except ArithmeticError:
        return Score(np.inf, np.nan, np.nan, np.nan)
    return _point_score(stream, np.array(predicted[first:]), seconds)


def _point_score(stream: Stream, predicted: Float, seconds: float) -> Score:
    error = nmse(stream.y[n_warmup(stream) :], predicted)
    return Score(error if error < DIVERGED else np.inf, np.nan, np.nan, 1e6 * seconds / len(predicted))


SINGLE: dict[str, Callable[[Stream], Score]] = {
    "last label": last_label,
    "LightGBM": lightgbm,
    "LightGBM + lags": lightgbm_with_lags,
    "LightGBM + seasonal lags": lightgbm_with_lags_of_default,
    "batch GP": batch_gp,
}
METHODS = ["default", "light", *SINGLE, *RIVER]


def scores(stream: Stream, method: str, n_seeds: int) -> Iterator[Score]:
    if method in MODELS:
        yield from (score_on(stream, method, seed) for seed in range(n_seeds))
    else:
        yield SINGLE[method](stream) if method in SINGLE else river(stream, method)


def collect(streams: list[str], methods: list[str], n_rows: int, n_seeds: int) -> Table:
    found: Table = {}
    for method in methods:
        for name in streams:
            found[name, method] = []
            for score in scores(load(name).head(n_rows), method, n_seeds):
                found[name, method].append(score)
                print(f"{method};{name};" + ";".join(f"{value:.6g}" for value in score), file=sys.stderr, flush=True)
    return found


def print_table(found: Table, measure: str, form: str) -> None:
    """One measure, streams by methods; methods without it are left out."""
    values = {key: np.array([getattr(score, measure) for score in several]) for key, several in found.items()}
    streams, methods = (list(dict.fromkeys(names)) for names in zip(*values, strict=True))
    methods = [method for method in methods if not all(np.isnan(values[name, method]).all() for name in streams)]
    if not methods:
        return
    print(f"\n| {measure} | {' | '.join(methods)} |\n|---|{'---:|' * len(methods)}")
    for name in streams:
        cells = [_cell(values[name, method], form, has_range=method == methods[0]) for method in methods]
        print(f"| {name} | {' | '.join(cells)} |")


def _cell(values: Float, form: str, has_range: bool) -> str:
    if np.isnan(values).any():
        return ""
    if np.isinf(values).any():
        return "diverges"
    span = f" ({values.min():{form}} to {values.max():{form}})" if has_range and len(values) > 1 else ""
    return f"{np.median(values):{form}}{span}"


def print_comparison(found: Table, first: str) -> None:
    """Every method against the first: medians over streams of the ratio of nMSE and of the difference of NLL."""
    median = {key: Score(*np.median(several, axis=0)) for key, several in found.items()}
    print(f"\n| against {first} | nMSE, ratio | its largest | its lowest | NLL, difference |")
    print("|---|---:|---:|---:|---:|")
    for method in dict.fromkeys(method for _, method in median):
        pairs = [(median[name, method], median[name, first]) for name, other in median if other == method]
        ratios = [other.nmse / own.nmse for other, own in pairs]
        difference = np.median([other.nll - own.nll for other, own in pairs])
        shown = "" if np.isnan(difference) else f"{difference:+.3f}"
        print(f"| {method} | {np.median(ratios):.3f} | {max(ratios):.3f} | {min(ratios):.3f} | {shown} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--streams", default=",".join([*TARGETS, *IN_TIME_ORDER]))
    parser.add_argument("--methods", default=",".join(METHODS))
    arguments = parser.parse_args()
    streams, methods = available(arguments.streams.split(",")), arguments.methods.split(",")
    for name in {streams[0], streams[-1]}:  # compiles what the clock must not see, without and with a delay
        list(scores(load(name).head(WARMUP + 100), methods[0], 1))
    found = collect(streams, methods, arguments.rows, arguments.seeds)
    print(machine.describe())
    print(f"first {arguments.rows} rows; models of ours: medians over {arguments.seeds} seeds")
    for measure, form in (("nmse", ".4f"), ("nll", ".3f"), ("coverage", ".1%"), ("microseconds", ".0f")):
        print_table(found, measure, form)
    print_comparison(found, methods[0])


if __name__ == "__main__":
    main()
