"""What a user can get wrong on the command line: exit code 2 and a message that says what to do."""

from __future__ import annotations

import json

import pytest
from stream_runs import sources
from stream_runs.models import write_config
from stream_runs.process import iegp

STREAM = ["stream", "in.csv", "--target", "y", "--config", "small.toml"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished run."""
    folder = tmp_path_factory.mktemp("run")
    write_config(folder)
    sources.write(folder / "in.csv", sources.numbers(60))
    sources.write(folder / "other.csv", sources.numbers(60, seed=1))
    (folder / "hard.csv").hardlink_to(folder / "in.csv")
    done = iegp(folder, *STREAM, "--save", "m", "--out", "out.jsonl")
    assert done.code == 0, done.err
    return folder


WRONG = {
    "no target": (["stream", "in.csv"], "--target"),
    "unknown target": (["stream", "in.csv", "--target", "z"], "Columns: a, b, y"),
    "target in capitals": (["stream", "in.csv", "--target", "Y"], "column. Did you mean 'y'? Columns: "),
    "unknown feature": ([*STREAM, "--features", "a,z"], "--features z"),
    "unknown column to ignore": ([*STREAM, "--ignore", "z"], "--ignore z"),
    "unknown time": ([*STREAM, "--time", "z"], "--time z"),
    "unknown model": ([*STREAM, "--model", "huge"], "--model huge"),
    "unknown task": ([*STREAM, "--task", "guess"], "--task guess"),
    "the target as a feature": ([*STREAM, "--features", "a,y"], "the target"),
    "the target as the time": ([*STREAM, "--time", "y"], "the target"),
    "the target ignored": ([*STREAM, "--ignore", "y"], "--ignore y"),
    "resume without save": ([*STREAM, "--resume"], "--save MODEL"),
    "answers exist": ([*STREAM, "--out", "out.jsonl"], "--overwrite"),
    "model exists": ([*STREAM, "--save", "m"], "--resume"),
    "answers of unknown kind": ([*STREAM, "--out", "out.txt"], ".jsonl"),
    "no such folder": ([*STREAM, "--out", "nowhere/out.csv"], "nowhere"),
    "answers over the source": ([*STREAM, "--out", "./in.csv", "--overwrite"], "what is read"),
    "answers over a second source": ([*STREAM, "other.csv", "--out", "other.csv", "--overwrite"], "what is read"),
    "answers over a file of a pattern": (
        ["stream", "o*.csv", "--target", "y", "--out", "other.csv", "--overwrite"],
        "among the files of o*.csv",
    ),
    "answers in the folder that is read": (["stream", ".", "--target", "y", "--out", "x.csv"], "among the files of ."),
    "what lies beside answers in a pattern": (
        [*STREAM, "*.json", "--out", "answers.csv"],
        "answers.csv.run.json is among the files of *.json",
    ),
    "bad rows over the source": (
        ["stream", "o.bad.jsonl", "--target", "y", "--save", "o", "--on-bad-row", "skip"],
        "o.bad.jsonl is what is read",
    ),
    "a report over the configuration": ([*STREAM, "--report", "./small.toml"], "what is read"),
    "a model over the one it starts from": (
        ["stream", "in.csv", "--target", "y", "--start-from", "m", "--save", "./m", "--overwrite"],
        "what is read",
    ),
    "answers in the place of bad rows": (
        [*STREAM, "--out", "o.bad.jsonl", "--save", "o", "--on-bad-row", "skip"],
        "--out o.bad.jsonl is written for --on-bad-row",
    ),
    "alarms into the journal": ([*STREAM, "--alarm", "o.journal", "--save", "o"], "is written for --save"),
    "a report over the lock": ([*STREAM, "--report", ".o.lock", "--save", "o"], "is written for --save"),
    "a model in the place of collected answers": (
        [*STREAM, "--out", "o.parquet", "--save", "o.parquet.partial"],
        "is written for --out",
    ),
    "answers over the source by another name": ([*STREAM, "--out", "hard.csv", "--overwrite"], "which are read"),
    "a report over its model": (["report", "m", "--out", "./m"], "what is read"),
    "predictions over a second source": (
        ["predict", "m", "in.csv", "other.csv", "--out", "other.csv", "--overwrite"],
        "what is read",
    ),
    "level": ([*STREAM, "--level", "95"], "0.95"),
    "limit": ([*STREAM, "--limit", "-1"], "--limit -1"),
    "jobs": ([*STREAM, "--jobs", "0"], "--jobs 0"),
    "pending": ([*STREAM, "--max-pending", "0"], "--max-pending 0"),
    "missing": ([*STREAM, "--missing", "zero"], "--missing zero"),
    "bad rows": ([*STREAM, "--on-bad-row", "fix"], "--on-bad-row fix"),
    "checkpoints": ([*STREAM, "--checkpoint-every", "often"], "5000"),
    "empty name": ([*STREAM, "--features", "a,,b"], "empty name"),
    "unknown key": ([*STREAM, "--key", "z"], "--key z"),
    "the target as the key": ([*STREAM, "--key", "y"], "the target"),
    "the key as a feature": ([*STREAM, "--key", "a", "--features", "a,b"], "chooses the model"),
    "the key as the id": ([*STREAM, "--key", "a", "--id", "a"], "chooses the model"),
    "the key ignored": ([*STREAM, "--key", "a", "--ignore", "a"], "--ignore a"),
    "a key and classes": ([*STREAM, "--key", "a", "--task", "classification"], "--task regression"),
    "a key and counts": ([*STREAM, "--key", "a", "--task", "count"], "for regression"),
    "order": ([*STREAM, "--order", "a,b"], "ordinal"),
    "classes": ([*STREAM, "--classes", "a,b"], "classification"),
    "preset and task": ([*STREAM, "--model", "ie-gp", "--task", "count"], "--model default"),
    "unknown flag": ([*STREAM, "--fast"], "--fast"),
    "seed": ([*STREAM, "--seed", "-1"], "seed"),
    "follow a pipe": (["stream", "-", "--target", "y", "--follow"], "--follow"),
    "prediction exists": (["predict", "m", "in.csv", "--out", "out.jsonl"], "--overwrite"),
    "prediction of unknown kind": (["predict", "m", "in.csv", "--out", "out.txt"], ".jsonl"),
    "a report of another kind": ([*STREAM, "--report", "r.pdf"], "a report is an HTML page"),
    "a stored report of another kind": (["report", "m", "--out", "r.PDF"], "name it r.html"),
    "forecasts as a picture": (["forecast", "in.csv", "--target", "y", "--report", "r.png"], "name it r.html"),
    "demo": (["demo", "--rows", "3"], "100"),
}


@pytest.mark.parametrize("name", WRONG)
def test_usage_errors(folder, name):
    argv, hint = WRONG[name]
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name[0] != "."}
    done = iegp(folder, *argv)
    assert done.code == 2, (done.code, done.err)
    assert hint in done.err
    assert done.out == ""
    after = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name[0] != "."}
    assert after == before


CONFIGS = {
    "unknown key": ('speed = "fast"\n', "'speed' is not known"),
    "wrong type": ('seed = "one"\n', "seed = 'one' has the wrong type"),
    "truth for a number": ("limit = true\n", "limit"),
    "not TOML": ("seed = \n", "not TOML"),
    "unknown parameter": ("[parameters]\nspeed = 1\n", "speed"),
    "parameter that a flag says": ("[parameters]\nrandom_state = 1\n", "random_state=1 is what --seed says"),
    "wrong parameter": ("[parameters]\nn_frequencies = -1\n", "n_frequencies"),
    "parameter of a wrong type": ('[parameters]\nn_frequencies = "many"\n', "n_frequencies"),
    "unknown kernel": ('[[parameters.kernels]]\nkernel = "os.system"\n', "os.system"),
    "kernels of a wrong type": ('[parameters]\nkernels = "RBF"\n', "parameters.kernels"),
    "kernel with a wrong argument": ('[[parameters.kernels]]\nkernel = "RBF"\nlength_scale = -1.0\n', "length_scale"),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_configurations_that_cannot_be_meant(tmp_path, name):
    text, hint = CONFIGS[name]
    (tmp_path / "c.toml").write_text(text)
    sources.write(tmp_path / "in.csv", sources.numbers(60))
    done = iegp(tmp_path, "stream", "in.csv", "--target", "y", "--config", "c.toml")
    assert done.code == 2, done.err
    assert hint in done.err


def test_a_configuration_that_is_not_there(tmp_path):
    done = iegp(tmp_path, "stream", "in.csv", "--target", "y", "--config", "nowhere.toml")
    assert done.code == 2
    assert "nowhere.toml" in done.err


def test_flags_win_over_the_configuration_and_both_are_stored(tmp_path):
    write_config(tmp_path)
    text = 'target = "y"\nseed = 3\nignore = ["b"]\nlevel = 0.8\ncheckpoint-every = 500\n'
    (tmp_path / "c.toml").write_text(text + (tmp_path / "small.toml").read_text())
    sources.write(tmp_path / "in.csv", sources.numbers(60))
    done = iegp(tmp_path, "stream", "in.csv", "--config", "c.toml", "--seed", "4", "--save", "m")
    assert done.code == 0, done.err
    facts = json.loads(iegp(tmp_path, "inspect", "m", "--json").out)
    assert facts["configuration"]["seed"] == 4
    assert facts["configuration"]["level"] == 0.8
    assert facts["configuration"]["parameters"]["n_frequencies"] == 5
    assert facts["columns"] == ["a"]


@pytest.mark.parametrize(
    "flags",
    [
        ["--seed", "1"],
        ["--level", "0.5"],
        ["--features", "a"],
        ["--ignore", "b"],
        ["--model", "ie-gp"],
        ["--missing", "error"],
        ["--out", "new.jsonl"],
        ["--task", "count"],
        ["--target", "a"],
        ["--max-pending", "5"],
        ["--intervals", "normal"],
    ],
)
def test_a_resumed_run_keeps_what_it_was_started_with(folder, flags):
    done = iegp(folder, *STREAM[:2], "--save", "m", "--resume", *flags)
    assert done.code == 2
    assert f"{flags[0]} " in done.err
    assert "differs" in done.err


def test_a_resumed_run_takes_what_does_not_matter(folder):
    flags = ["--checkpoint-every", "5s", "--limit", "1000", "--jobs", "2", "--report", "r.html", "--on-bad-row", "skip"]
    done = iegp(folder, *STREAM, "--save", "m", "--resume", *flags, "--quiet")
    assert done.code == 0, done.err
    assert done.err == ""


def test_resuming_with_another_source_is_refused(folder):
    done = iegp(folder, "stream", "other.csv", "--save", "m", "--resume")
    assert done.code == 1
    assert "begins differently" in done.err
    done = iegp(folder, "stream", "nowhere.csv", "--save", "m", "--resume")
    assert done.code == 1
    assert "nowhere.csv" in done.err
    done = iegp(folder, "stream", "-", "--save", "m", "--resume")
    assert done.code == 1
    assert "same source" in done.err


def test_resuming_a_run_that_never_began_begins_it(tmp_path):
    write_config(tmp_path)
    sources.write(tmp_path / "in.csv", sources.numbers(10))
    done = iegp(tmp_path, *STREAM, "--save", "m", "--resume", "--out", "out.jsonl")
    assert done.code == 0
    assert len(sources.answers(tmp_path / "out.jsonl")) == 10


def test_answers_cut_or_gone_since_are_noticed(folder, tmp_path):
    for name in ("in.csv", "m", "out.jsonl", "small.toml"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "out.jsonl").write_text("")
    done = iegp(tmp_path, *STREAM, "--save", "m", "--resume")
    assert done.code == 1
    assert "it was changed since" in done.err
    (tmp_path / "out.jsonl").unlink()
    done = iegp(tmp_path, *STREAM, "--save", "m", "--resume")
    assert done.code == 1
    assert "is gone" in done.err


@pytest.mark.parametrize("argv", [["predict", "nowhere", "in.csv"], ["inspect", "nowhere"], ["report", "nowhere"]])
def test_models_that_are_not_there(folder, argv):
    done = iegp(folder, *argv)
    assert done.code == 1
    assert "nowhere" in done.err


def test_names_that_look_like_markup(tmp_path):
    write_config(tmp_path)
    records = [{"temp [C]": r["a"], "[/bold]": r["b"], "y[red]": r["y"]} for r in sources.numbers(30)]
    sources.write(tmp_path / "in.csv", records)
    done = iegp(tmp_path, "stream", "in.csv", "--target", "y[red]", "--config", "small.toml", "--save", "m")
    assert done.code == 0, done.err
    assert "y[red]" in done.err
    done = iegp(tmp_path, "inspect", "m")
    assert "temp [C], [/bold]" in done.out
