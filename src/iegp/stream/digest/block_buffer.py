"""Labelled rows waiting for their block to be full, so that sums are always taken over the same rows together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iegp.errors import InputError
from iegp.storage.schema import Field
from iegp.stream.stored import ANY_NUMBER, take
from iegp.typing import Arrays, Float

BLOCK = 512


class BlockBuffer:
    """Up to a block of rows of ``width`` numbers."""

    def __init__(self, width: int) -> None:
        self._buffer: Float = np.zeros((BLOCK, width))
        self._filled = 0

    @property
    def rows(self) -> Float:
        """Those that wait."""
        return self._buffer[: self._filled]

    def add(self, rows: Float) -> Iterator[Float]:
        """Take rows in; yields each block that became full, valid until the next."""
        while len(rows):
            taken = rows[: BLOCK - self._filled]
            self._buffer[self._filled : self._filled + len(taken)] = taken
            self._filled += len(taken)
            rows = rows[len(taken) :]
            if self._filled == BLOCK:
                self._filled = 0
                yield self._buffer

    def arrays(self, prefix: str) -> Arrays:
        return {f"{prefix}.rows": self.rows.copy()}

    def load(self, arrays: Arrays, prefix: str) -> None:
        rows = take(arrays, f"{prefix}.rows", Field((None, self._buffer.shape[1]), **ANY_NUMBER))
        if len(rows) >= BLOCK:
            raise InputError(f"{len(rows)} rows wait in the stored digest, more than fit: the checkpoint is damaged")
        self._buffer[: len(rows)] = rows
        self._filled = len(rows)
