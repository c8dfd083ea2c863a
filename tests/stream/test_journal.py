"""The journal reaches the disk within a stated time, and says so if it does not."""

from __future__ import annotations

import errno
import os
import threading

import pytest

from iegp.errors import InputError
from iegp.stream import journal as module
from iegp.stream.journal import Journal

BATCH = {"columns": {}, "lines": [1]}


@pytest.fixture
def flushed(monkeypatch) -> threading.Event:
    """Set whenever something is flushed to disk."""
    event, real = threading.Event(), os.fsync

    def fsync(descriptor: int) -> None:
        real(descriptor)
        event.set()

    monkeypatch.setattr(module.os, "fsync", fsync)
    return event


def test_batches_are_flushed_though_nothing_follows(tmp_path, monkeypatch, flushed):
    assert module.SYNC_SECONDS == 1.0, "the documentation says so"
    monkeypatch.setattr(module, "SYNC_SECONDS", 0.05)
    journal = Journal(tmp_path / "m.journal")
    for _ in range(2):
        journal.append(BATCH)
        assert not flushed.is_set()
        assert flushed.wait(60.0)
        flushed.clear()
    journal.close()


def test_what_waits_is_flushed_at_the_end(tmp_path, flushed):
    journal = Journal(tmp_path / "m.journal")
    journal.append(BATCH)
    journal.close()
    assert flushed.is_set()


def test_a_disk_that_fails_in_the_background_stops_the_run(tmp_path, monkeypatch):
    failed = threading.Event()

    def fsync(_: int) -> None:
        failed.set()
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(module, "SYNC_SECONDS", 0.01)
    monkeypatch.setattr(module.os, "fsync", fsync)
    journal = Journal(tmp_path / "m.journal")
    journal.append(BATCH)
    assert failed.wait(60.0)
    threads = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    for thread in threads:
        thread.join()
    with pytest.raises(OSError, match=r"m\.journal") as caught:
        journal.append(BATCH)
    assert caught.value.errno == errno.EIO
    journal.close()


def test_a_pipe_in_its_place_is_refused(tmp_path):
    os.mkfifo(tmp_path / "m.journal")
    with pytest.raises(InputError, match="not a plain file"):
        Journal(tmp_path / "m.journal")
