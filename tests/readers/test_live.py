"""Pipes and growing files: what waits is given at once, nothing is given by halves, waiting can be interrupted."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from readers.helpers import good, in_order, read_batches, write

from iegp.errors import InputError
from iegp.readers import Position, Records, Source, feeds, open_source

SOON = 0.05


class Wires(NamedTuple):
    """A named pipe with a writer, and a descriptor to wake its reader with."""

    path: Path
    writer: io.FileIO
    alarm: int
    wakeup: int


@pytest.fixture
def wires(tmp_path: Path) -> Iterator[Wires]:
    path = tmp_path / "pipe.jsonl"
    os.mkfifo(path)
    # both ends at once: opening a named pipe for reading alone waits for a writer
    holder = os.open(path, os.O_RDWR)
    wakeup, alarm = os.pipe()
    with open(path, "wb", buffering=0) as writer:
        os.set_blocking(holder, False)
        yield Wires(path, writer, alarm, wakeup)
    for descriptor in (holder, wakeup, alarm):
        os.close(descriptor)


def later(action: object, seconds: float = SOON) -> threading.Timer:
    timer = threading.Timer(seconds, action)  # type: ignore[arg-type]
    timer.start()
    return timer


def x(batch: Records | None) -> list[float]:
    assert batch is not None
    return batch.columns["x"].tolist()


def opened(wires: Wires, **options: object) -> Source:
    return open_source(wires.path, wakeup=wires.wakeup, **options)


def test_a_pipe_gives_what_waits(wires: Wires):
    with opened(wires) as source:
        assert source.is_live
        assert source.names == ()
        wires.writer.write(b'{"x": 1}\n{"x": 2}\n{"x": 3}\n{"x"')
        assert x(source.read(2)) == [1, 2]
        assert x(source.read(10)) == [3]
        timer = later(lambda: wires.writer.write(b": 4}\n"))
        assert x(source.read(10)) == [4]
        timer.join()
        assert source.names == ("x",)


def test_a_pipe_is_read_line_by_line_as_it_is_written(wires: Wires):
    with opened(wires) as source:
        for i in range(50):
            wires.writer.write(b'{"x": %d}\n' % i)
            assert x(source.read(100)) == [i]


def test_a_pipe_wakes_up(wires: Wires):
    with opened(wires) as source:
        wires.writer.write(b'{"x": 1}\n{"x"')
        assert x(source.read(10)) == [1]
        timer = later(lambda: os.write(wires.alarm, b"!"))
        empty = source.read(10)
        timer.join()
        assert empty is not None
        assert empty.n_records == 0
        assert empty.start == empty.end == Position(9, 2, 1)
        os.read(wires.wakeup, 1)
        wires.writer.write(b": 2}\n")
        assert x(source.read(10)) == [2]


def test_a_named_pipe_that_no_program_writes_to_yet_wakes_up(tmp_path: Path):
    """A signal ends the waiting for the first writer, too, and a later writer is read to its end."""
    path = tmp_path / "pipe.jsonl"
    os.mkfifo(path)
    wakeup, alarm = os.pipe()
    with open_source(path, wakeup=wakeup) as source:
        later(lambda: os.write(alarm, b"!"))
        found = source.read(10)
        assert found is not None
        assert len(found) == 0
        os.read(wakeup, 1)
        later(lambda: path.write_bytes(b'{"x": 1}\n{"x": 2}\n'))
        assert x(source.read(10)) == [1.0, 2.0]
        assert source.read(10) is None
    os.close(wakeup)
    os.close(alarm)


def test_blank_lines_on_a_pipe_are_waited_through(wires: Wires):
    with opened(wires) as source:
        wires.writer.write(b"\n \n")
        timer = later(lambda: wires.writer.write(b'{"x": 1}\n'))
        batch = source.read(10)
        timer.join()
        assert x(batch) == [1]
        assert batch.lines.tolist() == [3]


def test_csv_on_a_pipe(wires: Wires):
    with opened(wires, format="csv") as source:
        wires.writer.write(b"x,c\n")
        timer = later(lambda: os.write(wires.alarm, b"!"))
        assert source.read(10).n_records == 0
        timer.join()
        os.read(wires.wakeup, 1)
        wires.writer.write(b'1,u\n2,"v\n')
        assert x(source.read(10)) == [1]
        wires.writer.write(b'w"\n3,z\n')
        assert source.read(10).columns["c"].tolist() == ["v\nw", "z"]
        assert source.schema()["columns"] == {"x": "number", "c": "text"}


def test_the_counting_goes_on_when_a_pipe_is_resumed(wires: Wires):
    schema = {"format": "jsonl", "columns": {"x": "number"}}
    with opened(wires, position=Position(90, 11, 10), schema=schema) as source:
        wires.writer.write(b'{"x": "text"}\n{"x": 2}\n')
        batch = source.read(5)
    assert batch.bad[0].line == 11
    assert batch.end == (113, 13, 12)


def test_a_pipe_that_floods_gives_batches_of_bounded_size(wires: Wires, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(feeds, "CHUNK", 100)
    monkeypatch.setattr(feeds, "_PIPE_READ", 50)
    with opened(wires) as source:
        wires.writer.write(b'{"x": 1}\n' * 1000)
        assert 1 < len(source.read(10**9)) < 30


def test_a_closed_pipe_ends_and_its_last_line_counts():
    script = (
        "from iegp.readers import open_source\n"
        "with open_source('-') as source:\n"
        "    while (batch := source.read(10)) is not None:\n"
        "        print(batch.columns['x'].tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], input=b'{"x": 1}\n{"x": 2}', capture_output=True, timeout=60)
    assert done.stderr == b""
    assert b"".join(done.stdout.split()) in (b"[1.0,2.0]", b"[1.0][2.0]")


def test_an_empty_pipe_ends_at_once():
    script = "from iegp.readers import open_source; print(open_source('-').read(1))"
    done = subprocess.run([sys.executable, "-c", script], input=b"", capture_output=True, timeout=60)
    assert done.stdout.split() == [b"None"], done.stderr


@pytest.fixture
def fast_polling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "POLL_SECONDS", 0.01)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.mark.usefixtures("fast_polling")
@pytest.mark.parametrize(("name", "first"), [("a.csv", b"x\n1\n"), ("a.jsonl", b'{"x": 1}\n')])
def test_a_growing_file_is_followed(tmp_path: Path, name: str, first: bytes):
    line = first.splitlines()[-1]
    path = write(tmp_path / name, first + line[:1])
    with open_source(path, follow=True) as source:
        assert source.is_live
        assert x(source.read(10)) == [1]
        timer = later(lambda: append(path, line[1:].replace(b"1", b"2") + b"\n" + line[:1]))
        assert len(source.read(10)) == 1
        timer.join()
        timer = later(lambda: append(path, line[1:] + b"\n" + line + b"\n"))
        assert len(source.read(10)) == 2
        timer.join()


@pytest.mark.usefixtures("fast_polling")
def test_following_may_begin_before_the_header(tmp_path: Path):
    path = write(tmp_path / "a.csv", b"")
    with open_source(path, follow=True) as source:
        timer = later(lambda: append(path, b"x,c\n1,u\n"))
        assert x(source.read(10)) == [1]
        timer.join()
        assert source.names == ("x", "c")


@pytest.mark.usefixtures("fast_polling")
def test_following_goes_on_from_a_position(tmp_path: Path):
    path = write(tmp_path / "a.csv", b"x\n1\n2\n3\n")
    with open_source(path, follow=True) as source:
        batch = source.read(2)
        schema = source.schema()
    with open_source(path, follow=True, position=batch.end, schema=schema) as source:
        assert [row["x"] for row in good(in_order(source.read(5)))] == [3]


def test_following_wakes_up(tmp_path: Path):
    wakeup, alarm = os.pipe()
    path = write(tmp_path / "a.csv", b"x\n1\n")
    with open_source(path, follow=True, wakeup=wakeup) as source:
        source.read(10)
        os.write(alarm, b"!")
        began = time.monotonic()
        assert source.read(10).n_records == 0
        assert time.monotonic() - began < 5
    os.close(wakeup)
    os.close(alarm)


@pytest.mark.usefixtures("fast_polling")
@pytest.mark.parametrize("how", ["shrank", "removed", "replaced"])
def test_a_rotated_file_is_an_error(tmp_path: Path, how: str):
    path = write(tmp_path / "a.jsonl", b'{"x": 1}\n{"x": 2}\n')
    with open_source(path, follow=True) as source:
        assert len(source.read(10)) == 2
        if how == "shrank":
            path.write_bytes(b'{"x": 1}\n')
        elif how == "removed":
            path.unlink()
        else:
            write(tmp_path / "b", b'{"x": 1}\n{"x": 2}\n').rename(path)
        with pytest.raises(InputError, match=how):
            source.read(10)


def test_standard_input_may_be_a_file(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", b'{"x": 1}\n' * 5000)
    script = (
        "from iegp.readers import open_source\n"
        "n = 0\n"
        "source = open_source('-')\n"
        "while (batch := source.read(10**6)) is not None: n += len(batch)\n"
        "print(n)"
    )
    with path.open("rb") as file:
        done = subprocess.run([sys.executable, "-c", script], stdin=file, capture_output=True, timeout=60)
    assert done.stdout.split() == [b"5000"], done.stderr


def test_a_file_is_not_live(tmp_path: Path):
    with open_source(write(tmp_path / "a.jsonl", b'{"x": 1}\n')) as source:
        assert not source.is_live
        assert source.size == 9
        read_batches(source)
        assert source.bytes_read == 9
