"""A write-ahead journal for input that cannot be read again.

Every batch of a pipe is appended here before it is answered. After a crash the batches since the last checkpoint are
taken from here, cut exactly as they were, so that they give the same bits. A batch is followed by a mark once its
answer is out; after a crash only batches without a mark are answered again on standard output.

A record is ``length, sequence number, checksum, content``. A record that was cut off by the crash was never answered;
it is dropped, and its sender has no answer to it.

What is written survives the death of the process at once, and a power cut ``SYNC_SECONDS`` later at most: it is flushed
to disk in the background, so that no answer waits for the disk.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import struct
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from iegp.errors import InputError
from iegp.storage.model_file import naming

_HEAD = struct.Struct("<IQI")
# A longer record was never written: batches are bounded.
_LONGEST = 1 << 30
_READ = 1 << 26
# Between writing and flushing to disk; 0: flushed before the run continues.
SYNC_SECONDS = 1.0


class Journal:
    """Numbered batches in a file beside the model; ``sequence`` is the number of the last one."""

    def __init__(self, path: Path, sequence: int = 0) -> None:
        self.path = path
        self.sequence = sequence
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        try:
            self._descriptor = os.open(path, flags, 0o666)
        except OSError as error:
            raise InputError(
                f"the journal {path} cannot be opened ({error.strerror}); it must be a plain file"
            ) from error
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            os.close(self._descriptor)
            raise InputError(f"the journal {path} is not a plain file; remove it, or choose another --save")
        self._timer: threading.Timer | None = None
        self._failure: OSError | None = None

    def append(self, batch: dict[str, Any]) -> None:
        """Store a batch before it is answered."""
        self.sequence += 1
        self._write(self.sequence, json.dumps(batch, separators=(",", ":")).encode())

    def mark_answered(self) -> None:
        """The last batch has been answered."""
        self._write(self.sequence, b"")

    def _write(self, sequence: int, content: bytes) -> None:
        record = _HEAD.pack(len(content), sequence, zlib.crc32(content)) + content
        with naming(self.path):
            written = os.write(self._descriptor, record)
            if written != len(record):
                os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - written)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._sync_soon()

    def _sync_soon(self) -> None:
        """Flush what was written within ``SYNC_SECONDS``; raises what the last flush failed with."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if SYNC_SECONDS == 0.0:
            os.fsync(self._descriptor)
        elif self._timer is None:
            self._timer = threading.Timer(SYNC_SECONDS, self._sync)
            self._timer.daemon = True
            self._timer.start()

    def _sync(self) -> None:
        # Before the flush: what is written during it needs another.
        self._timer = None
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            self._failure = error

    def batches_after(self, sequence: int) -> Iterator[tuple[dict[str, Any], bool]]:
        """Batches after this number and whether each was answered; a torn end is cut off."""
        found: dict[int, dict[str, Any]] = {}
        answered: set[int] = set()
        end = 0
        for number, body, stop in self._records():
            end = stop
            if body:
                found[number] = json.loads(body)
            else:
                answered.add(number)
        self._cut(end)
        for number in sorted(found):
            if number > sequence:
                self.sequence = number
                yield found[number], number in answered

    def skip(self) -> None:
        """Number the next batch after all that are there, which belong to another run."""
        self.sequence = max((number for number, _, _ in self._records()), default=self.sequence)

    def _records(self) -> Iterator[tuple[int, bytes, int]]:
        """Number, content and end of each record, up to one that is torn."""
        content, position = self._content(), 0
        while position + _HEAD.size <= len(content):
            length, number, checksum = _HEAD.unpack_from(content, position)
            stop = position + _HEAD.size + length
            body = content[position + _HEAD.size : stop]
            if length > _LONGEST or len(body) < length or zlib.crc32(body) != checksum:
                return
            position = stop
            yield number, body, stop

    def _content(self) -> bytes:
        """All of it: one read gives two GiB at most, and what it left out would look torn off."""
        pieces: list[bytes] = []
        at = 0
        while piece := os.pread(self._descriptor, _READ, at):
            pieces.append(piece)
            at += len(piece)
        return b"".join(pieces)

    def clear(self) -> None:
        """A checkpoint holds everything: start over. Numbers continue, so that an old record is known as such."""
        self._cut(0)

    def _cut(self, position: int) -> None:
        with naming(self.path):
            os.ftruncate(self._descriptor, position)

    def close(self) -> None:
        timer = self._timer
        if timer is not None:
            timer.cancel()
            timer.join()
            with contextlib.suppress(OSError):  # a run that is over has a checkpoint; one that failed says why
                os.fsync(self._descriptor)
        os.close(self._descriptor)
