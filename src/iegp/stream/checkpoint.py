"""A run as one file: the model, where the input goes on, where the output ends. Replaced atomically, as a whole.

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

from iegp.errors import IegpError, ModelFileError
from iegp.readers import START, Position
from iegp.storage import model_file as modelfile
from iegp.storage.schema import count, flag
from iegp.stream.job import KIND, Job
from iegp.stream.learner import ByKey
from iegp.typing import Arrays

T = TypeVar("T")
# So much of a source's beginning tells it from another one.
_PREFIX = 65_536
_GZIP = b"\x1f\x8b"


@dataclass
class Where:
    """How far a run has come, and what it was asked for."""

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
        return self.prefix == Where.prefix


class Storable(Protocol):
    """What can be written to a checkpoint."""

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Header of a model file, and its arrays."""
        ...


def write(path: Path, job: Storable, where: Where) -> None:
    """Replace the checkpoint at ``path``."""
    header, arrays = job.to_parts()
    # The schema as text, because the order of columns matters and that of a header's entries does not.
    header = header | {"where": vars(where) | {"schema": json.dumps(where.schema)}}
    modelfile.write(path, header | {"checksum": _checksum(header)}, arrays)


def read(path: str | os.PathLike[str], n_threads: int = 1, by_key: ByKey | None = None) -> tuple[Job, Where]:
    """The stream that :func:`write` wrote, to the bit; a :class:`ModelFileError` if the file is damaged or another's.

    ``by_key`` is needed if it has models by key.
    """
    return read_as(path, KIND, _what_else, lambda header, arrays: Job.from_parts(header, arrays, n_threads, by_key))


def read_as(
    path: str | os.PathLike[str],
    kind: str,
    what_else: Callable[[dict[str, Any]], str],
    restore: Callable[[dict[str, Any], Arrays], T],
) -> tuple[T, Where]:
    """What ``restore`` makes of header and arrays of a run's file, and how far the run had come.

    ``kind`` is the header's entry "estimator"; ``what_else`` says of the header of another file what that is.
    """
    header, arrays = modelfile.read(path)
    if header.get("estimator") != kind or "where" not in header:
        raise ModelFileError(f"{os.fspath(path)} {what_else(header)}")
    try:
        if header.get("checksum") != _checksum(header):
            raise ValueError("the header does not match its checksum")
        return restore(header, arrays), _where(header["where"])
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, IegpError) as error:
        raise ModelFileError(f"{os.fspath(path)} is damaged ({error!s:.200}); try an older copy") from error


def _what_else(header: dict[str, Any]) -> str:
    """What a file holds that is no run, and where it can go."""
    if header.get("estimator") == "Fleet":
        what, where = "a fleet that was saved in Python", "load it with iegp.Fleet.load"
    else:
        what, where = (
            "the model of an estimator (or of `iegp fit-history`)",
            "use iegp.load in Python to predict and go on",
        )
    return f"is {what}, not of a run of `iegp stream`, so it knows no columns of files; {where}"


def _checksum(header: dict[str, Any]) -> str:
    """Of everything in the header that the file itself does not check."""
    ours = {name: value for name, value in header.items() if name not in ("format", "sha256", "checksum")}
    return hashlib.sha256(json.dumps(ours, sort_keys=True).encode()).hexdigest()


def _where(stored: dict[str, Any]) -> Where:
    where = Where(**stored | {"schema": json.loads(stored["schema"])})
    where.position = Position(*(count("a position", value) for value in where.position))
    length, digest = where.prefix
    where.prefix = (count("a length", length), str(digest))
    for value in (where.out_position, where.bad_position, where.sequence):
        count("a position", value)
    is_good = isinstance(where.source, str) and isinstance(where.out, str | None)
    if not is_good or not isinstance(where.schema, dict) or not isinstance(where.config, dict):
        raise ValueError("an entry about the run is not of its kind")
    flag("is_finished", where.is_finished)
    return where


def prefix_of(path: Path, length: int) -> tuple[int, str]:
    """Length and digest of a file's beginning, to know it again; at most so long. Compressed files are looked into."""
    length = min(length, _PREFIX)
    with open(path, "rb") as file:
        content = file.read(_PREFIX)
    if content.startswith(_GZIP):
        with contextlib.suppress(zlib.error):
            content = zlib.decompressobj(wbits=31).decompress(content, _PREFIX)
    return len(content[:length]), hashlib.sha256(content[:length]).hexdigest()


def remember_beginning(where: Where) -> None:
    """Note the beginning of a file as far as it was read: what comes after may still be put right, then resumed."""
    if where.was_pipe:
        return
    # Of Parquet and of arrays positions are rows, not bytes.
    n_read = _PREFIX if where.schema.get("format") in ("parquet", "npz") else where.position.offset
    if n_read > where.prefix[0] and where.prefix[0] < _PREFIX:
        with contextlib.suppress(OSError):
            where.prefix = prefix_of(Path(where.source), n_read)
