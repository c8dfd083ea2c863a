"""Answers as Parquet: collected as Arrow messages, which can be cut back and continued, and written at the end."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from iegp.errors import InputError
from iegp.run.answers import Answers
from iegp.run.modelfile import sync_folder
from iegp.run.stream.lines import NUMBERS

# Rows of a row group, at least: small answers are put together.
_ROWS = 65_536


def spool_of(path: Path) -> Path:
    """Where answers are collected: the file itself, or a file beside it if it is to be Parquet."""
    return path.with_name(path.name + ".partial") if path.suffix.lower() == ".parquet" else path


def answer_schema(has_classes: bool) -> pa.Schema:
    """The columns of a Parquet file of answers."""
    fields = [("row", pa.int64()), ("id", pa.string())]
    if has_classes:
        fields += [("predicted", pa.string()), ("proba", pa.map_(pa.string(), pa.float64()))]
    else:
        fields += [(name, pa.float64()) for name in NUMBERS]
    fields += [("log_score", pa.float64()), *([] if has_classes else [("pit", pa.float64())])]
    return pa.schema([*fields, ("label", pa.string() if has_classes else pa.float64()), ("note", pa.string())])


def arrow_message(answers: Answers) -> bytes:
    """The answers as one message of an Arrow stream."""
    n, has_classes = len(answers), answers.mean is None
    missing = pa.nulls(n, pa.string())
    columns = [pa.array(answers.row), missing if answers.ids is None else pa.array(answers.ids, pa.string())]
    if has_classes:
        columns += [pa.array(answers.predicted, pa.string()), _proba(answers)]
    else:
        columns += [_numbers(getattr(answers, name)) for name in NUMBERS]
    columns.append(_numbers(answers.log_score))
    if not has_classes:
        columns.append(pa.nulls(n, pa.float64()) if answers.pit is None else _numbers(answers.pit))
    label = pa.array(answers.label, pa.string()) if has_classes else _numbers(answers.label)
    note = pa.array([answers.note] * n, pa.string())
    batch = pa.record_batch([*columns, label, note], schema=answer_schema(has_classes))
    return batch.serialize().to_pybytes()  # type: ignore[no-any-return]


def finish_parquet(path: Path) -> None:
    """Write the collected answers as Parquet, atomically, and remove what they were collected in."""
    spool = spool_of(path)
    if spool == path or not spool.exists():
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as file:
            _convert(spool, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except pa.ArrowException as error:
        temporary.unlink(missing_ok=True)
        raise InputError(f"{spool}, where the answers were collected, is damaged ({error})") from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    spool.unlink()


def _convert(spool: Path, file: object) -> None:
    if spool.stat().st_size == 0:
        # Not a single answer: an empty table of numbers.
        pq.write_table(answer_schema(has_classes=False).empty_table(), file)
        return
    with (
        pa.OSFile(str(spool)) as source,
        pa.ipc.open_stream(source) as stream,
        pq.ParquetWriter(file, stream.schema) as writer,
    ):
        waiting: list[pa.RecordBatch] = []
        for batch in stream:
            waiting.append(batch)
            if sum(len(part) for part in waiting) >= _ROWS:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting = []
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))


def _numbers(values: np.ndarray) -> pa.Array:
    finite = np.isfinite(values)
    return pa.array(values) if finite.all() else pa.array(values, mask=~finite)


def _proba(answers: Answers) -> pa.Array:
    assert answers.proba is not None
    n, n_classes = answers.proba.shape
    offsets = np.arange(n + 1, dtype=np.int32) * n_classes
    keys = pa.array(list(answers.classes) * n, pa.string())
    return pa.MapArray.from_arrays(pa.array(offsets), keys, pa.array(answers.proba.ravel()))
