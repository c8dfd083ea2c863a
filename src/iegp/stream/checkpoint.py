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
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from iegp.core.settings import Settings
from iegp.errors import IegpError, ModelFileError
from iegp.preprocessing.encoder import LARGEST, Encoder
from iegp.readers import Position
from iegp.readers.position import START
from iegp.storage import ensemble_state as snapshot
from iegp.storage import model_file as modelfile
from iegp.stream.digest import Digest
from iegp.stream.job import Counters, Job
from iegp.stream.learner import Learner
from iegp.stream.learning import ByKey
from iegp.stream.pending import Pending
from iegp.stream.plan import Plan
from iegp.typing import Arrays

KIND = "stream"
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


def write(path: Path, job: Job, where: Where) -> None:
    """Replace the checkpoint at ``path``."""
    learner = job.learner
    online, arrays = (None, {}) if learner is None else snapshot.take(learner.model)
    n_columns = len(job.encoder.columns)
    pending, waiting = job.pending.to_parts(n_columns)
    header = {
        "estimator": KIND,
        "iegp": version("iegp"),
        "online": online,
        "settings": job.settings.to_config(),
        "plan": job.plan.to_config(),
        "given_columns": job.given_columns,
        "classes": [] if learner is None else list(learner.classes),
        "encoder": job.encoder.to_config(),
        "pending": pending,
        "counters": job.counters.to_config(),
        "digest": job.digest.config(),
        # As text, because the order of columns matters and that of a header's entries does not.
        "where": vars(where) | {"schema": json.dumps(where.schema)},
    }
    by_key, states = (None, {}) if learner is None else learner.to_parts()
    if by_key is not None:
        header["by_key"] = by_key
    parts: dict[str, Arrays] = {
        "by_key": states,
        "digest": job.digest.arrays(),
        "pending": waiting,
        "encoder": {"sums": job.encoder.sums, "counts": job.encoder.counts},
    }
    for room, some in parts.items():
        arrays |= {f"{room}.{name}": array for name, array in some.items()}
    modelfile.write(path, header | {"checksum": _checksum(header)}, arrays)


def read(path: str | os.PathLike[str], n_threads: int = 1, by_key: ByKey | None = None) -> tuple[Job, Where]:
    """The run that :func:`write` wrote, to the bit; a :class:`ModelFileError` if the file is damaged or another's.

    ``by_key`` is needed if it has models by key.
    """
    header, arrays = modelfile.read(path)
    if header.get("estimator") != KIND:
        raise ModelFileError(f"{os.fspath(path)} {_what_else(header)}")
    try:
        if header.get("checksum") != _checksum(header):
            raise ValueError("the header does not match its checksum")
        return _job(header, arrays, n_threads, by_key), _where(header["where"])
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


def _job(header: dict[str, Any], arrays: Arrays, n_threads: int, by_key: ByKey | None) -> Job:
    plan = Plan.from_config(header["plan"])
    job = Job(plan, Settings.from_config(header["settings"]), _flag(header["given_columns"]), by_key)
    job.n_threads = n_threads
    job.encoder = Encoder.from_config(header["encoder"], arrays["encoder.sums"], arrays["encoder.counts"])
    job.pending = Pending.from_parts(header["pending"], _room(arrays, "pending"))
    job.counters = Counters(**{name: _count(value) for name, value in header["counters"].items()})
    job.digest = Digest.restore(header["digest"], _room(arrays, "digest"))
    if header["online"] is None:
        return job
    for name in ("n_rows", "n_labelled"):
        _count(header["digest"][name])
    model = snapshot.restore(header["online"], arrays)
    classes = tuple(str(label) for label in header["classes"])
    if model.n_columns != len(job.encoder.columns):
        raise ValueError(f"{model.n_columns} columns in the model, {len(job.encoder.columns)} in the encoder")
    if any(len(waiting.x) != model.n_columns for waiting in job.pending.rows.values()):
        raise ValueError("the rows that wait have other columns than the model")
    if (job.digest.task, job.pending.at_most) != (plan.task, plan.max_pending) or plan.time != job.encoder.time:
        raise ValueError("its parts belong to different runs")
    if plan.has_classes and len(classes) > model.n_outputs:
        raise ValueError(f"{len(classes)} classes for {model.n_outputs} outputs")
    cheap = plan.intervals == "normal"
    learner = Learner(plan.task, model, classes, plan.order, plan.level, cheap, n_threads=n_threads)
    job.learner = learner
    if plan.key is not None and by_key is not None:
        if any(waiting.key is None for waiting in job.pending.rows.values()):
            raise ValueError("a row that waits has no key")
        job.learner = by_key.restore(learner, header.get("by_key"), _room(arrays, "by_key"))
    return job


def _where(stored: dict[str, Any]) -> Where:
    where = Where(**stored | {"schema": json.loads(stored["schema"])})
    where.position = Position(*(_count(value) for value in where.position))
    length, digest = where.prefix
    where.prefix = (_count(length), str(digest))
    for value in (where.out_position, where.bad_position, where.sequence):
        _count(value)
    is_good = isinstance(where.source, str) and isinstance(where.out, str | None)
    if not is_good or not isinstance(where.schema, dict) or not isinstance(where.config, dict):
        raise ValueError("an entry about the run is not of its kind")
    _flag(where.is_finished)
    return where


def _room(arrays: Arrays, room: str) -> Arrays:
    start = f"{room}."
    return {name[len(start) :]: array for name, array in arrays.items() if name.startswith(start)}


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= LARGEST:
        raise ValueError(f"{value!r:.50} is not a count")
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError(f"{value!r} is not a flag")
    return value


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
    if where.prefix == Where.prefix:
        return
    # Of Parquet positions are rows, not bytes.
    n_read = _PREFIX if where.schema.get("format") == "parquet" else where.position.offset
    if n_read > where.prefix[0] and where.prefix[0] < _PREFIX:
        with contextlib.suppress(OSError):
            where.prefix = prefix_of(Path(where.source), n_read)
