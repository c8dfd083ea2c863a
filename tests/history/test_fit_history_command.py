"""``iegp fit-history`` as a person runs it: a real process, messages on standard error, a model on disk."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from history.static_models import stream
from stream_runs.process import iegp as forked

from iegp import IEGPRegressor, load
from iegp.cli.fit_history import STATIC

X, Y = stream(3000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("history")
    for number, part in enumerate(np.array_split(np.arange(len(X)), 2)):
        names = pa.array([f"r{i}" for i in part])
        table = pa.table({"name": names, "when": part.astype("M8[ms]"), "a": X[part, 0], "b": X[part, 1], "y": Y[part]})
        pa.parquet.write_table(table, folder / f"{number}.parquet", row_group_size=500)
    return folder


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return iegp("fit-history", *arguments)


def iegp(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "iegp", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_files_become_a_model(folder, tmp_path):
    saved = tmp_path / "model"
    done = run(folder / "*.parquet", "--target", "y", "--ignore", "name,when", "--workers", "2", "--save", saved)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "3,000 rows from 2 files" in done.stderr
    model = load(saved)
    wanted = IEGPRegressor(**STATIC, random_state=0).warm_up(X[:1000], Y[:1000]).partial_fit(X[1000:], Y[1000:])
    np.testing.assert_allclose(model.predict(X[:20], check_input=False), wanted.predict(X[:20]), rtol=1e-8, atol=1e-8)
    assert list(model.feature_names_in_) == ["a", "b"]
    for command in (
        ["predict", saved, "x.csv"],
        ["report", saved],
        ["stream", "x.csv", "-t", "y", "--save", saved, "--resume"],
    ):
        refused = iegp(*command)
        assert refused.returncode != 0
        assert "iegp.load in Python" in refused.stderr
    again = run(folder, "--target", "y", "--ignore", "name,when", "--save", saved)
    assert again.returncode == 2
    assert "--overwrite" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--target", "y"], 1, "'name' (string), 'when' (timestamp[ms]); leave them out with --ignore name,when"),
        (
            ["--target", "y", "--ignore", "a,name"],
            1,
            "numbers: 'when' (timestamp[ms]); leave them out with --ignore a,name,when",
        ),
        (["--target", "z", "--features", "a"], 1, "no column 'z'"),
        (["--target", "y", "--engine", "spark"], 2, "--engine spark is not known; use local or ray"),
    ],
)
def test_what_is_refused_says_why(folder, tmp_path, arguments, code, message):
    done = forked(tmp_path, "fit-history", folder, *arguments, "--save", tmp_path / "model")
    assert (done.code, message in done.err) == (code, True), done.err
    assert not (tmp_path / "model").exists()
