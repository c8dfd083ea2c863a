"""Parts of a history: which rows each part has, and how a worker reads them.

The cuts depend on the data alone, not on the number of workers, so results do not depend on it either.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from iegp.errors import InputError
from iegp.typing import Float

# Rows of a part: seconds of work, so that the cost of distributing and merging parts is negligible.
PART_ROWS = 131072
# Rows that a worker holds at once.
BATCH_ROWS = 16384

Rows = tuple[Float, Float]


@dataclass(frozen=True)
class Columns:
    """Names of the target and the input columns of a table."""

    target: str
    features: tuple[str, ...]


@dataclass(frozen=True)
class ArrayPart:
    """Part of a history in memory."""

    x: Float
    y: Float

    def read(self) -> Iterator[Rows]:
        """Yield all rows at once."""
        yield self.x, self.y


@dataclass(frozen=True)
class ParquetPart:
    """Some row groups of a Parquet file, without the first ``skip`` rows of them."""

    path: str
    groups: tuple[int, ...]
    skip: int
    columns: Columns

    def read(self) -> Iterator[Rows]:
        """Yield the rows in batches."""
        names = [*self.columns.features, self.columns.target]
        left = self.skip
        try:
            with pa.parquet.ParquetFile(self.path) as file:
                row = sum(file.metadata.row_group(g).num_rows for g in range(self.groups[0]))
                batches = file.iter_batches(BATCH_ROWS, row_groups=list(self.groups), columns=names, use_threads=False)
                for batch in batches:
                    cut = min(left, len(batch))
                    left -= cut
                    if cut < len(batch):
                        yield table_rows(batch.slice(cut), self.columns, self.path, row + cut)
                    row += len(batch)
        except (pa.ArrowException, OSError, KeyError) as error:
            raise InputError(f"{self.path} cannot be read as Parquet ({error!s:.200}); write it again") from error


Part = ArrayPart | ParquetPart


def table_rows(batch: Any, columns: Columns, where: str, first_row: int) -> Rows:
    """Convert a record batch to inputs (n, d) and labels (n, 1), or raise an error that names the cell."""
    names = [*columns.features, columns.target]
    values = np.empty((len(batch), len(names)))
    for j, name in enumerate(names):
        try:
            values[:, j] = batch.column(name).cast(pa.float64()).to_numpy(zero_copy_only=False)
        except (pa.ArrowException, ValueError) as error:
            raise InputError(
                f"{where}: column {name!r} is not made of numbers ({error!s:.80}); leave it out of the features"
            ) from error
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f"{where}: row {first_row + row} has {values[row, column]} in column {names[column]!r}; drop such rows or "
            "fill the values in before"
        )
    return np.ascontiguousarray(values[:, :-1]), np.ascontiguousarray(values[:, -1:])


def find_files(dataset: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """List the Parquet files of a folder, a pattern or a list, sorted by name (a list: in its order)."""
    if not isinstance(dataset, str | os.PathLike):
        return [os.fspath(path) for path in dataset]
    path = Path(dataset)
    found = sorted(map(str, path.glob("**/*.parquet"))) if path.is_dir() else sorted(glob.glob(os.fspath(dataset)))
    if not found:
        raise InputError(
            f"{os.fspath(dataset)!r} matches no Parquet file; give a folder, a pattern such as 'h/*.parquet'"
        )
    return found


def columns_of(path: str, target: str, features: Sequence[str] | None) -> Columns:
    """Return the target and the features of a Parquet file, by default all other columns if they are numbers."""
    return columns_among(_schema(path), target, features, path)


def columns_in(path: str) -> list[str]:
    """List the names of all columns of a file."""
    return list(_schema(path).names)


def not_numbers_in(path: str, names: Sequence[str]) -> dict[str, str]:
    """Return those of the columns that are not numbers, each with a description for a message."""
    return _not_numbers(_schema(path), names)


def _schema(path: str) -> Any:
    try:
        return pa.parquet.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{path} cannot be read as Parquet ({error!s:.200}); histories are read from Parquet files only"
        ) from error


def columns_among(schema: Any, target: str, features: Sequence[str] | None, where: str) -> Columns:
    """Return the target and the features of an Arrow schema, as :func:`columns_of` does for a file."""
    for name in (target, *(features or ())):
        if name not in schema.names:
            raise InputError(f"{where} has no column {name!r}; it has {', '.join(schema.names):.300}")
    if features is not None:
        return Columns(target, tuple(features))
    others = [name for name in schema.names if name != target]
    wrong = _not_numbers(schema, others)
    if wrong:
        advice = "name those to use with features=[...]"
        raise InputError(f"{where} has columns that are not numbers: {', '.join(wrong.values())}; {advice}")
    return Columns(target, tuple(others))


def _not_numbers(schema: Any, names: Sequence[str]) -> dict[str, str]:
    """Return the columns of text, times and the like, with their types."""
    kinds = {name: schema.field(name).type for name in names}
    return {name: f"{name!r} ({kind})" for name, kind in kinds.items() if not _is_number(kind)}


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def parquet_parts(paths: Sequence[str], columns: Columns, skip: int, part_rows: int) -> Iterator[ParquetPart]:
    """Yield parts of whole row groups, as few as make ``part_rows`` rows, without the first ``skip`` rows of all."""
    for path in paths:
        with pa.parquet.ParquetFile(path) as file:
            sizes = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
        groups: list[int] = []
        n_rows = 0
        for g, size in enumerate(sizes):
            groups.append(g)
            n_rows += size
            if n_rows >= part_rows or g == len(sizes) - 1:
                cut = min(skip, n_rows)
                skip -= cut
                if cut < n_rows:
                    yield ParquetPart(path, tuple(groups), cut, columns)
                groups, n_rows = [], 0


def array_parts(rows: Iterable[Rows], part_rows: int) -> Iterator[ArrayPart]:
    """Yield parts of ``part_rows`` rows, regardless of the sizes of the given arrays."""
    held: list[Rows] = []
    n_held = 0
    for x, y in rows:
        held.append((x, y))
        n_held += len(x)
        while n_held >= part_rows:
            whole = _joined(held)
            yield ArrayPart(whole[0][:part_rows].copy(), whole[1][:part_rows].copy())
            held = [(whole[0][part_rows:], whole[1][part_rows:])]
            n_held -= part_rows
    if n_held:
        yield ArrayPart(*_joined(held))


def first_rows(parts: Iterable[Rows], n: int) -> tuple[Rows, Iterator[Rows]]:
    """Return the first ``n`` rows (fewer if there are no more), and an iterator over the others."""
    iterator = iter(parts)
    held: list[Rows] = []
    while sum(len(x) for x, _ in held) < n:
        more = next(iterator, None)
        if more is None:
            break
        held.append(more)
    if not held:
        raise InputError("the history has no rows; nothing can be learned from it")
    x, y = _joined(held)

    def others() -> Iterator[Rows]:
        if len(x) > n:
            yield x[n:], y[n:]
        yield from iterator

    return (x[:n], y[:n]), others()


def _joined(held: list[Rows]) -> Rows:
    return np.concatenate([x for x, _ in held]), np.concatenate([y for _, y in held])
