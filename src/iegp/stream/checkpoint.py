"""A run as one file: the model, where the input continues, where the output ends. Replaced atomically, as a whole.

It is a model file like any other (safetensors with a JSON header and a checksum), so loading executes nothing and reads
no more than the file holds.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from iegp.errors import IegpError, ModelFileError, ModelTooLargeError
from iegp.readers import START, Position
from iegp.storage import model_file as modelfile
from iegp.storage.schema import count, flag
from iegp.stream.job import Job
from iegp.stream.job_storage import KIND
from iegp.stream.learner import ByKey
from iegp.typing import Arrays

T = TypeVar("T")
# Bytes at the beginning of a source by which it is recognised.
_PREFIX = 65_536
_GZIP = b"\x1f\x8b"


@dataclass
class RunState:
    """How far a run has come, and its options."""

    source: str
    schema: dict[str, Any]
    config: dict[str, Any]
    """The effective configuration, for people to read and for a report."""
    position: Position = START
    out: str | None = None
    out_position: int = 0
    bad_position: int = 0
    sequence: int = 0
    """The last batch of the journal that the model has seen."""
    prefix: tuple[int, str] = (0, "")
    """Length and digest of the source's beginning, if it can be read again."""
    is_finished: bool = False

    @property
    def was_pipe(self) -> bool:
        """Whether the source cannot be read again."""
        return self.prefix == RunState.prefix


class Storable(Protocol):
    """What can be written to a checkpoint."""

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Header of a model file, and its arrays."""
        ...


def write(path: Path, job: Storable, run_state: RunState) -> None:
    """Replace the checkpoint at ``path``."""
    header, arrays = job.to_parts()
    # The schema as text, because the order of columns matters and that of a header's entries does not.
    header = header | {"run_state": vars(run_state) | {"schema": json.dumps(run_state.schema)}}
    modelfile.write(path, header, arrays, through_link=False)


def read(path: str | os.PathLike[str], n_threads: int = 1, by_key: ByKey | None = None) -> tuple[Job, RunState]:
    """The stream that :func:`write` wrote, to the bit; a :class:`ModelFileError` if the file is damaged or another's.

    ``by_key`` is needed if it has models by key.
    """

    def restore(header: dict[str, Any], arrays: Arrays) -> Job:
        return Job.from_parts(header, arrays, n_threads, by_key)

    try:
        return read_as(path, KIND, _describe_other, restore)
    except ModelTooLargeError as error:
        raise ModelTooLargeError(f"{os.fspath(path)} cannot be loaded: {error}") from error


def read_as(
    path: str | os.PathLike[str],
    kind: str,
    describe_other: Callable[[dict[str, Any]], str],
    restore: Callable[[dict[str, Any], Arrays], T],
) -> tuple[T, RunState]:
    """What ``restore`` makes of header and arrays of a run's file, and how far the run had come.

    ``kind`` is the header's entry "estimator"; ``describe_other`` says of the header of another file what that is.
    """
    header, arrays = modelfile.read(path)
    if header.get("estimator") != kind or "run_state" not in header:
        raise ModelFileError(f"{os.fspath(path)} {describe_other(header)}")
    try:
        return restore(header, arrays), _run_state(header["run_state"])
    except ModelTooLargeError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, IegpError) as error:
        raise ModelFileError(f"{os.fspath(path)} is damaged ({error!s:.200}); try an older copy") from error


def _describe_other(header: dict[str, Any]) -> str:
    """What a file holds that is no run, and where it can go."""
    if header.get("estimator") == "Fleet":
        kind, remedy = "a fleet that was saved in Python", "load it with iegp.Fleet.load"
    else:
        kind, remedy = (
            "the model of an estimator (or of `iegp fit-history`)",
            "use iegp.load in Python to predict and continue",
        )
    return f"is {kind}, not of a run of `iegp stream`, so it knows no columns of files; {remedy}"


def _run_state(stored: dict[str, Any]) -> RunState:
    run_state = RunState(**stored | {"schema": json.loads(stored["schema"])})
    run_state.position = Position(*(count("a position", value) for value in run_state.position))
    length, digest = run_state.prefix
    run_state.prefix = (count("a length", length), str(digest))
    for value in (run_state.out_position, run_state.bad_position, run_state.sequence):
        count("a position", value)
    is_good = isinstance(run_state.source, str) and isinstance(run_state.out, str | None)
    if not is_good or not isinstance(run_state.schema, dict) or not isinstance(run_state.config, dict):
        raise ValueError("an entry about the run is not of its kind")
    flag("is_finished", run_state.is_finished)
    return run_state


def prefix_of(path: Path, length: int) -> tuple[int, str]:
    """Length and digest of a file's beginning, to recognise it; of at most ``length`` bytes, decompressed."""
    length = min(length, _PREFIX)
    with open(path, "rb") as file:
        content = file.read(_PREFIX)
    if content.startswith(_GZIP):
        with contextlib.suppress(zlib.error):
            content = zlib.decompressobj(wbits=31).decompress(content, _PREFIX)
    return len(content[:length]), hashlib.sha256(content[:length]).hexdigest()


def remember_beginning(run_state: RunState) -> None:
    """Store the digest of a file as far as it was read: later parts may still be corrected before a run resumes."""
    if run_state.was_pipe:
        return
    # Of Parquet and of arrays positions are rows, not bytes.
    n_read = _PREFIX if run_state.schema.get("format") in ("parquet", "npz") else run_state.position.offset
    if n_read > run_state.prefix[0] and run_state.prefix[0] < _PREFIX:
        with contextlib.suppress(OSError):
            run_state.prefix = prefix_of(Path(run_state.source), n_read)
