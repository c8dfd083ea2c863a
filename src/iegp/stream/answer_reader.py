"""Answers read back from a file of answers, in constant memory, and the file beside it that describes the run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from iegp.errors import InputError
from iegp.readers import Records, object_array, open_source
from iegp.storage.model_file import replace_atomically
from iegp.stream.answer_text import guarded
from iegp.stream.answers import NUMBERS, Answers, predictions_of


def sidecar_of(out: Path) -> Path:
    return out.with_name(out.name + ".run.json")


def write_sidecar(out: Path, about: dict[str, Any]) -> None:
    """Replace the file beside ``out``."""
    replace_atomically(sidecar_of(out), (json.dumps(about, indent=1) + "\n").encode(), through_link=False)


def read_sidecar(out: Path) -> dict[str, Any]:
    """What is known about the run of ``out``; nothing if the file is not there."""
    path = sidecar_of(out)
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged ({error}); remove it to have a report without it") from error
    if not isinstance(found, dict):
        raise InputError(f"{path} is damaged: it is no JSON object; remove it to have a report without it")
    return found


_ROWS = 4096
_TEXT = ("id", "label", "predicted", "proba", "note")


def read_answers(path: Path, key_field: str | None = None, is_guarded: bool = False) -> Iterator[Answers]:
    """Consecutive rows with the same classes and the same note, in the order of the file.

    ``key_field`` is what the key is called there, if there are keys. ``is_guarded``: text of CSV has a ' in front where
    a spreadsheet would have taken it for a formula.
    """
    if path.suffix.lower() == ".parquet":
        rows = _parquet_rows(path)
    elif is_guarded and path.suffix.lower() == ".csv":
        rows = (_unguarded(row) for row in _text_rows(path, None if key_field is None else guarded(key_field)))
    else:
        rows = _text_rows(path, key_field)
    try:
        for _, group in groupby(rows, key=_sort):
            some: list[dict[str, Any]] = []
            for row in group:
                some.append(row)
                if len(some) == _ROWS:
                    yield _answers(some, key_field)
                    some = []
            if some:
                yield _answers(some, key_field)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        why = f"it has no {error.args[0]!r}" if isinstance(error, KeyError) else repr(error)
        raise InputError(f"{path} is not a file of answers of `iegp stream`: {why}") from error


def _sort(row: dict[str, Any]) -> tuple[Any, ...]:
    return row.get("note", ""), tuple(row.get("proba") or ()), "mean" in row


def _text_rows(path: Path, key_field: str | None) -> Iterator[dict[str, Any]]:
    is_json = path.suffix.lower() != ".csv"
    if is_json:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    row = json.loads(line)
                except ValueError as error:
                    raise InputError(f"{path}, line {number} is not JSON ({error}); is the file complete?") from error
                row["note"] = next((note for note in ("late", "duplicate") if row.get(note)), row.get("note", ""))
                yield row
        return
    with open_source(path, keep_text=(*_TEXT, *([] if key_field is None else [key_field]))) as source:
        while (records := source.read(_ROWS)) is not None:
            if records.bad:
                raise InputError(f"{path}, line {records.bad[0].line}: {records.bad[0].reason}")
            yield from _csv_rows(records)


def _unguarded(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name.removeprefix("'"): value.removeprefix("'") if isinstance(value, str) else value
        for name, value in row.items()
    }


def _csv_rows(records: Records) -> Iterator[dict[str, Any]]:
    for index in range(len(records)):
        row = {name: values[index] for name, values in records.columns.items()}
        if "proba" in row:
            row["proba"] = json.loads(row["proba"] or "{}")
        row["note"] = row["note"] or ""
        yield row


def _parquet_rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(_ROWS):
                for row in batch.to_pylist():
                    if "proba" in row:
                        row["proba"] = dict(row["proba"] or ())
                    yield row
    except pa.ArrowException as error:
        raise InputError(f"{path} cannot be read as Parquet ({error})") from error


def _answers(rows: list[dict[str, Any]], key_field: str | None) -> Answers:
    number = np.array([int(row["row"]) for row in rows], dtype=np.int64)
    log_score = _numbers(rows, "log_score")
    note = rows[0].get("note", "")
    ids = tuple(None if row.get("id") in (None, "") else str(row["id"]) for row in rows)
    keys = None if key_field is None else tuple(str(row[key_field]) for row in rows)
    if "mean" in rows[0]:
        predictions = predictions_of(log_score, **{name: _numbers(rows, name) for name in (*NUMBERS, "pit")})
        return Answers(predictions, number, _numbers(rows, "label"), ids=ids, note=note, keys=keys)
    classes = tuple(rows[0]["proba"])
    proba = np.array([[row["proba"][name] for name in classes] for row in rows], dtype=np.float64)
    predictions = predictions_of(log_score, proba=proba.reshape(len(rows), len(classes)))
    labels = object_array([row["label"] or None for row in rows])
    return Answers(predictions, number, labels, classes, ids, note=note)


def _numbers(rows: list[dict[str, Any]], name: str) -> Any:
    values = (row.get(name) for row in rows)
    return np.array([np.nan if value is None or value == "" else float(value) for value in values])
