"""Forecasts: IEGPForecaster beside naive forecasts, statsforecast and LightGBM, from rolling origins.

    IEGP_DATA=folder python benchmarks/forecast.py [--series "ETTh1 oil,CO2"] [--methods "IEGP,last value"]

Series, origins and scores are those of ``forecast_series.py``, peers those of ``forecast_peers.py``. IEGPForecaster
learns each row once, in order, and forecasts at the origins. Seconds per forecast are processor time for everything
from the first row (or fit) on, learning included, over the number of origins. The last table is of every origin after
the first, 95 % coverage per horizon. Each result is printed on stderr when it is there.
"""

from __future__ import annotations

import argparse
import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time

import machine
import numpy as np
from forecast_peers import PEERS
from forecast_series import LEVELS, SERIES, Scores, Series, scored

from iegp import IEGPForecaster
from iegp.evaluate.forecasts import ForecastRun
from iegp.typing import Float

OURS = "IEGP"


def ours(series: Series, y: Float) -> tuple[Float, ForecastRun]:
    """Quantiles (origins, levels, horizon), and the forecasts from every row."""
    model = IEGPForecaster(horizon=series.horizon, season=series.season, random_state=0)
    known, found, runs = 0, [], []
    for origin in series.origins:
        runs.append(model.prequential(y[known:origin]))
        found.append(model.predict_quantile(LEVELS))
        known = origin
    return np.array(found), ForecastRun.concatenate(runs)


def run(name: str, method: str, every: dict[str, ForecastRun]) -> Scores:
    """Scores of a method; forecasts of ours from every row are added to ``every``."""
    series = SERIES[name]
    y = series.load()
    start = time.process_time()
    if method == OURS:
        quantiles, every[name] = ours(series, y)
    else:
        quantiles = PEERS[method](series, y)
    seconds = time.process_time() - start
    truth = np.array([y[origin : origin + series.horizon] for origin in series.origins])
    scores = scored(quantiles, truth, series.scale(y), seconds)
    print(f"{name};{method};" + ";".join(f"{value:.6g}" for value in scores), file=sys.stderr, flush=True)
    return scores


def print_table(found: dict[tuple[str, str], Scores], measure: str, form: str) -> None:
    names, methods = (list(dict.fromkeys(parts)) for parts in zip(*found, strict=True))
    print(f"\n| {measure} | {' | '.join(methods)} |\n|---|{'---:|' * len(methods)}")
    for name in names:
        cells = [format(getattr(found[name, method], measure), form) for method in methods]
        print(f"| {name} | {' | '.join(cells)} |")


def print_verdict(found: dict[tuple[str, str], Scores]) -> None:
    """How often ours is lowest or within 3 % of the lowest of all methods that were run."""
    names = list(dict.fromkeys(name for name, _ in found))
    for measure in ("mase", "crps"):
        values = {key: getattr(scores, measure) for key, scores in found.items()}
        best = {name: min(value for (other, _), value in values.items() if other == name) for name in names}
        n_close = sum(values[name, OURS] <= 1.03 * best[name] for name in names)
        print(f"\n{measure}: lowest or within 3 % of the lowest on {n_close} of {len(names)} series.")


def print_horizons(every: dict[str, ForecastRun]) -> None:
    """95 % coverage of every origin from the first on, by horizon."""
    print(
        "\n| every origin | origins | coverage | least, at horizon | largest, at horizon |\n|---|---:|---:|---:|---:|"
    )
    for name, run in every.items():
        chosen = run.origin >= SERIES[name].first - 1
        inside = np.mean(((run.lower <= run.y) & (run.y <= run.upper))[chosen], axis=0)
        least, largest = np.argmin(inside), np.argmax(inside)
        print(
            f"| {name} | {np.sum(chosen)} | {np.mean(inside):.1%} | {inside[least]:.1%}, {least + 1} "
            f"| {inside[largest]:.1%}, {largest + 1} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--series", default=",".join(SERIES))
    parser.add_argument("--methods", default=",".join([OURS, *PEERS]))
    arguments = parser.parse_args()
    names, methods = arguments.series.split(","), arguments.methods.split(",")
    print(machine.describe())
    every: dict[str, ForecastRun] = {}
    found = {(name, method): run(name, method, every) for name in names for method in methods}
    for measure, form in (("mase", ".3f"), ("crps", ".3f"), ("coverage", ".1%"), ("seconds", ".3f")):
        print_table(found, measure, form)
    if OURS in methods and len(methods) > 1:
        print_verdict(found)
    if OURS in methods:
        print_horizons(every)


if __name__ == "__main__":
    main()
