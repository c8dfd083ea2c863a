"""What ``iegp embed`` reads and writes: rows of numbers, and where they lie."""

from __future__ import annotations

import io
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from iegp.cli.options import UsageError
from iegp.errors import InputError
from iegp.readers import Position, Records, Source, open_source
from iegp.storage.model_file import replace_atomically
from iegp.stream.plan import label_name
from iegp.stream.runner import BadRow
from iegp.typing import Float, Int


class Block(NamedTuple):
    """Consecutive rows (NaN: missing), their labels if there are any, and where the source goes on."""

    rows: Float
    labels: list[str]
    position: tuple[int, int, int]


class Wanted(Protocol):
    """The flags that say what to read."""

    @property
    def source(self) -> str: ...
    @property
    def label(self) -> str | None: ...
    @property
    def features(self) -> str | None: ...
    @property
    def ignore(self) -> str | None: ...


class RowSource(Protocol):
    """Rows in order; a context manager."""

    columns: tuple[str, ...]
    n_total: int | None

    def read(self, at_most: int) -> Block | None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_rows(wanted: Wanted, columns: tuple[str, ...], position: tuple[int, int, int]) -> RowSource:
    """The source from ``position`` on; ``columns`` are those of a run that is resumed, else they are found."""
    if Path(wanted.source).suffix.lower() == ".npz":
        return _Arrays(wanted, position[0])
    return _Table(wanted, columns, Position(*position))


class _Arrays:
    """An .npz file with an array X, and one named by the label."""

    def __init__(self, wanted: Wanted, row: int) -> None:
        try:
            with open(wanted.source, "rb") as file:
                stored = np.load(file, allow_pickle=False)
                if not isinstance(stored, np.lib.npyio.NpzFile):
                    raise ValueError("it is a single array, as np.save writes it")
                x = stored["X"]
                labels = None if wanted.label is None else stored[wanted.label]
        except (KeyError, ValueError, OSError, EOFError, MemoryError, BadZipFile, zlib.error) as error:
            raise InputError(f"{wanted.source} cannot be read ({error}); it needs an array X, rows first") from error
        if x.ndim != 2 or x.shape[1] == 0 or x.dtype.kind not in "biuf":
            raise InputError(
                f"X in {wanted.source} has shape {x.shape} and type {x.dtype}; rows of real numbers are needed"
            )
        self._x = np.asarray(x, dtype=np.float64)
        if labels is not None and labels.shape != (len(self._x),):
            raise InputError(f"{wanted.label} in {wanted.source} has shape {labels.shape}, not one entry per row")
        self._labels = None if labels is None else [label_name(value) or "" for value in labels.tolist()]
        self._row = row
        self.columns = tuple(f"x{number}" for number in range(self._x.shape[1]))
        self.n_total: int | None = len(self._x)

    def read(self, at_most: int) -> Block | None:
        start, stop = self._row, min(self._row + at_most, len(self._x))
        if start >= stop:
            return None
        self._row = stop
        labels = [] if self._labels is None else self._labels[start:stop]
        return Block(self._x[start:stop], labels, (stop, stop + 1, stop))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class _Table:
    """A CSV, TSV, JSON-lines or Parquet file whose columns are numbers."""

    def __init__(self, wanted: Wanted, columns: tuple[str, ...], position: Position) -> None:
        self._name, self._label = wanted.source, wanted.label
        keep = () if wanted.label is None else (wanted.label,)
        self._source: Source = open_source(wanted.source, keep_text=keep, position=position)
        self.n_total = self._source.n_total
        self.columns = columns or self._find(wanted)

    def _find(self, wanted: Wanted) -> tuple[str, ...]:
        names = self._source.names
        apart = {wanted.label, *(wanted.ignore or "").split(",")}
        chosen = tuple((wanted.features or "").split(",")) if wanted.features else names
        for name in (*chosen, *([wanted.label] if wanted.label else [])):
            if name not in names:
                raise UsageError(f"there is no column {name!r} in {self._name}; columns: {', '.join(names[:20])}")
        kinds = self._source.schema()["columns"]
        found = tuple(name for name in chosen if name not in apart)
        text = [name for name in found if kinds.get(name) == "text"]
        if text:
            raise UsageError(f"column {text[0]!r} of {self._name} is text, and a map is made of numbers; --ignore it")
        if not found:
            raise UsageError(f"no column of {self._name} is left to make a map of")
        return found

    def read(self, at_most: int) -> Block | None:
        records = self._source.read(at_most)
        if records is None:
            return None
        if records.bad:
            bad = records.bad[0]
            raise BadRow(self._name, bad.line, bad.column, bad.text, bad.reason)
        return Block(self._rows(records), self._labels(records), records.end)

    def _rows(self, records: Records) -> Float:
        absent = np.full(len(records), np.nan)
        return np.column_stack([records.columns.get(name, absent) for name in self.columns])

    def _labels(self, records: Records) -> list[str]:
        if self._label is None:
            return []
        values = records.columns.get(self._label)
        return [""] * len(records) if values is None else [label_name(value) or "" for value in values]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._source.close()


def write_map(path: Path, rows: Int, positions: Float, spread: Float, labels: list[str] | None) -> None:
    """Number of the row, its coordinates, the standard deviation of a row there, and its label."""
    columns: dict[str, Any] = {"row": rows}
    columns |= {f"z{number + 1}": positions[:, number] for number in range(positions.shape[1])}
    columns |= {"std": spread} | ({} if labels is None else {"label": np.array(labels)})
    buffer = io.BytesIO()
    if path.suffix.lower() == ".npz":
        np.savez_compressed(buffer, **columns)
    else:
        table = pa.table({name: pa.array(values) for name, values in columns.items()})
        if path.suffix.lower() == ".csv":
            pyarrow.csv.write_csv(table, buffer)
        else:
            pq.write_table(table, buffer)
    replace_atomically(path, buffer.getvalue())
