"""What CSV and JSON lines share: records cut from bytes, parsed span by span, given in portions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from iegp.errors import InputError
from iegp.readers.cutting import Cutter, Place, RecordEnds, Span, Uncut
from iegp.readers.feeds import Feed, FeedBroken
from iegp.readers.layout import uncut_batch
from iegp.readers.records import Columns, Position, Records
from iegp.readers.source import Source


class TextSource(Source):
    """A source whose records are lines, or nearly so. Parsing is left to the heirs."""

    def __init__(self, label: str, feed: Feed, record_ends: RecordEnds, start: Position) -> None:
        self._label = label
        self._n_records = start.record
        self._cutter = Cutter(feed, record_ends, Place(start.offset, start.line))
        self._pieces: list[Span | Uncut] = []  # cut already, to be parsed before anything else
        self._parsed: Iterator[Records] = iter(())

    @abstractmethod
    def prepare(self) -> bool:
        """Learn what must be known before the first record can be parsed. False if woken up before that."""

    @abstractmethod
    def _parse(self, span: Span) -> Records:
        """The records of a span; ``self._n_records`` came before it."""

    @property
    @abstractmethod
    def _batch_size(self) -> int:
        """Records to parse at a time: a bound on memory, whatever the chunk holds."""

    @abstractmethod
    def _no_rows(self) -> Columns:
        """Columns without rows."""

    @property
    def is_live(self) -> bool:
        return self._cutter.feed.is_live

    @property
    def size(self) -> int | None:
        return self._cutter.feed.size

    @property
    def bytes_read(self) -> int:
        return self._cutter.feed.bytes_read

    def close(self) -> None:
        self._cutter.feed.close()

    def _next_batch(self) -> Records | None:
        if not self.prepare():
            return self._nothing()
        while True:
            batch = next(self._parsed, None)
            if batch is not None:
                self._n_records = batch.end.record
                if batch.n_records or not self.is_live:
                    return batch
                continue
            piece = self._pieces.pop(0) if self._pieces else self._take()
            if piece is None:
                return None if self._cutter.has_ended else self._nothing()
            if isinstance(piece, Uncut):
                self._parsed = iter([uncut_batch(piece, self._no_rows(), self._n_records)])
            else:
                # lazily, since each part must know how many records came before it
                self._parsed = (self._parse(part) for part in piece.parts(self._batch_size))

    def _take(self, at_most: int | None = None) -> Span | Uncut | None:
        try:
            return self._cutter.take(at_most)
        except FeedBroken as error:
            raise self._broken(error) from error

    def _broken(self, error: FeedBroken) -> InputError:
        offset, line = self._cutter.place
        return InputError(
            f"{self._label}: {error}. Everything before byte {offset} (line {line}) was read."
            " Restore the file and go on from there."
        )

    def _nothing(self) -> Records:
        place = Position(*self._cutter.place, self._n_records)
        return Records.none(self._no_rows(), place, place)
