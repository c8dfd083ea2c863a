"""Alarms about changes of a stream: a line in a file each, or a command that is started.

A run that resumes after a crash repeats the rows since its last checkpoint, and their alarms: each change is reported
at least once, perhaps twice, with the number of its row.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import time
from collections.abc import Sequence
from typing import Any

from iegp.core.changes import Change
from iegp.errors import InputError
from iegp.storage.model_file import naming

# Seconds between two starts of the command; changes in between are reported together.
COMMAND_SECONDS = 60.0


def alarm_line(change: Change) -> bytes:
    """A change as a line of JSON; a time that is not known is left out."""
    entry: dict[str, Any] = change._asdict() | {"strength": round(change.strength, 3)}
    if change.time != change.time:
        del entry["time"]
    return json.dumps(entry).encode() + b"\n"


def _append(file: io.FileIO, content: bytes) -> None:
    """Add all of it, flushed to disk, or nothing: a part of a line would spoil the next one."""
    end, left = file.tell(), memoryview(content)
    try:
        while left:
            left = left[file.write(left) :]
        os.fsync(file.fileno())
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(file.fileno(), end)
        raise


class Alarm:
    """Where changes are reported: a file with a line for each, a command that gets them as input, or both.

    The command is a list of arguments, started without a shell and not waited for.
    """

    def __init__(self, path: str | None, command: Sequence[str] = (), seconds: float = COMMAND_SECONDS) -> None:
        self.path, self.command, self.seconds = path, list(command), seconds
        self._untold: list[bytes] = []
        self._told_at = -float("inf")
        self._started: list[subprocess.Popen[bytes]] = []

    def report(self, changes: Sequence[Change]) -> None:
        """Report changes; the command waits until it may be started again."""
        lines = [alarm_line(change) for change in changes]
        if self.path is not None and lines:
            with naming(self.path), open(self.path, "ab", buffering=0) as file:
                _append(file, b"".join(lines))
        if self.command:
            self._untold += lines
            self.catch_up()

    def catch_up(self) -> None:
        """Start the command if there is something to report and enough time has passed."""
        self._started = [process for process in self._started if process.poll() is None]
        if self._untold and time.monotonic() - self._told_at >= self.seconds:
            self._start()

    def close(self) -> None:
        """Report what is left."""
        if self._untold:
            self._start()

    def _start(self) -> None:
        try:
            process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        except OSError as error:
            raise InputError(f"the command of --alarm-command cannot be started: {error}") from error
        assert process.stdin is not None
        try:
            process.stdin.write(b"".join(self._untold))
            process.stdin.close()
        except BrokenPipeError:
            pass  # it does not read its input
        self._started.append(process)
        self._untold, self._told_at = [], time.monotonic()
