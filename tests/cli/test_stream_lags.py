"""`iegp stream --lags`: labels of earlier rows are inputs."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from stream_runs.process import iegp

from iegp import IEGPRegressor

SMALL = "[parameters]\nn_frequencies = 10\nwarmup = 100\n"


@pytest.fixture
def waves(tmp_path):
    """A file whose label follows the two labels before it."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=400).round(6), np.zeros(400)
    for t in range(2, len(y)):
        y[t] = round(1.6 * y[t - 1] - 0.8 * y[t - 2] + 0.1 * x[t], 6)
    path = tmp_path / "waves.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "x", "y"])
        rows.writerows(zip(range(len(y)), x, y, strict=True))
    (tmp_path / "small.toml").write_text(SMALL)
    return path, x, y


def run(path, *flags):
    return iegp(path.parent, "stream", path.name, "--target", "y", "--quiet", "--config", "small.toml", *flags)


def answers(path, *flags):
    out = path.with_name("answers.jsonl")
    done = run(path, "--out", out.name, "--overwrite", *flags)
    assert done.code == 0, done.err
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.parametrize(("text", "lags"), [("2", 2), ("1,2,24", (1, 2, 24)), ("auto", "auto"), ("none", 0)])
def test_answers_are_the_estimators(waves, text, lags):
    path, x, y = waves
    found = answers(path, "--lags", text)
    wanted = IEGPRegressor(lags=lags, n_frequencies=10, warmup=100, random_state=0).prequential(x[:, None], y)
    np.testing.assert_allclose([a["mean"] for a in found[1:]], wanted.mean[1:], rtol=1e-6, atol=1e-6)


def test_a_run_goes_on_with_the_labels_it_saw(waves):
    path, _, _ = waves
    whole = [a["mean"] for a in answers(path, "--lags", "1,2,24")]
    lines = path.read_text().splitlines(keepends=True)
    folder = path.parent / "parts"
    folder.mkdir()
    part, small = folder / path.name, folder / "small.toml"
    small.write_text(SMALL)
    part.write_text("".join(lines[:251]))
    flags = ["--lags", "1,2,24", "--save", "model.iegp", "--out", "answers.jsonl"]
    assert run(part, *flags).code == 0
    part.write_text("".join(lines))
    again = run(part, *flags, "--resume")
    assert again.code == 0, again.err
    means = [json.loads(line)["mean"] for line in (folder / "answers.jsonl").read_text().splitlines()]
    # The first run ended within a block of the other.
    np.testing.assert_allclose(means[1:], whole[1:], rtol=1e-6, atol=1e-9)


def test_no_label_of_a_later_row_is_an_input(waves):
    path, _, _ = waves
    first = answers(path, "--lags", "3")
    lines = path.read_text().splitlines()
    changed = lines[300].split(",")
    lines[300] = ",".join([*changed[:-1], str(float(changed[-1]) + 1.0)])
    path.write_text("\n".join(lines) + "\n")
    second = answers(path, "--lags", "3")
    means = [[a["mean"] for a in found] for found in (first, second)]
    assert means[0][:300] == means[1][:300]
    assert means[0][300] != means[1][300]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--lags", "many"], "--lags 'many' is not understood"),
        (["--lags", "-1"], "--lags '-1' is not understood"),
        (["--lags", "2,2"], "each once"),
        (["--lags", "1,2", "--delay", "5"], "the least offset"),
        (["--lags", "auto", "--key", "id"], "--lags auto is not available with --key"),
        (["--lags", "3", "--key", "id", "--delay", "1"], "not available with --key and a delay of 1"),
    ],
)
def test_bad_lags_are_named(waves, flags, words):
    done = run(waves[0], *flags)
    assert done.code == 2
    assert words in " ".join(done.err.split())


def test_lags_and_a_delay_that_do_not_fit_are_named_as_flags(waves):
    path, _, _ = waves
    flags = ["stream", path.name, "--target", "y", "--quiet", "--out", "answers.jsonl"]
    done = iegp(path.parent, *flags, "--lags", "1,2,24", "--delay", "24")
    assert done.code == 2
    assert done.err.startswith("iegp: --lags 1,2,24 --delay 24: lags")
    assert "configuration" not in done.err
    (path.parent / "odd.toml").write_text("[parameters]\nn_frequencies = -1\n")
    done = iegp(path.parent, *flags, "--lags", "3", "--config", "odd.toml")
    assert done.code == 2
    assert "[parameters] of the configuration: n_frequencies" in done.err
