"""The command as a person runs it: killed in the middle, run again, and what it leaves behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from iegp_paper.catalogue import load_experiments
from iegp_paper.command import check, reproduce
from iegp_paper.plan import Scale, all_tasks
from iegp_paper.provenance import per_seed_csv, stored_runs
from iegp_paper.reproduce import known_of
from iegp_paper.task import Outcome, Task
from reproduction.tiny import STREAM, write_experiments

from iegp.errors import InputError

GROWS = """
title = "Regret"
kind = "static_regret"
paper = "A figure."
metric = "regret"
methods = ["IE-GP"]
runs = 2

[[data]]
name = "wide_sines"
"""

pytest.importorskip("matplotlib", reason="the plot extra is not installed")


def command(folder, *more):
    return [
        *(sys.executable, "-m", "iegp_paper", *more, "--jobs", "1"),
        *("--experiments", str(folder / "experiments"), "--out", str(folder / "out")),
    ]


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """A reproduction that was killed after its first run, then run again to the end."""
    folder = tmp_path_factory.mktemp("reproduce")
    write_experiments(folder / "experiments")
    first = subprocess.Popen(command(folder, "--quick"), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    cache, deadline = folder / "out" / "cache", time.monotonic() + 240.0
    while not list(cache.glob("*.json")) and time.monotonic() < deadline and first.poll() is None:
        time.sleep(0.02)
    # The worker is in the middle of the next run, and must go with its parent.
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=60)
    kept = {path.name: path.stat().st_mtime_ns for path in cache.glob("*.json")}
    assert not (folder / "out" / "results.md").exists()
    done = subprocess.run(command(folder, "--quick"), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return folder, kept, done


def test_a_killed_reproduction_resumes(reproduced):
    folder, kept, done = reproduced
    assert 1 <= len(kept) < 6
    assert f"6 runs: {len(kept)} in the cache, {6 - len(kept)} to make" in done.stderr
    now = {path.name: path.stat().st_mtime_ns for path in (folder / "out" / "cache").iterdir()}
    assert len(now) == 6
    assert kept.items() <= now.items()


def test_progress_goes_to_stderr_and_verdicts_to_stdout(reproduced):
    _, _, done = reproduced
    assert "IE-GP on diabetes, run 1" in done.stderr
    assert "Bands are tighter near points." in done.stdout
    assert "not confirmed" in done.stdout
    assert "confirmed" not in done.stderr


def test_both_pages_have_every_section_figure_claim_and_the_machine(reproduced):
    folder, _, _ = reproduced
    markdown = (folder / "out" / "results.md").read_text("utf-8")
    html = (folder / "out" / "results.html").read_text("utf-8")
    for words in (
        "Thirty points",
        "A stream",
        "Times",
        "Summary",
        "Protocol",
        "Machine",
        "IE-GP has the lower nMSE.",
        "processor",
    ):
        assert words in markdown
        assert words in html
    for name in ("points", "stream", "times"):
        assert f"(figures/{name}.png)" in markdown
        assert (folder / "out" / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert f'id="{name}"' in html
    assert html.count("data:image/png;base64,") == 3
    assert "http" not in html.replace("http-equiv", "")
    assert "Diabetes &lt;1&gt;" in html
    assert "iegp-paper --quick" in markdown
    assert "| Diabetes <1> | IE-GP | 200 | 1 |" in markdown
    assert "*Bands have no width.* IE-GP: **not confirmed**" in markdown
    assert "Cause: a competitor's setting. Nothing has no width." in markdown
    assert "Cause: a competitor&#x27;s setting. Nothing has no width." in html


def test_the_summary_counts_claims_of_the_paper_and_default_models_have_their_own_table(reproduced):
    folder, _, _ = reproduced
    markdown = (folder / "out" / "results.md").read_text("utf-8")
    before, _, after = markdown.partition("## All claims")
    assert "3 claims of the paper, counted once for each method that they name" in before
    assert "| Thirty points |  | 1 | – | 1 | – |" in before
    assert "**Models and settings that the paper does not have**" not in after
    assert "| Thirty points | IE-GP | hyperparameters only | as drawn | interval |" in after


def test_every_seed_is_in_a_csv_file_with_its_commit(reproduced):
    folder, _, _ = reproduced
    points = (folder / "out" / "runs" / "points.csv").read_text("utf-8").splitlines()
    assert points[0].startswith("data,method,rows,seed,status,width near points")
    assert [line.split(",")[:5] for line in points[1:]] == [["sines", "IE-GP", "30", str(s), "done"] for s in range(4)]
    assert not (folder / "out" / "runs" / "times.csv").exists()
    markdown = (folder / "out" / "results.md").read_text("utf-8")
    assert "Command `iegp-paper times`" in markdown
    assert "every seed in `runs/stream.csv`" in markdown


def test_the_page_can_be_written_again_from_finished_runs_into_a_checkout(reproduced, tmp_path):
    folder, _, _ = reproduced
    with pytest.raises(InputError, match="no folder docs"):
        reproduce([], None, 1, False, str(folder / "out"), False, str(folder / "experiments"), str(tmp_path), True)
    (tmp_path / "docs").mkdir()
    with pytest.raises(InputError, match="whole page"):
        reproduce([], 3, 1, False, str(folder / "out"), False, str(folder / "experiments"), str(tmp_path), True)
    given = ([], None, 1, False, str(folder / "out"), False, str(folder / "experiments"), str(tmp_path), True)
    assert reproduce(*given) == 0
    page = (tmp_path / "docs" / "results.md").read_text("utf-8")
    assert "(images/results/points.png)" in page
    assert (tmp_path / "docs" / "images" / "results" / "points.png").exists()
    # Of six runs the quick reproduction made four, and none is made here.
    assert "| two sines | IE-GP | 30 | 4 of 6 |" in page
    assert len((tmp_path / "paper" / "results" / "points.csv").read_text("utf-8").splitlines()) == 5


def test_published_runs_are_not_made_again_and_their_figures_stay(reproduced, tmp_path, capfd):
    folder, _, _ = reproduced
    (tmp_path / "docs").mkdir()
    experiments, published = str(folder / "experiments"), (str(tmp_path), True)
    assert reproduce([], None, 1, False, str(folder / "out"), False, experiments, *published) == 0
    page = (tmp_path / "docs" / "results.md").read_text("utf-8")
    figure = tmp_path / "docs" / "images" / "results" / "points.png"
    figure.write_bytes(b"\x89PNG as it was published")
    tables = {path.name: path.read_text("utf-8") for path in (tmp_path / "paper" / "results").iterdir()}
    capfd.readouterr()
    # An empty cache: the scores of the tables are all that is known.
    stored = str(tmp_path / "paper" / "results")
    assert reproduce([], None, 1, False, str(tmp_path / "new"), False, experiments, *published, stored) == 0
    assert "10 runs: 4 in the cache or stored, 0 to make" in capfd.readouterr().err
    assert {path.name: path.read_text("utf-8") for path in (tmp_path / "paper" / "results").iterdir()} == tables
    assert figure.read_bytes() == b"\x89PNG as it was published"
    again = (tmp_path / "docs" / "results.md").read_text("utf-8")
    assert "so these figures are of those: Thirty points. What was added or run again since is" in again
    assert "| two sines | IE-GP | 30 | 4 of 6 |" in again
    assert again.count("**confirmed**") == page.count("**confirmed**") > 0
    capfd.readouterr()
    assert check(2, 1, stored, experiments) == 0
    assert "2 of 2 runs agree" in capfd.readouterr().err
    table = tmp_path / "paper" / "results" / "points.csv"
    head, *lines = table.read_text("utf-8").splitlines()
    place = head.split(",").index("width ratio")
    wrong = [",".join("0.5" if k == place else entry for k, entry in enumerate(line.split(","))) for line in lines]
    table.write_text("\n".join([head, *wrong, ""]), "utf-8")
    assert check(1, 1, stored, experiments) == 1
    assert re.search(r"IE-GP on sines, run \d: width ratio 0\.\d+ instead of 0\.5\n", capfd.readouterr().err)
    with pytest.raises(InputError, match="--stored paper/results"):
        check(1, 1, None, experiments)


def test_runs_on_a_busy_machine_have_no_times(tmp_path, monkeypatch):
    made = Outcome("done", {"nMSE": 0.5, "seconds": 3.0})
    monkeypatch.setattr("iegp_paper.reproduce.run_all", lambda tasks, *_: ((task, made) for task in tasks))
    write_experiments(tmp_path / "experiments")
    given = [["stream"], 1, 1, True, str(tmp_path / "out"), False, str(tmp_path / "experiments")]
    assert reproduce(*given, timed=False) == 0
    table = (tmp_path / "out" / "runs" / "stream.csv").read_text("utf-8")
    assert "nMSE" in table
    assert "seconds" not in table


def test_a_folder_without_tables_of_runs_is_refused(tmp_path):
    with pytest.raises(InputError, match="no CSV files"):
        stored_runs(tmp_path)
    (tmp_path / "other.csv").write_text("status,speed\ndone,3\n", "utf-8")
    with pytest.raises(InputError, match=r"other\.csv is not a table of runs"):
        stored_runs(tmp_path)


def test_runs_that_are_judged_by_their_growth_are_made_again():
    growing, other = (Task(kind=kind, data="x", method="IE-GP", seed=0) for kind in ("static_regret", "regression"))
    known = {task.digest: Outcome("done", {"regret": 1.0}) for task in (growing, other)}
    assert known_of([growing, other], known) == {other.digest: known[other.digest]}
    known[growing.digest] = Outcome("done", {"regret": 1.0}, {"regret": [0.5, 1.0]})
    assert known_of([growing, other], known) == known


def test_tables_of_regret_hold_the_lines_that_are_judged(tmp_path):
    write_experiments(tmp_path / "experiments")
    (tmp_path / "experiments" / "grows.toml").write_text(GROWS, "utf-8")
    grows = load_experiments(tmp_path / "experiments")["grows"]
    tasks = all_tasks([grows], Scale())
    lines = {"size": [100, 200], "regret": [12.25, 1.0 / 3.0]}
    made = {task.digest: Outcome("done", {"regret": 1.0 / 3.0}, lines, commit="abc") for task in tasks}
    text = per_seed_csv(grows, Scale(), made)
    assert "size by T,regret by T" in text
    assert ",100 200,12.25 0.333333," in text
    (tmp_path / "grows.csv").write_text(text, "utf-8")
    found = stored_runs(tmp_path)
    assert set(found) == set(made)
    assert all(own.lines == {"size": [100.0, 200.0], "regret": [12.25, 0.333333]} for own in found.values())
    assert all(own.scores == {"regret": 0.333333} for own in found.values())


def test_a_second_run_makes_nothing_again(reproduced):
    folder, _, _ = reproduced
    done = subprocess.run(command(folder, "--quick"), capture_output=True, text=True, timeout=120, check=True)
    assert "6 runs: 6 in the cache, 0 to make" in done.stderr


def test_interrupted_it_says_how_to_go_on(reproduced):
    folder, _, _ = reproduced
    process = subprocess.Popen(command(folder, "points"), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert "2 to make" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "the same command resumes" in said
    assert not any(path.name.startswith(".") for path in (folder / "out" / "cache").iterdir())


def test_the_experiments_of_the_package_are_listed(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "iegp_paper", "--list"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"COLUMNS": "80"},
    )
    # Whole, to be typed.
    for name in ("datasets", "nmse", "nll", "classification-time", "maps", "static-regret", "switching-regret"):
        assert name in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_reason_that_fails_many_runs_is_said_once(tmp_path, capfd):
    (tmp_path / "1-lost.toml").write_text(STREAM.replace("diabetes", "no_such_set"), "utf-8")
    assert reproduce([], 3, 1, True, str(tmp_path / "out"), False, str(tmp_path)) == 1
    said = capfd.readouterr().err
    assert said.count("missing: 'no_such_set'") == 1
    assert "missing: as above" in said


def test_when_no_run_succeeds_the_command_fails_and_says_so(tmp_path, capfd):
    (tmp_path / "1-lost.toml").write_text(STREAM.replace("diabetes", "no_such_set"), "utf-8")
    code = reproduce([], 1, 1, True, str(tmp_path / "out"), False, str(tmp_path))
    assert code == 1
    assert "No run succeeded" in capfd.readouterr().err
    assert (tmp_path / "out" / "results.md").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"names": ["nmsee"]}, "nmse"),
        ({"runs": 0}, "--runs 0"),
        ({"jobs": 0}, "--jobs 0"),
        ({"experiments": "."}, ".toml"),
    ],
)
def test_mistakes_are_met_with_words(changes, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    usual = {
        "names": [],
        "runs": None,
        "jobs": 1,
        "quick": False,
        "out": "out",
        "show_list": False,
        "experiments": None,
    }
    with pytest.raises(InputError, match=words):
        reproduce(**usual | changes)
