"""`iegp stream --delay`: every row is predicted from the labels that are known then."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from stream_runs.process import iegp

from iegp import IEGPRegressor


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


def test_keys_are_refused(walk):
    done = iegp(walk.parent, "stream", walk.name, "--target", "y", "--delay", "2", "--key", "x")
    assert done.code != 0
    assert "--delay 2" in done.err


def test_bad_delays_are_named(walk):
    done = iegp(walk.parent, "stream", walk.name, "--target", "y", "--delay", "-1")
    assert done.code != 0
    assert "delay=-1" in done.err
