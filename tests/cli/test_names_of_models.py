"""Names of models: symbolic links, long names, and what a run that is refused leaves behind."""

from __future__ import annotations

import subprocess
import sys

import pytest
from stream_runs import sources
from stream_runs.models import write_config
from stream_runs.process import iegp

from iegp.storage.locks import only_run

STREAM = ["stream", "in.csv", "--target", "y", "--task", "regression", "--config", "small.toml"]


@pytest.fixture
def folder(tmp_path):
    write_config(tmp_path)
    lines = ["a,b,y", *(f"{r['a']},{r['b']},{r['y']}" for r in sources.numbers(60))]
    (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_a_run_saves_through_a_link(folder):
    (folder / "there").mkdir()
    (folder / "link").symlink_to("there/m")
    assert iegp(folder, *STREAM, "--save", "link", "--limit", "30").code == 0
    assert iegp(folder, *STREAM, "--save", "there/m", "--resume", "--limit", "40").code == 0
    done = iegp(folder, *STREAM, "--save", "link", "--resume")
    assert done.code == 0, done.err
    assert "Resumed at row 40" in done.err
    assert (folder / "link").is_symlink()
    assert [path.name for path in (folder / "there").iterdir()] == ["m"]
    assert iegp(folder, *STREAM, "--save", "plain").code == 0
    assert iegp(folder, "predict", "link", "in.csv").out == iegp(folder, "predict", "plain", "in.csv").out


def test_the_journal_and_the_lock_lie_beside_the_file_itself(folder):
    (folder / "there").mkdir()
    (folder / "link").symlink_to("there/m")
    with only_run(folder / "there" / "m"):
        refused = iegp(folder, *STREAM, "--save", "link")
    assert refused.code != 0
    assert "in use" in refused.err
    command = [sys.executable, "-m", "iegp", "stream", "-", *STREAM[2:], "--save", "link", "--quiet"]
    done = subprocess.run(command, cwd=folder, input=b'{"a":1,"b":2,"y":3}\n', capture_output=True, check=True)
    assert not done.stderr
    assert {path.name for path in (folder / "there").iterdir()} == {"m", "m.journal"}
    assert not (folder / "link.journal").exists()


def test_long_names(folder):
    name = "m" * 245
    done = iegp(folder, *STREAM, "--save", name)
    assert done.code == 0, done.err
    assert (folder / name).is_file()
    longest = ["--report", "r" * 256]
    for flags in (["--save", "m" * 246], ["--out", "o" * 241 + ".jsonl"], longest, ["--alarm", "a" * 256]):
        refused = iegp(folder, *STREAM, *flags)
        assert refused.code == 2
        assert "bytes" in refused.err
    ours = {path.name for path in folder.iterdir() if not path.name.startswith(".std")}
    assert ours == {"in.csv", "small.toml", name}


@pytest.mark.parametrize("source", ["in.csv", "-"])
@pytest.mark.parametrize("out", ["o.jsonl", "o.parquet"])
def test_a_run_that_is_refused_at_its_first_row_leaves_nothing(folder, source, out):
    (folder / "bad.toml").write_text('[parameters]\nweights = "switching"\nswitch_prob = [[0.9, 0.1], [0.1, 0.9]]\n')
    flags = [*STREAM[2:5], "regression", "--config", "bad.toml", "--save", "m", "--out", out]
    command = [sys.executable, "-m", "iegp", "stream", source, *flags]
    line = b'{"a":1,"b":2,"y":3}\n'
    done = subprocess.run(command, cwd=folder, input=line, capture_output=True, check=False)
    assert done.returncode == 1
    assert b"switch_prob has shape (2, 2)" in done.stderr
    assert {path.name for path in folder.iterdir()} == {"in.csv", "small.toml", "bad.toml"}
