"""What every source of records can do."""

from __future__ import annotations

from collections.abc import Collection
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from iegp.readers.batch import Records
from iegp.readers.position import Position

Schema = dict[str, Any]
"""Ready for JSON: ``{"format", "columns": {name: "number" | "text" | None}}``, and ``"delimiter"`` for CSV."""


class Request(NamedTuple):
    """What a caller wants of a source; see ``open_source``."""

    position: Position | None
    schema: Schema | None
    keep_text: Collection[str]
    drop: Collection[str]


class Source(Protocol):
    """Records in order of arrival. A context manager: leaving it closes it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Columns known so far, dropped ones included. A live source knows none before its first record is read."""

    @property
    def is_live(self) -> bool:
        """A pipe or a followed file: records come when they come."""

    @property
    def n_total(self) -> int | None:
        """Number of records, where the source knows it in advance (Parquet)."""

    @property
    def size(self) -> int | None:
        """Bytes on disk; None for a pipe."""

    @property
    def bytes_read(self) -> int:
        """Of ``size``: how far reading has come, for a progress bar."""

    def schema(self) -> Schema:
        """What was decided about the columns. Opening a source with it decides nothing anew."""

    def read(self, at_most: int) -> Records | None:
        """At least one record, good or bad, and at most that many; None at the end.

        Less than ``at_most`` does not mean that the end is near. A live source waits for a complete record, then gives
        those that wait. A batch may be empty: when the source was woken up, or where only blank lines were left.
        """

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
