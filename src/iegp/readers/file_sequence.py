"""Several files read one after the other, as one source."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace

from iegp.errors import InputError
from iegp.readers.records import START, BadRecord, Position, Records, excerpt
from iegp.readers.source import Schema, Source

OpenFile = Callable[[str, Position | None, Schema | None], Source]


class FileSequence(Source):
    """Records of files of one format with the same columns.

    Offsets, lines and numbers of records count on from file to file. Where each file begins is part of the schema, so
    that reading resumes in the middle of one without looking at those before.
    """

    def __init__(
        self, paths: Sequence[str], open_file: OpenFile, position: Position | None, schema: Schema | None
    ) -> None:
        self._paths, self._open = tuple(paths), open_file
        self._sizes = [os.path.getsize(path) for path in paths]
        self._begins = [START] if schema is None else _begins(schema, self._paths)
        goal = position or START
        self._at = bisect_right(self._begins, goal.offset, key=lambda begin: begin.offset) - 1
        self._own = {} if schema is None else {name: entry for name, entry in schema.items() if name != "files"}
        self._end = goal
        self._source = self._open_at(_since(goal, self._begins[self._at]) if position is not None else None)

    def _open_at(self, position: Position | None) -> Source:
        return self._open(self._paths[self._at], position, self._own or None)

    @property
    def names(self) -> tuple[str, ...]:
        return self._source.names

    @property
    def size(self) -> int | None:
        return sum(self._sizes)

    @property
    def bytes_read(self) -> int:
        return sum(self._sizes[: self._at]) + self._source.bytes_read

    def place_of(self, line: int) -> tuple[str, int] | None:
        at = bisect_right(self._begins, line, key=lambda begin: begin.line) - 1
        return self._paths[at], line - self._begins[at].line + 1

    def schema(self) -> Schema:
        files = [[path, *begin] for path, begin in zip(self._paths, self._begins, strict=False)]
        return self._source.schema() | {"files": files}

    def close(self) -> None:
        self._source.close()

    def _next_batch(self) -> Records | None:
        while (batch := self._source._next_batch()) is None:
            if self._at + 1 == len(self._paths):
                return None
            self._next_file()
        batch = _moved(batch, self._begins[self._at])
        self._end = batch.end
        return batch

    def _next_file(self) -> None:
        self._own = self._source.schema()
        self._source.close()
        self._at += 1
        self._begins[self._at :] = [self._end]
        self._source = self._open_at(None)


def _moved(batch: Records, begin: Position) -> Records:
    """Records of a file, counted from the first file on."""
    if begin == START:
        return batch
    return replace(
        batch,
        lines=batch.lines + (begin.line - 1),
        offsets=batch.offsets + begin.offset,
        next_lines=batch.next_lines + (begin.line - 1),
        bad=[_moved_bad(record, begin) for record in batch.bad],
        start=_after(batch.start, begin),
        end=_after(batch.end, begin),
    )


def _moved_bad(record: BadRecord, begin: Position) -> BadRecord:
    return record._replace(line=record.line + begin.line - 1, after=_after(record.after, begin))


def _after(own: Position, begin: Position) -> Position:
    return Position(own.offset + begin.offset, own.line + begin.line - 1, own.record + begin.record)


def _since(position: Position, begin: Position) -> Position:
    return Position(position.offset - begin.offset, position.line - begin.line + 1, position.record - begin.record)


def _begins(schema: Schema, paths: tuple[str, ...]) -> list[Position]:
    """Where the files began that were read before, which must still be the first ones."""
    try:
        known = [(str(path), Position(*map(int, begin))) for path, *begin in schema["files"]]
        if known[0][1] != START:
            raise ValueError("the first file begins later")
    except (LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"The stored schema {excerpt(repr(schema))} is not one of several files ({error}). Give the source it"
            " belongs to, or start anew."
        ) from error
    for number, (path, _) in enumerate(known):
        if number >= len(paths) or paths[number] != path:
            now = repr(paths[number]) if number < len(paths) else "missing"
            raise InputError(
                f"File number {number + 1} was {path!r} when it was read before, and now is {now}. New files must come"
                " after those that were read; bring the old ones back, or start anew."
            )
    return [begin for _, begin in known]
