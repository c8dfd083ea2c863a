"""`iegp stream --drift-per time`: models drift with the time between rows."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime

import numpy as np
import pytest
from stream_runs.process import iegp

from iegp import IEGPRegressor
from iegp.preprocessing.time_features import TREND, time_columns

SECONDS = 1_700_000_000.0 + np.cumsum(np.random.default_rng(1).choice([0.0, 60.0, 60.0, 75.0, 7200.0], size=240))
FLAGS = ["--target", "y", "--time", "when", "--drift-per", "time", "--config", "small.toml", "--quiet"]


def write(path, seconds):
    rng = np.random.default_rng(0)
    x = rng.normal(size=len(seconds)).round(6)
    y = (np.cumsum(rng.normal(size=len(seconds))) + x).round(6)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["when", "x", "y"])
        rows.writerows(zip((datetime.fromtimestamp(s, tz=UTC).isoformat() for s in seconds), x, y, strict=True))
    return x, y


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "in.csv", SECONDS)
    (tmp_path / "small.toml").write_text("[parameters]\nn_frequencies = 6\nwarmup = 50\n")
    return tmp_path


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_answers_are_the_estimators(folder):
    x, y = write(folder / "in.csv", SECONDS)
    done = iegp(folder, "stream", "in.csv", "--out", "out.jsonl", *FLAGS)
    assert done.code == 0, done.err
    clock = time_columns([datetime.fromtimestamp(s, tz=UTC) for s in SECONDS], SECONDS[0])
    model = IEGPRegressor(n_frequencies=6, warmup=50, random_state=0, drift_per="time")
    wanted = model.prequential(np.column_stack([clock, x]), y, time=clock[:, TREND])
    found = read(folder / "out.jsonl")
    np.testing.assert_allclose([a["mean"] for a in found[1:]], wanted.mean[1:], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose([a["std"] for a in found[1:]], wanted.std[1:], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("limit", [30, 100])
def test_resume(folder, limit):
    """In the warm-up and after it."""
    assert iegp(folder, "stream", "in.csv", "--out", "whole.jsonl", *FLAGS).code == 0
    saved = ["stream", "in.csv", "--out", "out.jsonl", "--save", "m", *FLAGS]
    assert iegp(folder, *saved, "--limit", str(limit)).code == 0
    done = iegp(folder, *saved, "--resume")
    assert done.code == 0, done.err
    found, wanted = read(folder / "out.jsonl"), read(folder / "whole.jsonl")
    assert len(found) == len(wanted)
    for name in ("mean", "std", "log_score"):
        # Blocks are cut elsewhere.
        both = [[row[name] for row in rows[1:]] for rows in (found, wanted)]
        np.testing.assert_allclose(*both, rtol=1e-8, atol=1e-8)
    write(folder / "new.csv", SECONDS[-1] + np.array([0.0, 60.0, 86400.0]))
    done = iegp(folder, "predict", "m", "new.csv")
    assert done.code == 0, done.err
    stds = [json.loads(line)["std"] for line in done.out.splitlines()]
    assert stds[2] > stds[1]
    done = iegp(folder, "predict", "m", "in.csv")
    assert done.code != 0
    assert "backwards" in done.err


def test_backwards_is_a_bad_row(folder):
    seconds = SECONDS.copy()
    seconds[120] = seconds[100]
    write(folder / "in.csv", seconds)
    done = iegp(folder, "stream", "in.csv", "--out", "out.jsonl", *FLAGS)
    assert done.code != 0
    assert "backwards" in done.err
    assert "line 122" in done.err or ":122" in done.err, done.err
    done = iegp(folder, "stream", "in.csv", "--out", "out.jsonl", "--overwrite", "--on-bad-row", "skip", *FLAGS)
    assert done.code == 0, done.err
    assert len(read(folder / "out.jsonl")) == len(SECONDS) - 1


def test_a_late_label_is_learned(folder):
    lines = [json.dumps({"id": i, "when": SECONDS[i], "x": i % 7, "y": i % 5}) for i in range(60)]
    lines += [json.dumps({"id": "late", "when": SECONDS[60], "x": 1.0})]
    lines += [json.dumps({"id": i, "when": SECONDS[i], "x": i % 7, "y": i % 5}) for i in range(61, 80)]
    lines += [json.dumps({"id": "late", "y": 2.0})]
    (folder / "in.jsonl").write_text("\n".join(lines) + "\n")
    done = iegp(folder, "stream", "in.jsonl", "--out", "out.jsonl", *FLAGS, "--task", "regression")
    assert done.code == 0, done.err
    assert read(folder / "out.jsonl")[-1]["late"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [(["--drift-per", "time"], "--time"), (["--drift-per", "day"], "--drift-per day")],
)
def test_what_does_not_go_together_is_named(folder, flags, words):
    done = iegp(folder, "stream", "in.csv", "--target", "y", *flags)
    assert done.code == 2
    assert words in done.err


def test_keys_are_refused(folder):
    done = iegp(folder, "stream", "in.csv", *FLAGS, "--key", "x")
    assert done.code == 2
    assert "--drift-per time is not available with --key" in done.err
