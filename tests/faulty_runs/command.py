"""The command in this process: thousands of runs, without starting a process for each."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from unittest import mock

import typer.main

from faulty_runs.injection import Call, Fault, Injector
from iegp.cli import about, app, embed
from iegp.stream import job, job_storage, journal

# Small, so that few rows make many blocks, and so many calls.
_BLOCKS = ((job, "BLOCK", 16), (job, "KEYED_BLOCK", 16), (embed.MapJob, "block", 32))
# In the run itself and every time, so that the same calls are made in every run.
_FLUSHED = ((journal, "SYNC_SECONDS", 0.0),)
# The same every time, and otherwise found again by every run.
_version = cache(version)
_KEPT = (
    (typer.main, "get_command", cache(typer.main.get_command)),
    (job_storage, "version", _version),
    (about, "version", _version),
)


@dataclass
class Ended:
    """How a run ended, and what it asked of the operating system."""

    code: int
    out: str
    err: str
    calls: list[Call]


def run(folder: Path, argv: list[str], fault: Fault | None = None, stdin: bytes | None = None) -> Ended:
    """``iegp`` with these arguments in ``folder``; ``stdin`` comes through a pipe."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.ExitStack() as stack:
            for module, name, value in (*_BLOCKS, *_FLUSHED, *_KEPT):
                stack.enter_context(mock.patch.object(module, name, value))
            # The date of a report.
            stack.enter_context(mock.patch.dict(os.environ, {"SOURCE_DATE_EPOCH": "1700000000"}))
            if stdin is not None:
                stack.enter_context(_standard_input(stdin))
            return _run(folder, argv, fault)
    finally:
        os.chdir(before)


def _run(folder: Path, argv: list[str], fault: Fault | None) -> Ended:
    code: object = 0
    with open(folder / ".stdout", "w+b") as stdout, io.TextIOWrapper(stdout, write_through=True) as text:
        err = io.StringIO()
        injector = Injector(folder, fault, stdout.fileno())
        with mock.patch.multiple(sys, argv=["iegp", *argv], stdout=text, stderr=err), injector.installed():
            try:
                app.main()
            except SystemExit as end:
                code = end.code
        stdout.seek(0)
        out = stdout.read().decode()
    assert isinstance(code, int | None)
    return Ended(code or 0, out, err.getvalue(), injector.calls)


@contextlib.contextmanager
def _standard_input(content: bytes):
    """A pipe with all of it, closed at the other end."""
    reading, writing = os.pipe()
    kept = os.dup(0)
    os.write(writing, content)
    os.close(writing)
    os.dup2(reading, 0)
    os.close(reading)
    try:
        yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)
