"""Answers as Parquet: collected as JSON lines, which can be cut back and continued, and written at the end."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from iegp.errors import InputError
from iegp.run.modelfile import sync_folder

_ROWS = 65_536


def spool_of(path: Path) -> Path:
    """Where answers are collected: the file itself, or a file beside it if it is to be Parquet."""
    return path.with_name(path.name + ".partial.jsonl") if path.suffix.lower() == ".parquet" else path


def finish_parquet(path: Path, has_classes: bool) -> None:
    """Write the collected answers as Parquet, atomically, and remove what they were collected in."""
    spool = spool_of(path)
    if spool == path or not spool.exists():
        return
    label = pa.string() if has_classes else pa.float64()
    fields: list[tuple[str, Any]] = [("row", pa.int64()), ("id", pa.string())]
    if has_classes:
        fields += [("predicted", pa.string()), ("proba", pa.map_(pa.string(), pa.float64()))]
    else:
        fields += [(name, pa.float64()) for name in ("mean", "std", "lower", "upper")]
    fields += [("log_score", pa.float64()), *([] if has_classes else [("pit", pa.float64())]), ("label", label)]
    schema = pa.schema([*fields, ("note", pa.string())])
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as file:
            with pq.ParquetWriter(file, schema) as writer:
                for rows in _pieces(spool):
                    writer.write_table(pa.Table.from_pylist(rows, schema=schema))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    sync_folder(path.parent)
    spool.unlink()


def unfold_parquet(path: Path) -> int:
    """Finished answers as JSON lines again, to be continued; how many bytes they have. The Parquet file stays."""
    spool = spool_of(path)
    temporary = spool.with_name(f".{spool.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "xb") as file, pq.ParquetFile(path) as answers:
            for batch in answers.iter_batches(_ROWS):
                file.writelines(json.dumps(_answer(row)).encode() + b"\n" for row in batch.to_pylist())
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
        os.replace(temporary, spool)
    except (pa.ArrowException, KeyError) as error:
        raise InputError(f"{path} is not the Parquet file that the run has written ({error}); bring it back") from error
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)
    return size


def _answer(row: dict[str, Any]) -> dict[str, Any]:
    """The inverse of :func:`_row`."""
    note = row.pop("note")
    if row["id"] is None:
        del row["id"]
    if "proba" in row:
        row["proba"] = dict(row["proba"])
    return row | ({note: True} if note else {})


def _pieces(spool: Path) -> Iterator[list[dict[str, Any]]]:
    with open(spool, encoding="utf-8") as file:
        while lines := list(islice(file, _ROWS)):
            yield [_row(json.loads(line)) for line in lines]


def _row(answer: dict[str, Any]) -> dict[str, Any]:
    answer["note"] = next((note for note in ("late", "duplicate") if answer.get(note)), "")
    if answer.get("id") is not None:
        answer["id"] = str(answer["id"])
    if "proba" in answer:
        answer["proba"] = list(answer["proba"].items())
    return answer
