"""The demo as a person runs it: a real process, scores on stdout, messages on stderr, reports on disk."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-W", "error", "-m", "iegp", "demo", "--rows", "300", "--out", str(folder / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "out", done


def test_scores_go_to_stdout_and_messages_to_stderr(demo):
    _, done = demo
    assert "nMSE" in done.stdout
    assert "mean so far" in done.stdout
    assert "Done: 300 rows" in done.stderr
    assert "Done" not in done.stdout


def test_it_leaves_answers_models_reports_and_the_table(demo):
    out, _ = demo
    for name in ("bike_rentals", "robot_arm"):
        assert len((out / f"{name}.jsonl").read_text().splitlines()) == 300
        assert (out / f"{name}.model").exists()
        page = (out / f"{name}.html").read_text()
        assert page.lower().startswith("<!doctype html>")
    assert (out / "scores.md").read_text().count("iegp default") == 2


def test_the_model_beats_the_naive_forecast(demo):
    out, _ = demo
    rows = [line.split("|") for line in (out / "scores.md").read_text().splitlines() if line.count("|") == 7][2:]
    nmse = {(row[1].strip(), row[2].strip()): float(row[3]) for row in rows}
    for stream in ("bike_rentals", "robot_arm"):
        assert nmse[stream, "iegp default"] < 0.8 * nmse[stream, "mean so far"]
