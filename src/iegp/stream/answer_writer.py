"""Where answers go: a file that can be cut back to a checkpoint and continued, or standard output.

Files are opened once, never through a symbolic link, and written by descriptor from then on: whatever replaces the
path in the middle of a run is not written to. Parquet cannot be continued: its answers are collected in a file beside
it and written when the run is over.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from iegp.errors import InputError
from iegp.storage.model_file import naming
from iegp.stream.answer_parquet import answer_schema, arrow_message
from iegp.stream.answer_text import csv_lines, json_lines
from iegp.stream.answers import Answers

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".parquet")


def format_of(path: str) -> str:
    """json, csv or parquet, by the suffix; ``-`` is JSON lines."""
    suffix = Path(path).suffix.lower()
    if path == "-" or suffix in (".jsonl", ".ndjson", ".json"):
        return "json"
    if suffix in (".csv", ".parquet"):
        return suffix[1:]
    raise InputError(f"--out {path}: the suffix {suffix or '(none)'} is not known; use one of {', '.join(SUFFIXES)}")


class Output:
    """Bytes appended to a descriptor; ``position`` is where the next ones go."""

    def __init__(self, descriptor: int, name: str, position: int = 0, is_file: bool = True) -> None:
        self.name = name
        self.position = position
        self.is_file = is_file
        self._descriptor = descriptor

    @classmethod
    def standard(cls) -> Output:
        return cls(sys.stdout.fileno(), "standard output", is_file=False)

    @classmethod
    def create(cls, path: Path, overwrite: bool = False) -> Output:
        """A new file; an existing one only if asked for."""
        if path.is_symlink():
            raise InputError(f"{path} is a symbolic link; name the file itself")
        if path.exists() and not overwrite:
            raise InputError(f"{path} exists; choose another name, or say --overwrite (--resume continues a run)")
        descriptor = _open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        return cls(descriptor, str(path))

    @classmethod
    def reopen(cls, path: Path, position: int) -> Output:
        """A file as it was at a checkpoint: what was written after it is cut off, to be written again."""
        if path.is_symlink():
            raise InputError(f"{path} is a symbolic link, and was a file when the run began; bring the file back")
        flags = os.O_WRONLY | (os.O_CREAT if position == 0 else 0)
        try:
            descriptor = _open(path, flags)
        except FileNotFoundError as error:
            raise InputError(
                f"{path} is gone, but the run has written {position:,} bytes to it; bring it back, or start anew with "
                "--overwrite instead of --resume"
            ) from error
        size = os.fstat(descriptor).st_size
        if size < position:
            os.close(descriptor)
            raise InputError(
                f"{path} has {size:,} bytes, but at the last checkpoint it had {position:,}: it was changed since. "
                "Bring it back, or start anew with --overwrite instead of --resume"
            )
        with naming(path):
            os.ftruncate(descriptor, position)
        os.lseek(descriptor, position, os.SEEK_SET)
        return cls(descriptor, str(path), position)

    def write(self, content: bytes) -> None:
        view = memoryview(content)
        while view:
            with naming(self.name):
                written = os.write(self._descriptor, view)
            view = view[written:]
            self.position += written

    def sync(self) -> None:
        """On disk, not merely on its way there."""
        if self.is_file:
            with naming(self.name):
                os.fsync(self._descriptor)

    def close(self) -> None:
        if self.is_file:
            os.close(self._descriptor)


def _open(path: Path, flags: int) -> int:
    # Without O_NONBLOCK a named pipe would be waited for, for ever.
    for flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK"):
        flags |= getattr(os, flag, 0)
    descriptor = os.open(path, flags, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InputError(f"{path} is not a plain file; name one, or '-' for standard output")
    return descriptor


class AnswerFile:
    """Answers in the format that the name asks for; ``key_field`` is what the key is called, if there are keys.

    ``guards_formulas``: text of CSV that a spreadsheet would take for a formula is marked as text.
    """

    def __init__(self, output: Output, form: str, key_field: str | None = None, guards_formulas: bool = False) -> None:
        self.output = output
        self.guards_formulas = guards_formulas
        self.form = form
        self.key_field = key_field

    def write(self, answers: Answers) -> None:
        """Write in one piece, so that a reader of the growing file never sees a header without answers."""
        is_first = self.output.position == 0
        if self.form == "csv":
            self.output.write(csv_lines(answers, self.key_field, is_first, self.guards_formulas))
        elif self.form == "parquet":
            schema = answer_schema(answers.has_classes, self.key_field)
            head = schema.serialize().to_pybytes() if is_first else b""
            self.output.write(head + arrow_message(answers, self.key_field))
        else:
            self.output.write(json_lines(answers, self.key_field))
