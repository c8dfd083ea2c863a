"""Answers as Parquet: collected as Arrow messages, which can be cut back and continued, and written at the end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from iegp.errors import InputError
from iegp.storage.model_file import replacing
from iegp.stream.answers import Answers, column_kinds

# Rows of a row group.
_ROWS = 65_536


def spool_of(path: Path) -> Path:
    """Where answers are collected: the file itself, or a file beside it if it is to be Parquet."""
    return path.with_name(path.name + ".partial") if path.suffix.lower() == ".parquet" else path


_TYPES = {
    "whole": pa.int64(),
    "text": pa.string(),
    "number": pa.float64(),
    "proba": pa.map_(pa.string(), pa.float64()),
}


def answer_schema(has_classes: bool, key_field: str | None = None) -> pa.Schema:
    """The columns of a Parquet file of answers; ``key_field`` is what the key is called, if there are keys."""
    return pa.schema([(name, _TYPES[kind]) for name, kind in column_kinds(has_classes, key_field).items()])


def arrow_message(answers: Answers, key_field: str | None = None) -> bytes:
    """The answers as one message of an Arrow stream."""
    arrays = [_array(answers, kind, values) for _, kind, values in answers.columns(key_field)]
    batch = pa.record_batch(arrays, schema=answer_schema(answers.has_classes, key_field))
    return batch.serialize().to_pybytes()  # type: ignore[no-any-return]


def _array(answers: Answers, kind: str, values: Any) -> pa.Array:
    if values is None:
        return pa.nulls(len(answers), _TYPES[kind])
    if kind == "proba":
        return _proba(answers)
    return _numbers(values) if kind == "number" else pa.array(values, _TYPES[kind])


def finish_parquet(path: Path, key_field: str | None = None) -> None:
    """Write the collected answers as Parquet, atomically, and remove what they were collected in."""
    spool = spool_of(path)
    if spool == path or not spool.exists():
        return
    with _reading(f"{spool}, where the answers were collected, is damaged"), replacing(path, False) as file:
        _convert(spool, file, key_field)
    spool.unlink()


def _convert(spool: Path, file: object, key_field: str | None) -> None:
    if spool.stat().st_size == 0:
        # Not a single answer: an empty table of numbers.
        pq.write_table(answer_schema(False, key_field).empty_table(), file)
        return
    with (
        pa.OSFile(str(spool)) as source,
        pa.ipc.open_stream(source) as stream,
        pq.ParquetWriter(file, stream.schema) as writer,
    ):
        # Cut by row numbers alone, in one piece each: the same bytes however the answers came.
        waiting = stream.schema.empty_table()
        for batch in stream:
            waiting = pa.concat_tables([waiting, pa.Table.from_batches([batch])])
            while len(waiting) >= _ROWS:
                writer.write_table(waiting.slice(0, _ROWS).combine_chunks())
                waiting = waiting.slice(_ROWS)
        if len(waiting):
            writer.write_table(waiting.combine_chunks())


def unfold_parquet(path: Path, key_field: str | None = None) -> int:
    """Finished answers as Arrow messages again, to be continued; how many bytes they have. The Parquet file stays."""
    about = f"{path} is not the Parquet file that the run has written; bring it back"
    with _reading(about), pq.ParquetFile(path) as answers, replacing(spool_of(path), False) as file:
        schema = answer_schema("proba" in answers.schema_arrow.names, key_field)
        file.write(schema.serialize().to_pybytes())
        for batch in answers.iter_batches(_ROWS):
            file.write(batch.select(schema.names).cast(schema).serialize().to_pybytes())
        return file.tell()


@contextlib.contextmanager
def _reading(about: str) -> Iterator[None]:
    """What Arrow cannot read, in words. Some of its errors are those of the operating system, but without a number."""
    try:
        yield
    except (pa.ArrowException, KeyError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{about} ({error})") from error


def _numbers(values: np.ndarray) -> pa.Array:
    finite = np.isfinite(values)
    return pa.array(values) if finite.all() else pa.array(values, mask=~finite)


def _proba(answers: Answers) -> pa.Array:
    proba = answers.predictions.proba
    n, n_classes = proba.shape
    offsets = np.arange(n + 1, dtype=np.int32) * n_classes
    keys = pa.array(list(answers.classes) * n, pa.string())
    return pa.MapArray.from_arrays(pa.array(offsets), keys, pa.array(proba.ravel()))
