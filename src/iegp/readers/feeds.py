"""Sources of bytes with one interface: a file, a compressed file, a file that grows, a pipe."""

from __future__ import annotations

import contextlib
import gzip
import os
import select
import zlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import IO

from iegp.errors import InputError

CHUNK = 1 << 20
"""Bytes read at a time."""
POLL_SECONDS = 0.1
"""Seconds between two looks at the end of a followed file."""
_PIPE_READ = 1 << 16


class FeedBroken(Exception):
    """No further byte can be had; what came before was delivered. The reader turns it into an InputError with place."""


class Feed(ABC):
    """A sequence of bytes, by default of an open file."""

    is_live = False
    _file: IO[bytes]

    @property
    def size(self) -> int | None:
        """Bytes on disk, if there is a file."""
        return os.fstat(self._file.fileno()).st_size

    @property
    def bytes_read(self) -> int:
        """How many of them were taken from the disk."""
        return self._file.tell()

    @abstractmethod
    def read(self) -> bytes | None:
        """Some bytes; empty at the end. A live feed waits for them; None if it was woken up before any came."""

    def is_waiting(self) -> bool:
        """Whether ``read`` of a live feed would return at once."""
        return False

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class PlainFile(Feed):
    """A file that is complete; reading stops at its end."""

    def __init__(self, path: Path, offset: int) -> None:
        _check_boundary(path, offset)
        self._file = path.open("rb", buffering=0)
        self._file.seek(offset)

    def read(self) -> bytes | None:
        try:
            return self._file.read(CHUNK)
        except OSError as error:
            raise FeedBroken(f"reading failed ({error})") from error


class GzipFile(Feed):
    """A compressed file. Offsets count decompressed bytes, so resuming somewhere means reading all before it again."""

    def __init__(self, path: Path, offset: int) -> None:
        self._file = path.open("rb")
        self._content = gzip.GzipFile(fileobj=self._file)
        self._damage: FeedBroken | None = None
        self._skip(offset)

    def read(self) -> bytes | None:
        return self._gather(CHUNK)

    def _gather(self, n_bytes: int) -> bytes:
        """Pieces up to so many bytes; what comes before damage is given first, the damage is reported after it."""
        pieces, n_left = [], n_bytes
        while n_left and self._damage is None and (piece := self._piece(n_left)):
            pieces.append(piece)
            n_left -= len(piece)
        if not pieces and self._damage is not None:
            raise self._damage
        return b"".join(pieces)

    def _piece(self, at_most: int) -> bytes:
        try:
            return self._content.read1(at_most)
        except (OSError, EOFError, zlib.error) as error:
            self._damage = FeedBroken(f"the compressed data is damaged or cut short ({error})")
            return b""

    def _skip(self, n_bytes: int) -> None:
        with contextlib.suppress(FeedBroken):
            while n_bytes and (piece := self._gather(min(CHUNK, n_bytes))):
                n_bytes -= len(piece)
        if n_bytes:
            self.close()
            raise InputError(_shorter(self._file.name, f"{n_bytes} decompressed bytes"))

    def close(self) -> None:
        self._content.close()
        super().close()


class FollowedFile(PlainFile):
    """A file that another program appends to: at its end reading waits for more, without a limit."""

    is_live = True

    def __init__(self, path: Path, offset: int, wakeup: int | None) -> None:
        super().__init__(path, offset)
        self._path, self._wakeup = path, wakeup

    def read(self) -> bytes | None:
        while True:
            if piece := super().read():
                return piece
            self._check_that_it_is_the_same_file()
            if _readable([] if self._wakeup is None else [self._wakeup], POLL_SECONDS):
                return None

    def _check_that_it_is_the_same_file(self) -> None:
        now, at = os.fstat(self._file.fileno()), self._file.tell()
        if now.st_size < at:
            raise FeedBroken(f"the followed file shrank from {at} to {now.st_size} bytes: it was rotated or rewritten")
        try:
            there = self._path.stat()
        except FileNotFoundError:
            raise FeedBroken("the followed file was removed or renamed") from None
        except OSError as error:
            raise FeedBroken(f"reading failed ({error})") from error
        if (there.st_ino, there.st_dev) != (now.st_ino, now.st_dev):
            raise FeedBroken("the followed file was replaced by another of the same name: it was rotated")

    def is_waiting(self) -> bool:
        return (self.size or 0) > self._file.tell()


class Pipe(Feed):
    """A pipe, a terminal or a socket, by its descriptor. What is in it is taken; nothing is waited for without need."""

    is_live = True
    size = None
    bytes_read = 0

    def __init__(self, descriptor: int, wakeup: int | None, *, owned: bool) -> None:
        self._descriptor, self._owned = descriptor, owned
        self._watched = [descriptor] if wakeup is None else [descriptor, wakeup]

    def read(self) -> bytes | None:
        if _readable(self._watched, None) - {self._descriptor}:
            return None
        try:
            piece = os.read(self._descriptor, _PIPE_READ)
        except OSError as error:
            raise FeedBroken(f"reading failed ({error})") from error
        self.bytes_read += len(piece)
        return piece

    def is_waiting(self) -> bool:
        return bool(_readable([self._descriptor], 0.0))

    def close(self) -> None:
        if self._owned:
            os.close(self._descriptor)
            self._owned = False


def _check_boundary(path: Path, offset: int) -> None:
    """A record to resume at starts after a line end, or the file is not the one that was being read."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < offset:
            raise InputError(_shorter(str(path), f"{offset - size} bytes"))
        file.seek(max(offset - 1, 0))
        before = file.read(1)
    if 0 < offset < size and before != b"\n":
        raise InputError(
            f"{str(path)!r} has no line end before byte {offset}, where reading is to resume: it was changed since."
            " Restore the file, or start anew without the old position."
        )


def _shorter(path: str, missing: str) -> str:
    return (
        f"{path!r} is {missing} shorter than when it was read before: it was changed since."
        " Restore the file, or start anew without the old position."
    )


def _readable(descriptors: list[int], seconds: float | None) -> set[int]:
    """The descriptors with something to read, or closed at the other end. Waits for one; None waits for ever."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(None if seconds is None else seconds * 1000)}
