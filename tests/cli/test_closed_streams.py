"""Commands that are started without standard input, output or error: no file takes their place."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the shell closes streams")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    x = np.random.default_rng(0).normal(size=(60, 2))
    rows = [f"{a!r},{b!r},{a - b!r}" for a, b in x.tolist()]
    path = tmp_path / "in.csv"
    path.write_text("\n".join(["a,b,y", *rows, ""]))
    return path


def iegp(folder: Path, arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as a shell runs it; one that waits for ever fails."""
    command = f"exec '{sys.executable}' -m iegp {arguments}"
    return subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        stdin=subprocess.DEVNULL,
    )


def test_closed_input_is_an_error_and_is_not_waited_for(tmp_path):
    done = iegp(tmp_path, "stream - --target y <&-")
    assert done.returncode == 1
    assert "Bad file descriptor" in done.stderr


def test_closed_output_is_an_error_and_the_run_goes_on_elsewhere(tmp_path, table):
    done = iegp(tmp_path, f"stream {table} --target y --save m --out - >&-")
    assert done.returncode == 1
    assert "standard output: Bad file descriptor; standard input or output was closed" in done.stderr
    again = iegp(tmp_path, f"stream {table} --target y --save m --out - --resume")
    assert again.returncode == 0, again.stderr
    assert len(again.stdout.splitlines()) == 60
    closed = iegp(tmp_path, "inspect m >&-")
    assert (closed.returncode, "Exception ignored" in closed.stderr) == (1, False)


def test_all_are_closed_and_files_are_as_ever(tmp_path, table):
    for name, streams in (("open", ""), ("closed", "<&- >&- 2>&-")):
        done = iegp(tmp_path, f"stream {table} --target y --save {name}.m --out {name}.csv {streams}")
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "closed.csv").read_bytes() == (tmp_path / "open.csv").read_bytes()
    assert iegp(tmp_path, "inspect closed.m").returncode == 0
