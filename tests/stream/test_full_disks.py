"""Places that cannot be written to: a clear message, the last good checkpoint kept, and the run goes on from it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from stream_runs import sources
from stream_runs.models import write_config
from stream_runs.process import Conversation, Running, iegp

N = 12_000
COMMAND = ["stream", "in.csv", "--target", "y", "--config", "small.toml", "--save", "m", "--out", "out.jsonl"]
COMMAND += ["--checkpoint-every", "2048"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    prepare(folder)
    assert iegp(folder, *COMMAND).code == 0
    return folder


def prepare(folder: Path) -> None:
    write_config(folder)
    sources.write(folder / "in.csv", sources.numbers(N))


def same(folder: Path, whole: Path) -> None:
    for name in ("out.jsonl", "m"):
        assert (folder / name).read_bytes() == (whole / name).read_bytes()


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith((".m.", ".out."))]


def test_no_space_for_the_answers(tmp_path, whole):
    prepare(tmp_path)
    done = iegp(tmp_path, *COMMAND, file_limit=1_000_000)
    assert done.code == 1
    assert done.err.splitlines()[-1].startswith("iegp: out.jsonl: ")
    assert "--resume" in done.err
    assert 0 < json.loads(iegp(tmp_path, "inspect", "m", "--json").out)["rows answered"] < N
    assert iegp(tmp_path, *COMMAND, "--resume").code == 0
    same(tmp_path, whole)


def test_no_space_for_the_model(tmp_path, whole):
    prepare(tmp_path)
    assert iegp(tmp_path, *COMMAND, "--limit", "1024").code == 0
    good = (tmp_path / "m").read_bytes()
    # The answers fit, the model does not.
    (tmp_path / "out.jsonl").rename(tmp_path / "kept")
    shutil.copy(tmp_path / "kept", tmp_path / "out.jsonl")
    done = iegp(tmp_path, *COMMAND, "--limit", "1030", "--resume", "--quiet", file_limit=len(good) // 2)
    assert done.code == 1
    assert done.err.startswith("iegp: ")
    assert (tmp_path / "m").read_bytes() == good
    assert not leftovers(tmp_path)
    assert iegp(tmp_path, *COMMAND, "--resume").code == 0
    same(tmp_path, whole)


def test_no_space_for_the_journal(tmp_path):
    write_config(tmp_path)
    lines = [json.dumps({"id": i, **record}) + "\n" for i, record in enumerate(sources.numbers(3_000))]
    (tmp_path / "lines").write_text("".join(lines))
    pipe = ["stream", "-", "--target", "y", "--config", "small.toml", "--save", "m", "--out", "-"]
    done = iegp(tmp_path, *pipe, "--limit", "100", stdin=str(tmp_path / "lines"))
    assert done.code == 0, done.err
    size = (tmp_path / "m").stat().st_size
    (tmp_path / "wide").write_text(json.dumps({"id": "w", "a": 1.0, "text": "x" * 2 * size, "y": 1.0}) + "\n")
    done = iegp(tmp_path, *pipe, "--resume", stdin=str(tmp_path / "wide"), file_limit=size + 1000)
    assert done.code == 1
    assert "m.journal" in done.err
    (tmp_path / "rest").write_text("".join(lines[100:200]))
    done = iegp(tmp_path, *pipe, "--resume", stdin=str(tmp_path / "rest"))
    assert done.code == 0, done.err
    assert json.loads(done.out.splitlines()[0])["row"] == 100
    assert json.loads(iegp(tmp_path, "inspect", "m", "--json").out)["rows learned"] == 200


def test_no_space_for_parquet(tmp_path):
    prepare(tmp_path)
    command = [part.replace("out.jsonl", "out.parquet") for part in COMMAND]
    done = iegp(tmp_path, *command, file_limit=200_000)
    assert done.code == 1
    assert not (tmp_path / "out.parquet").exists()
    assert not leftovers(tmp_path)
    assert iegp(tmp_path, *command, "--resume").code == 0
    assert (tmp_path / "out.parquet").exists()


def test_a_device_that_is_always_full(tmp_path):
    prepare(tmp_path)
    done = iegp(tmp_path, *COMMAND[:-4], "--out", "-", stdout="/dev/full")
    assert done.code == 1
    assert "standard output: No space left on device" in done.err


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1500k", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root can mount a small disk")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_fills_up_during_the_run(small_disk, whole):
    prepare(small_disk)
    done = iegp(small_disk, *COMMAND)
    assert done.code == 1
    assert "No space left on device" in done.err
    assert not leftovers(small_disk)
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    done = iegp(small_disk, *COMMAND, "--resume")
    assert done.code == 0, done.err
    same(small_disk, whole)


def test_a_disk_too_small_for_the_last_checkpoint_keeps_the_answers_of_a_parquet_run(small_disk, tmp_path):
    """All answers are collected, and the model that says so has no room: they stay where they were collected."""
    command = ["stream", "in.csv", "--target", "y", "--model", "light", "--save", "m", "--out", "X.parquet"]
    command += ["--checkpoint-every", "1000"]
    subprocess.run(["mount", "-o", "remount,size=3150k", str(small_disk)], check=True)
    for folder in (small_disk, tmp_path):
        sources.write(folder / "in.csv", sources.numbers(4_000))
    assert iegp(tmp_path, *command).code == 0
    done = iegp(small_disk, *command)
    assert done.code == 1
    assert "m: No space left on device; free some space, then continue" in done.err
    assert json.loads(iegp(small_disk, "inspect", "m", "--json").out)["rows answered"] == 3072, "not the last one"
    assert (small_disk / "X.parquet.partial").exists()
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    done = iegp(small_disk, *command, "--resume")
    assert done.code == 0, done.err
    for name in ("X.parquet", "X.parquet.run.json", "m"):
        assert (small_disk / name).read_bytes() == (tmp_path / name).read_bytes()
    assert not (small_disk / "X.parquet.partial").exists()


def test_a_disk_that_cannot_be_written(small_disk):
    prepare(small_disk)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    try:
        for flags in (COMMAND[:8], [*COMMAND[:6], "--out", "out.jsonl"]):
            running = Running(small_disk.parent, "stream", "disk/in.csv", "--target", "y", "--quiet", *place(flags))
            done = running.wait()
            assert done.code == 1
            assert "Read-only file system; choose another place" in done.err
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)


def place(flags: list[str]) -> list[str]:
    """The same flags, seen from the folder above."""
    return ["--config", "disk/small.toml", flags[-2], f"disk/{flags[-1]}"]


def test_links_are_never_written_through(tmp_path):
    prepare(tmp_path)
    (tmp_path / "precious").write_text("mine\n")
    for name, code in (("out.jsonl", 2), ("m.bad.jsonl", 1)):
        (tmp_path / name).symlink_to("precious")
        for more in ([], ["--overwrite"]):
            done = iegp(tmp_path, *COMMAND, "--on-bad-row", "skip", *more)
            assert done.code in (code, 2)
            assert (tmp_path / "precious").read_text() == "mine\n"
        (tmp_path / name).unlink()
        for made in ("m", "out.jsonl"):
            (tmp_path / made).unlink(missing_ok=True)


def test_links_that_replace_files_in_the_middle_of_a_run(tmp_path):
    write_config(tmp_path)
    pipe = ["stream", "-", "--target", "y", "--config", "small.toml", "--save", "m", "--out", "out.jsonl"]
    lines = [json.dumps(record) + "\n" for record in sources.numbers(40)]
    talk = Conversation(tmp_path, *pipe, "--on-bad-row", "skip", "--checkpoint-every", "5")
    for line in lines[:10]:
        talk.write(line)
    while not (tmp_path / "out.jsonl").exists() or not (tmp_path / "out.jsonl").stat().st_size:
        assert talk.running.is_alive
    (tmp_path / "precious").write_text("mine\n")
    for name in ("out.jsonl", "m", "m.journal", "m.bad.jsonl", "out.jsonl.run.json"):
        (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / name).symlink_to("precious")
    for line in [*lines[10:], "broken\n"]:
        talk.write(line)
    assert talk.end().code == 0
    assert (tmp_path / "precious").read_text() == "mine\n"
    done = iegp(tmp_path, *pipe, "--resume", "--quiet")
    assert done.code == 1
    assert "link" in done.err
    assert (tmp_path / "precious").read_text() == "mine\n"


def test_no_space_at_the_end_does_not_hide_the_first_error(tmp_path):
    """The bad row ends the run; that there is no room for the report is the lesser news."""
    write_config(tmp_path)
    lines = [json.dumps(record) + "\n" for record in sources.numbers(10)]
    talk = Conversation(
        tmp_path, "stream", "-", "--target", "y", "--config", "small.toml", "--out", "-", "--report", "page.html"
    )
    for line in lines:
        talk.write(line)
        talk.read()
    (tmp_path / "page.html").mkdir()
    talk.write("broken\n")
    done = talk.end()
    assert done.code == 1
    assert "line 11" in done.err


def test_a_followed_file_goes_on_at_the_record_that_ended_a_run_which_could_not_be_saved(tmp_path):
    """The batch is in the journal whole, but only the records before the bad one were learned."""
    write_config(tmp_path)
    lines = [json.dumps(record) + "\n" for record in sources.numbers(40)]
    path = tmp_path / "log.jsonl"
    path.write_text("".join([*lines[:20], '{"a": 1.0, "y": "oops"}\n', *lines[20:]]))
    command = ["stream", "log.jsonl", "--target", "y", "--task", "regression", "--config", "small.toml"]
    command += ["--save", "m", "--out", "out.jsonl"]
    done = iegp(tmp_path, *command, "--follow", "--limit", "5")
    assert done.code == 0, done.err
    size = (tmp_path / "m").stat().st_size
    done = iegp(tmp_path, *command, "--follow", "--resume", file_limit=size // 2)
    assert done.code == 1
    assert "--resume" in done.err
    done = iegp(tmp_path, *command, "--follow", "--resume")
    assert done.code == 1
    assert "log.jsonl, line 21, column 'y': 'oops'" in done.err
    path.write_text("".join(lines))
    done = iegp(tmp_path, *command, "--resume")
    assert done.code == 0, done.err
    assert json.loads(iegp(tmp_path, "inspect", "m", "--json").out)["rows learned"] == 40
    assert len(sources.answers(tmp_path / "out.jsonl")) == 40
