"""Sums over equal spells of a stream: the raw material of every score curve, in fixed memory."""

from __future__ import annotations

import numpy as np

from iegp.storage.schema import Field
from iegp.stream.stored import ANY_NUMBER, POWER, take
from iegp.typing import Arrays, Float, Int

MOST_SPELLS = 512
# Row numbers wait as floats, which are exact below it.
FARTHEST = 2.0**53


class Spells:
    """Sums of named columns over rows ``[i * length, (i + 1) * length)``; the length doubles when there is no room.

    Sums of each spell rather than sums so far: differences of those would lose the small errors of a long run behind
    one large error at its start.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names, self.length = names, 1
        self.sums: Float = np.zeros((MOST_SPELLS, len(names)))

    def add(self, row: Int, values: Float) -> None:
        """Add ``values`` (n, len(names)) to the spells of their rows, in any order of rows."""
        if len(row) == 0:
            return
        while row.max() // self.length >= MOST_SPELLS:
            self.sums[: MOST_SPELLS // 2] = self.sums[0::2] + self.sums[1::2]
            self.sums[MOST_SPELLS // 2 :] = 0.0
            self.length *= 2
        np.add.at(self.sums, row // self.length, values)

    def curves(self) -> dict[str, Float]:
        return {name: self.sums[:, i].copy() for i, name in enumerate(self.names)}

    def arrays(self, prefix: str) -> Arrays:
        return {f"{prefix}.sums": self.sums.copy(), f"{prefix}.length": np.array([self.length], dtype=np.int64)}

    def load(self, arrays: Arrays, prefix: str) -> None:
        self.sums = take(arrays, f"{prefix}.sums", Field(self.sums.shape, **ANY_NUMBER))
        self.length = int(take(arrays, f"{prefix}.length", POWER)[0])
