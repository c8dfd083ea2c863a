"""The demo as a person runs it: a real process, scores on stdout, progress on stderr, figures and a report on disk."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("matplotlib", reason="the plot extra is not installed")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-W", "error", "-m", "iegp.cli.demo", "--rows", "1300", "--out", str(folder / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "out", done


def test_scores_go_to_stdout_and_progress_to_stderr(demo):
    _, done = demo
    assert "nMSE" in done.stdout
    assert "running mean" in done.stdout
    assert "1300/1300" in done.stderr
    assert "1300/1300" not in done.stdout


def test_the_report_holds_the_table_and_both_figures(demo):
    out, _ = demo
    report = (out / "report.md").read_text()
    assert report.count("iegp default") == 2
    for name in ("digits_scan.png", "robot_arm.png"):
        assert name in report
        assert (out / name).read_bytes().startswith(b"\x89PNG")


def test_the_model_beats_the_naive_forecast(demo):
    out, _ = demo
    rows = [line.split("|") for line in (out / "report.md").read_text().splitlines() if line.count("|") == 7][2:]
    nmse = {(row[1].strip(), row[2].strip()): float(row[3]) for row in rows}
    for stream in ("digits_scan", "robot_arm"):
        assert nmse[stream, "iegp default"] < 0.6 * nmse[stream, "running mean"]
