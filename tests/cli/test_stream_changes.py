"""`iegp stream --alarm` and `--conformal`: changes are told, also after a crash, and intervals keep their level."""

from __future__ import annotations

import csv
import json
import os

import numpy as np
import pytest
from stream_runs.process import iegp

SMALL = '[parameters]\nn_frequencies = 10\nwarmup = 100\n[[parameters.kernels]]\nkernel = "RBF"\nlength_scale = 1.0\n'


@pytest.fixture
def shifted(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(-2.0, 2.0, size=500)
    y = np.sin(x) + 0.1 * rng.normal(size=500) + 1.0 * (np.arange(500) >= 350)
    path = tmp_path / "shifted.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["x", "y"])
        rows.writerows(zip(x, y, strict=True))
    (tmp_path / "small.toml").write_text(SMALL)
    return path


def run(path, *flags):
    return iegp(path.parent, "stream", path.name, "--target", "y", "--config", "small.toml", *flags)


def test_changes_are_reported_in_answers_file_summary_and_report(shifted):
    flags = ["--out", "a.jsonl", "--report", "r.html", "--alarm", "alarms.jsonl", "--conformal", "online"]
    done = run(shifted, *flags)
    assert done.code == 0, done.err
    (alarm,) = [json.loads(line) for line in (shifted.parent / "alarms.jsonl").read_text().splitlines()]
    answers = [json.loads(line) for line in (shifted.parent / "a.jsonl").read_text().splitlines()]
    assert [(row["row"], row["change"]) for row in answers if "change" in row] == [(alarm["row"], alarm["kind"])]
    assert 350 <= alarm["row"] < 380
    assert "Changes noticed: 1" in done.err
    assert "change noticed" in (shifted.parent / "r.html").read_text()


def test_a_resumed_run_gives_the_same_answers_and_reports_changes_at_least_once(shifted):
    assert run(shifted, "--out", "whole.jsonl", "--conformal", "online").code == 0
    flags = ["--out", "a.jsonl", "--save", "m", "--alarm", "alarms.jsonl"]
    assert run(shifted, *flags, "--conformal", "online", "--limit", "200").code == 0
    assert run(shifted, *flags, "--resume").code == 0
    assert (shifted.parent / "a.jsonl").read_bytes() == (shifted.parent / "whole.jsonl").read_bytes()
    assert len((shifted.parent / "alarms.jsonl").read_text().splitlines()) >= 1


def test_an_alarm_command_that_does_not_exist_is_refused_before_a_row_is_read(shifted):
    done = run(shifted, "--out", "a.jsonl", "--alarm-command", "no-such-program,argument")
    assert done.code == 2
    assert "--alarm-command: 'no-such-program' is no program" in done.err
    assert not (shifted.parent / "a.jsonl").exists()


def test_alarms_into_a_pipe_are_refused_before_a_row_is_read(shifted):
    """It would be waited for at the first change only, perhaps after days."""
    os.mkfifo(shifted.parent / "alarms")
    done = run(shifted, "--out", "a.jsonl", "--alarm", "alarms")
    assert done.code == 2
    assert "--alarm alarms is a device or a pipe" in done.err
    assert not (shifted.parent / "a.jsonl").exists()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--intervals", "normal"], "needs quantiles"),
        (["--task", "count"], "labels that are numbers"),
    ],
)
def test_conformal_refuses_what_it_cannot_do(shifted, flags, words):
    done = run(shifted, "--conformal", "online", *flags)
    assert done.code == 2
    assert words in done.err
