"""What every source of records can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any, NamedTuple, Self

from iegp.errors import InputError
from iegp.readers.number_style import PLAIN, NumberStyle
from iegp.readers.records import Portions, Position, Records

Schema = dict[str, Any]
"""Ready for JSON: ``{"format", "columns": {name: "number" | "text" | None}}``, and ``"delimiter"`` for CSV."""


class Request(NamedTuple):
    """What a caller wants of a source; see ``open_source``."""

    position: Position | None
    schema: Schema | None
    keep_text: Collection[str]
    drop: Collection[str]
    style: NumberStyle = PLAIN


class Source(ABC):
    """Records in order of arrival. A context manager: leaving it closes it.

    A source inherits from this class, gives batches of any size (:meth:`_next_batch`), and says what it knows.
    """

    _portions: Portions | None = None

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Columns known so far, dropped ones included. A live source knows none before its first record is read."""

    @property
    def is_live(self) -> bool:
        """Whether records arrive over time: a pipe or a followed file."""
        return False

    @property
    @abstractmethod
    def size(self) -> int | None:
        """Bytes on disk; None for a pipe."""

    @property
    @abstractmethod
    def bytes_read(self) -> int:
        """How far reading has come, out of ``size``, for a progress bar."""

    @abstractmethod
    def schema(self) -> Schema:
        """What was decided about the columns. Opening a source with it decides nothing anew."""

    @abstractmethod
    def close(self) -> None:
        """Close files."""

    @abstractmethod
    def _next_batch(self) -> Records | None:
        """The next records, as many as are available; None at the end."""

    def read(self, at_most: int) -> Records | None:
        """At least one record, good or bad, and at most that many; None at the end.

        Less than ``at_most`` does not mean that the end is near. A live source waits for a complete record, then gives
        those that wait. A batch may be empty: when the source was woken up, or where only blank lines were left.
        """
        if at_most < 1:
            raise InputError(f"at_most must be at least 1, got {at_most}: a batch has at least one record.")
        if self._portions is None or self._portions.is_done:
            batch = self._next_batch()
            if batch is None:
                return None
            self._portions = Portions(batch)
        return self._portions.take(at_most)

    def place_of(self, line: int) -> tuple[str, int] | None:
        """File, and line in it, where several files are read as one; else None."""
        del line
        return None

    def unread(self, n_records: int) -> None:
        """Give the last ``n_records`` records of the last :meth:`read` again."""
        if self._portions is not None:
            self._portions.give_back(n_records)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
