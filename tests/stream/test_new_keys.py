"""New keys: intervals of a key's rows 10 to 100 cover as they say, and the error is below that of its mean so far."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from stream_runs import sources
from stream_runs.jobs import absorb, table

from iegp.cli.models import keyed_parameters, settings_of
from iegp.estimators.defaults import KEYED_TEMPLATE_ROWS
from iegp.fleet.keyed_learner import Fleets
from iegp.stream.job import Job
from iegp.stream.plan import Plan

FIRST, LAST = 10, 100
SMALL = {"n_frequencies": 15, "warmup": 128}


def first_rows(records):
    """Coverage and error over that of the running mean, of rows 10 to 100 of every key."""
    settings = settings_of("light", "regression", 0, keyed_parameters("light", SMALL))
    assert settings.lags == (1, 2, 3)
    job = Job(
        Plan(target="y", task="regression", key="sensor"), settings, True, Fleets(template_rows=KEYED_TEMPLATE_ROWS)
    )
    answers = table(absorb(job, records))
    seen, rows = defaultdict(list), []
    for i, record in enumerate(records):
        own = seen[record["sensor"]]
        if FIRST <= len(own) + 1 <= LAST:
            rows.append([i, record["y"], np.mean(own)])
        own.append(record["y"])
    place, y, running = np.array(rows).T
    mean, lower, upper = (answers[name][place.astype(int)] for name in ("mean", "lower", "upper"))
    assert len(y) > 300
    return np.mean((lower <= y) & (y <= upper)), np.mean((mean - y) ** 2) / np.mean((running - y) ** 2)


def wandering(n, n_keys, seed):
    """Keys with levels of their own, which follow an autoregression; half of them come after the shared rows."""
    rng = np.random.default_rng(seed)
    centre, level, records = rng.normal(size=n_keys), np.zeros(n_keys), []
    for i in range(n):
        key, a = int(rng.integers(n_keys if i > 300 else n_keys // 2)), float(rng.normal())
        level[key] = 0.9 * level[key] + 0.3 * rng.normal()
        y = centre[key] + level[key] + 0.5 * np.sin(a) + 0.1 * rng.normal()
        records.append({"a": a, "sensor": f"s{key}", "y": float(y)})
    return records


def levels(n, n_keys, seed):
    """Keys with levels that differ much more than the shape that they have in common varies; half of them late."""
    rng = np.random.default_rng(seed)
    own, records = 5.0 * rng.normal(size=n_keys), []
    for i in range(n):
        key, a = int(rng.integers(n_keys if i > 300 else n_keys // 2)), float(rng.uniform(0, 6))
        y = own[key] + np.sin(a) + 0.2 * rng.normal()
        records.append({"a": a, "sensor": f"s{key}", "y": float(y)})
    return records


def tickers():
    folder = os.environ.get("IEGP_DATA")
    if folder is None or not (Path(folder) / "stock_range.npz").exists():
        pytest.skip("IEGP_DATA has no stock_range.npz")
    with np.load(Path(folder) / "stock_range.npz", allow_pickle=False) as file:
        key = file["key"]
        # Two of them begin years after the others.
        first = np.sort(np.concatenate([np.flatnonzero(key == name)[:120] for name in np.unique(key)]))
        x, y, key = file["X"][first].tolist(), file["y"][first].tolist(), key[first].tolist()
    return [
        {f"x{j}": value for j, value in enumerate(row)} | {"y": label, "sensor": str(name)}
        for row, label, name in zip(x, y, key, strict=True)
    ]


@pytest.mark.parametrize("name", ["numbers", "wandering", "levels", "tickers"])
def test_intervals_cover_and_errors_are_below_the_running_mean(name):
    made = {
        "numbers": lambda: sources.keyed(700),
        "wandering": lambda: wandering(900, 12, 0),
        "levels": lambda: levels(900, 12, 0),
        "tickers": tickers,
    }
    covered, error = first_rows(made[name]())
    assert 0.90 <= covered <= 0.98
    assert error <= 1.0
