"""Rows of an array in an .npz file as records: columns x0, x1, ..., and one more array beside it."""

from __future__ import annotations

import zlib
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from iegp.errors import InputError
from iegp.readers.records import START, Position, Records, object_array
from iegp.readers.source import Schema, Source
from iegp.typing import Float

_UNREADABLE = (KeyError, ValueError, OSError, EOFError, MemoryError, BadZipFile, zlib.error)


class NpzSource(Source):
    """An array X, rows first, and the array ``label`` if it is named. Positions count rows, as those of Parquet."""

    def __init__(self, path: str | Path, label: str | None = None, position: Position = START) -> None:
        self._path, self._label, self._at = Path(path), label, position.record
        self._size = self._path.stat().st_size
        try:
            with open(path, "rb") as file:
                stored = np.load(file, allow_pickle=False)
                if not isinstance(stored, np.lib.npyio.NpzFile):
                    raise ValueError("it is a single array, as np.save writes it")
                self._x = self._checked(stored["X"])
                self._labels = None if label is None else object_array(stored[label].tolist())
                shape = None if label is None else stored[label].shape
        except _UNREADABLE as error:
            raise InputError(f"{path} cannot be read ({error}); it needs an array X, rows first") from error
        if shape is not None and shape != (len(self._x),):
            raise InputError(f"{label} in {path} has shape {shape}, not one entry per row")

    def _checked(self, x: Float) -> Float:
        if x.ndim != 2 or x.shape[1] == 0 or x.dtype.kind not in "biuf":
            raise ValueError(f"X has shape {x.shape} and type {x.dtype}; rows of real numbers are needed")
        return np.asarray(x, dtype=np.float64)

    @property
    def names(self) -> tuple[str, ...]:
        return (*(f"x{number}" for number in range(self._x.shape[1])), *([] if self._label is None else [self._label]))

    @property
    def size(self) -> int | None:
        return self._size

    @property
    def bytes_read(self) -> int:
        return int(self._size * self._at / max(1, len(self._x)))

    def schema(self) -> Schema:
        return {"format": "npz", "columns": {name: "text" if name == self._label else "number" for name in self.names}}

    def close(self) -> None:
        """The file is closed already."""

    def _next_batch(self) -> Records | None:
        start, stop = self._at, len(self._x)
        if start >= stop:
            return None
        self._at = stop
        columns = dict(zip(self.names, self._x[start:].T, strict=False))
        if self._label is not None and self._labels is not None:
            columns[self._label] = self._labels[start:]
        rows = np.arange(start + 1, stop + 1)
        ends = (Position(n, n + 1, n) for n in (start, stop))
        return Records(columns, rows, rows, rows + 1, [], *ends)
