"""`iegp stream --delay`: every row is predicted from the labels that are known then."""

from __future__ import annotations

import copy
import csv
import json

import numpy as np
import pytest
from stream_runs.process import iegp

from iegp import IEGPRegressor
from iegp.core.editing.new_key import for_new_keys
from iegp.estimators.defaults import KEYED, KEYED_TEMPLATE_ROWS


@pytest.fixture
def walk(tmp_path):
    """A file whose label is the level of a random walk three rows ahead."""
    rng = np.random.default_rng(0)
    level = np.cumsum(rng.normal(size=300))
    path = tmp_path / "walk.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["x", "y"])
        rows.writerows(zip(level[:-3].round(6), level[3:].round(6), strict=True))
    return path


def answers(path, *flags):
    out = path.with_name("answers.jsonl")
    done = iegp(path.parent, "stream", path.name, "--target", "y", "--out", out.name, "--overwrite", "--quiet", *flags)
    assert done.code == 0, done.err
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_answers_are_the_estimators(walk):
    with walk.open() as file:
        x, y = np.array([[float(v) for v in row.values()] for row in csv.DictReader(file)]).T
    late = answers(walk, "--delay", "2")
    wanted = IEGPRegressor(delay=2, random_state=0).prequential(x[:, None], y)
    # Before the first label there is no prediction.
    assert [a["mean"] is None for a in late[:5]] == [True, True, True, False, False]
    np.testing.assert_allclose([a["mean"] for a in late[3:]], wanted.mean[3:], rtol=1e-6, atol=1e-6)
    at_once = answers(walk)
    errors = [np.mean((np.array([a["mean"] for a in found[3:]]) - y[3:]) ** 2) for found in (late, at_once)]
    assert errors[0] > errors[1], "labels that are not known yet must not help"


def test_keys_have_the_delay_in_rows_of_their_own(walk, tmp_path):
    """Once each key has its model, its answers are those of an estimator with that delay that learns its rows alone."""
    rows = list(csv.DictReader(walk.read_text().splitlines()))
    path = tmp_path / "keyed.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["who", "x", "y"])
        table.writerows([["a" if i % 3 else "b", row["x"], row["y"]] for i, row in enumerate(rows)])
    (tmp_path / "small.toml").write_text("[parameters]\nwarmup = 100\nn_frequencies = 10\n")
    flags = ["--key", "who", "--delay", "2", "--config", "small.toml"]
    found = answers(path, *flags)
    x, y = (np.array([float(row[name]) for row in rows]) for name in ("x", "y"))
    shared = IEGPRegressor(delay=2, lags=0, random_state=0, warmup=100, n_frequencies=10, **KEYED)
    shared.prequential(x[:102, None], y[:102])
    shared.model_ = for_new_keys(shared.model_, KEYED_TEMPLATE_ROWS)
    for key in "ab":
        own = np.array([i for i in range(102, len(rows)) if ("a" if i % 3 else "b") == key])
        wanted = copy.deepcopy(shared).prequential(x[own, None], y[own])
        np.testing.assert_allclose([found[i]["mean"] for i in own], wanted.mean, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose([found[i]["log_score"] for i in own], wanted.log_score, rtol=1e-5, atol=1e-5)


def test_rows_without_a_label_do_not_see_labels_that_are_not_known(walk):
    """A gap in the target: the row is answered with what is known then."""
    rows = walk.read_text().splitlines()
    open_row = [*rows[:200], rows[200].split(",")[0] + ",", *rows[201:]]
    changed = [*open_row[:199], rows[199].split(",")[0] + ",100", *open_row[200:]]
    found = []
    for lines in (open_row, changed):
        walk.write_text("\n".join(lines) + "\n")
        found.append(answers(walk, "--delay", "2")[199])
    assert found[0]["mean"] == found[1]["mean"]


def test_bad_delays_are_named(walk):
    done = iegp(walk.parent, "stream", walk.name, "--target", "y", "--delay", "-1")
    assert done.code != 0
    assert "delay=-1" in done.err
