"""Pipes, which cannot be read again: every line answered at once, none lost, none learned twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from stream_runs import sources
from stream_runs.models import write_config
from stream_runs.process import Conversation, iegp

PIPE = ["stream", "-", "--target", "y", "--config", "small.toml", "--save", "run.model", "--checkpoint-every", "7"]


def lines_of(records: list[sources.Record]) -> list[str]:
    return [json.dumps(record) + "\n" for record in records]


def named(n: int, seed: int = 0) -> list[sources.Record]:
    return [{"id": f"row {i}", **record} for i, record in enumerate(sources.numbers(n, seed))]


def learned(folder: Path) -> int:
    return int(json.loads(iegp(folder, "inspect", "run.model", "--json").out)["rows learned"])


def test_every_line_is_answered_before_the_next_is_sent(tmp_path):
    write_config(tmp_path)
    talk = Conversation(tmp_path, *PIPE, "--out", "-")
    for number, (record, line) in enumerate(zip(named(120), lines_of(named(120)), strict=True)):
        talk.write(line)
        answer = json.loads(talk.read() or "null")
        assert answer["row"] == number
        assert answer["id"] == record["id"]
        assert answer["label"] == record["y"]
    assert talk.end().code == 0
    assert learned(tmp_path) == 120


@pytest.mark.parametrize("n_kills", [5, pytest.param(25, marks=pytest.mark.slow)])
def test_killed_between_and_amid_lines_nothing_is_lost_or_learned_twice(tmp_path, n_kills):
    """Lines go one by one; a kill comes at random between sending a line and reading its answer.

    Whatever was sent is either answered (now or after resuming) or was never journalled; then it is sent again.
    """
    write_config(tmp_path)
    rng = np.random.default_rng(n_kills)
    lines, answered = lines_of(named(30 * n_kills)), {}
    kills = set(rng.choice(np.arange(5, len(lines)), n_kills, replace=False).tolist())
    talk, number = Conversation(tmp_path, *PIPE, "--out", "-"), 0
    while number < len(lines):
        talk.write(lines[number])
        if number in kills:
            kills.discard(number)
            early = talk.read(float(rng.choice([0.0, 0.002, 0.02])))
            out = [early, *talk.kill().out.splitlines()] if early else talk.kill().out.splitlines()
            talk = Conversation(tmp_path, *PIPE, "--out", "-", "--resume")
            # What the journal has is answered first; then it is known what still has to be sent.
            while talk.running.is_alive and "Resumed" not in talk.running.said:
                time.sleep(0.01)
            while (line := talk.read(0.05)) is not None:
                out.append(line)
            answered |= {json.loads(line)["row"]: line for line in out}
            number = max(answered, default=-1) + 1
            continue
        answer = talk.read()
        assert answer is not None
        answered[json.loads(answer)["row"]] = answer
        number += 1
    done = talk.end()
    assert done.code == 0, done.err
    assert sorted(answered) == list(range(len(lines)))
    assert [json.loads(answered[i])["id"] for i in range(len(lines))] == [f"row {i}" for i in range(len(lines))]
    assert learned(tmp_path) == len(lines)
    whole = tmp_path / "whole"
    whole.mkdir()
    write_config(whole)
    talk = Conversation(whole, *PIPE, "--out", "-")
    for i, line in enumerate(lines):
        talk.write(line)
        assert talk.read() == answered[i].rstrip("\n")
    assert talk.end().code == 0
    assert (whole / "run.model").read_bytes() == (tmp_path / "run.model").read_bytes()


def test_with_a_file_for_the_answers_the_journal_gives_the_same_bytes(tmp_path):
    records = [
        *named(40),
        {"id": "ask", "a": 0.1},
        {"id": "row 40", "a": 0.2, "c": "x", "y": 0.5},
        {"id": "ask", "y": 1},
    ]
    lines = lines_of([*records, *[{**record, "id": f"more {i}"} for i, record in enumerate(named(30))]])
    for name in ("whole", "cut"):
        folder = tmp_path / name
        folder.mkdir()
        write_config(folder)
        command, out = [*PIPE, "--out", "answers.csv"], folder / "answers.csv"
        talk = Conversation(folder, *command)
        for number, line in enumerate(lines):
            before = out.stat().st_size if out.exists() else 0
            talk.write(line)
            while talk.running.is_alive and (not out.exists() or out.stat().st_size == before):
                time.sleep(0.001)
            if name == "cut" and number in (0, 3, 19, 44, 60):
                assert talk.kill().code == -signal.SIGKILL
                talk = Conversation(folder, *command, "--resume")
                while talk.running.is_alive and "Resumed" not in talk.running.said:
                    time.sleep(0.001)
        assert talk.end().code == 0
    for file in ("answers.csv", "run.model"):
        assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "cut" / file).read_bytes()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_save_and_end(tmp_path, number, code):
    lines = lines_of(named(60))
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for folder in (whole, cut):
        folder.mkdir()
        write_config(folder)
        talk = Conversation(folder, *PIPE, "--out", "-")
        for i, line in enumerate(lines):
            if folder == cut and i in (10, 35):
                talk.running.send(number)
                done = talk.finish()
                assert done.code == code, done.err
                assert "--resume" in done.err
                assert learned(folder) == i
                talk = Conversation(folder, *PIPE, "--out", "-", "--resume")
            talk.write(line)
            assert json.loads(talk.read() or "null")["row"] == i
        assert talk.end().code == 0
    assert (whole / "run.model").read_bytes() == (cut / "run.model").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_first_line_leaves_nothing(tmp_path, number):
    write_config(tmp_path)
    talk = Conversation(tmp_path, *PIPE, "--out", "-")
    # The command handles both from the same moment on; Python itself handles an interrupt earlier.
    talk.running.wait_for_handler(signal.SIGTERM)
    assert talk.read(0.2) is None
    talk.running.send(number)
    done = talk.finish()
    assert done.code == 128 + number
    assert not (tmp_path / "run.model").exists()


def test_signals_while_a_file_is_read(tmp_path):
    sources.write(tmp_path / "in.csv", sources.numbers(40_000))
    write_config(tmp_path)
    command = ["stream", "in.csv", "--target", "y", "--config", "small.toml", "--save", "m", "--out", "-"]
    talk = Conversation(tmp_path, *command)
    assert talk.read() is not None
    talk.running.send(signal.SIGTERM)
    n_out = 1
    while talk.read(1.0) is not None:
        n_out += 1
    done = talk.finish()
    assert done.code == 143, done.err
    assert json.loads(iegp(tmp_path, "inspect", "m", "--json").out)["rows answered"] == n_out < 40_000


def test_a_reader_that_goes_away_is_no_traceback(tmp_path):
    sources.write(tmp_path / "in.csv", sources.numbers(5_000))
    write_config(tmp_path)
    shell = f"{sys.executable} -m iegp stream in.csv --target y --config small.toml --out - | head -1"
    done = subprocess.run(shell, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert json.loads(done.stdout)["row"] == 0
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_growing_file_is_followed_and_no_row_learned_twice(tmp_path):
    """After a kill the journal is ahead of the checkpoint, and the file is read on from where the journal ends."""
    lines = lines_of(sources.numbers(90))
    write_config(tmp_path)
    path, command = tmp_path / "log.jsonl", [*PIPE[:1], "log.jsonl", *PIPE[2:], "--follow", "--out", "-"]
    path.write_text("".join(lines[:30]))
    talk = Conversation(tmp_path, *command)
    rows = [json.loads(talk.read() or "null")["row"] for _ in range(30)]
    for start in (30, 60):
        talk.kill()
        with path.open("a") as file:
            file.write("".join(lines[start : start + 30]))
        talk = Conversation(tmp_path, *command, "--resume")
        while rows[-1] < start + 29:
            rows.append(json.loads(talk.read() or "null")["row"])
    talk.running.send(signal.SIGINT)
    assert talk.finish().code == 130
    # A batch that was killed between its answers and the mark that says so is answered again, and learned once.
    assert sorted(set(rows)) == list(range(90))
    assert learned(tmp_path) == 90


def test_a_journal_left_behind_by_following_is_replayed_when_the_file_is_merely_read(tmp_path):
    lines = lines_of(sources.numbers(60))
    write_config(tmp_path)
    path, command = tmp_path / "log.jsonl", ["stream", "log.jsonl", *PIPE[2:-2], "--checkpoint-every", "1000s"]
    path.write_text("".join(lines[:40]))
    talk = Conversation(tmp_path, *command, "--follow", "--out", "-")
    while json.loads(talk.read() or "null")["row"] < 39:
        pass
    talk.kill()
    path.write_text("".join(lines))
    for more in ([], ["--follow", "--limit", "60"]):
        done = iegp(tmp_path, *command, "--out", "-", "--resume", *more)
        assert done.code == 0, done.err
    assert learned(tmp_path) == 60


def test_only_the_run_reads_a_named_pipe(tmp_path):
    write_config(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    lines = "".join(lines_of(named(50)))
    descriptor = os.open(tmp_path / "pipe", os.O_RDWR)
    os.write(descriptor, lines.encode())
    talk = Conversation(tmp_path, "stream", "pipe", *PIPE[2:], "--format", "jsonl", "--out", "-")
    assert [json.loads(talk.read() or "null")["row"] for _ in range(50)] == list(range(50))
    os.close(descriptor)
    assert talk.end().code == 0


def test_lines_that_wait_together_are_answered_together(tmp_path):
    """A writer that does not wait gets the same numbers, to rounding, and every one of them."""
    write_config(tmp_path)
    (tmp_path / "lines").write_text("".join(lines_of(named(300))))
    done = iegp(tmp_path, *PIPE, "--out", "-", stdin=str(tmp_path / "lines"))
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["row"] for row in rows] == list(range(300))


def test_a_bad_line_ends_a_pipe_and_the_next_run_goes_on_behind_it(tmp_path):
    write_config(tmp_path)
    lines = lines_of(named(20))
    talk = Conversation(tmp_path, *PIPE, "--out", "-")
    for line in lines[:10]:
        talk.write(line)
        assert talk.read() is not None
    talk.write('{"id": "odd", "a": 1.0, "y": "many"}\n')
    done = talk.finish()
    assert done.code == 1
    assert "line 11, column 'y': 'many'" in done.err
    talk = Conversation(tmp_path, *PIPE, "--out", "-", "--resume")
    for i, line in enumerate(lines[10:], 10):
        talk.write(line)
        assert json.loads(talk.read() or "null")["row"] == i
    assert talk.end().code == 0
    assert learned(tmp_path) == 20


def test_a_second_run_on_the_same_model_is_refused_until_the_first_is_gone(tmp_path):
    """Two that answer to one file would tear each other's lines; the lock of a killed process is released."""
    write_config(tmp_path)
    command = [*PIPE, "--out", "answers.jsonl"]
    talk, lines = Conversation(tmp_path, *command), lines_of(named(20))
    for line in lines[:10]:
        talk.write(line)
    answers = tmp_path / "answers.jsonl"
    while talk.running.is_alive and (not answers.exists() or answers.read_bytes().count(b"\n") < 10):
        time.sleep(0.01)
    (tmp_path / "second").mkdir()
    for again in ("--resume", "--overwrite"):
        absolute = [str(tmp_path / part) if part in ("small.toml", "run.model") else part for part in command]
        refused = iegp(tmp_path / "second", *absolute, again)
        assert refused.code == 1
        assert f"run.model is in use: process {talk.running.process.pid} " in refused.err
    assert talk.kill().code == -signal.SIGKILL
    done = iegp(tmp_path, *command, "--resume")
    assert done.code == 0, done.err
    assert [json.loads(line)["row"] for line in answers.read_text().splitlines()] == list(range(10))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".run.model")]
