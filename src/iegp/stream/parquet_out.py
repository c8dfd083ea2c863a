"""Answers as Parquet: collected as Arrow messages, which can be cut back and continued, and written at the end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from iegp.errors import InputError
from iegp.storage.model_file import replacing
from iegp.stream.answers import Answers
from iegp.stream.lines import NUMBERS

# Rows of a row group.
_ROWS = 65_536


def spool_of(path: Path) -> Path:
    """Where answers are collected: the file itself, or a file beside it if it is to be Parquet."""
    return path.with_name(path.name + ".partial") if path.suffix.lower() == ".parquet" else path


def answer_schema(has_classes: bool, key_field: str | None = None) -> pa.Schema:
    """The columns of a Parquet file of answers; ``key_field`` is what the key is called, if there are keys."""
    fields = [("row", pa.int64()), ("id", pa.string())]
    if key_field is not None:
        fields.append((key_field, pa.string()))
    if has_classes:
        fields += [("predicted", pa.string()), ("proba", pa.map_(pa.string(), pa.float64()))]
    else:
        fields += [(name, pa.float64()) for name in NUMBERS]
    fields += [("log_score", pa.float64()), *([] if has_classes else [("pit", pa.float64())])]
    return pa.schema([*fields, ("label", pa.string() if has_classes else pa.float64()), ("note", pa.string())])


def arrow_message(answers: Answers, key_field: str | None = None) -> bytes:
    """The answers as one message of an Arrow stream."""
    n, has_classes = len(answers), answers.mean is None
    missing = pa.nulls(n, pa.string())
    columns = [pa.array(answers.row), missing if answers.ids is None else pa.array(answers.ids, pa.string())]
    if key_field is not None:
        columns.append(pa.array(answers.keys, pa.string()))
    if has_classes:
        columns += [pa.array(answers.predicted, pa.string()), _proba(answers)]
    else:
        columns += [_numbers(getattr(answers, name)) for name in NUMBERS]
    columns.append(_numbers(answers.log_score))
    if not has_classes:
        columns.append(pa.nulls(n, pa.float64()) if answers.pit is None else _numbers(answers.pit))
    label = pa.array(answers.label, pa.string()) if has_classes else _numbers(answers.label)
    note = pa.array(answers.notes, pa.string())
    batch = pa.record_batch([*columns, label, note], schema=answer_schema(has_classes, key_field))
    return batch.serialize().to_pybytes()  # type: ignore[no-any-return]


def finish_parquet(path: Path, key_field: str | None = None) -> None:
    """Write the collected answers as Parquet, atomically, and remove what they were collected in."""
    spool = spool_of(path)
    if spool == path or not spool.exists():
        return
    try:
        with replacing(path) as file:
            _convert(spool, file, key_field)
    except pa.ArrowException as error:
        raise InputError(f"{spool}, where the answers were collected, is damaged ({error})") from error
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
    try:
        with pq.ParquetFile(path) as answers, replacing(spool_of(path)) as file:
            schema = answer_schema("proba" in answers.schema_arrow.names, key_field)
            file.write(schema.serialize().to_pybytes())
            for batch in answers.iter_batches(_ROWS):
                file.write(batch.select(schema.names).cast(schema).serialize().to_pybytes())
            return file.tell()
    except (pa.ArrowException, KeyError) as error:
        raise InputError(f"{path} is not the Parquet file that the run has written ({error}); bring it back") from error


def _numbers(values: np.ndarray) -> pa.Array:
    finite = np.isfinite(values)
    return pa.array(values) if finite.all() else pa.array(values, mask=~finite)


def _proba(answers: Answers) -> pa.Array:
    assert answers.proba is not None
    n, n_classes = answers.proba.shape
    offsets = np.arange(n + 1, dtype=np.int32) * n_classes
    keys = pa.array(list(answers.classes) * n, pa.string())
    return pa.MapArray.from_arrays(pa.array(offsets), keys, pa.array(answers.proba.ravel()))
