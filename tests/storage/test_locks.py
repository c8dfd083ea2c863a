"""One run at a time saves to a model, and a lock ends with the process that holds it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from iegp.errors import InputError
from iegp.storage import locks
from iegp.storage.locks import only_run

HOLD = """
import sys, time
from pathlib import Path
from iegp.storage.locks import only_run
with only_run(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_second_process_is_refused_and_a_killed_process_holds_nothing(tmp_path):
    model = tmp_path / "m"
    with subprocess.Popen([sys.executable, "-c", HOLD, str(model)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        for _ in range(2):
            with pytest.raises(InputError, match=rf"m is in use: process {holder.pid} saves to it"), only_run(model):
                pass
        holder.send_signal(signal.SIGKILL)
        holder.wait(timeout=60)
        assert (tmp_path / ".m.lock").exists()
        with only_run(model):
            assert (tmp_path / ".m.lock").read_text() == f"{os.getpid()}\n"
    assert not list(tmp_path.iterdir())


def test_two_in_one_process_and_models_apart(tmp_path):
    taken = pytest.raises(InputError, match=f"process {os.getpid()}")
    with only_run(tmp_path / "m"), only_run(tmp_path / "other"), taken, only_run(tmp_path / "m"):
        pass
    with only_run(tmp_path / "m"):
        pass


def test_a_lock_that_was_removed_while_it_was_opened_is_not_taken_for_one(tmp_path, monkeypatch):
    """The first run ends, and removes the file, between the opening and the locking of the second."""
    path, real, removed = tmp_path / ".m.lock", locks.try_lock, []

    def try_lock(descriptor: int) -> bool | None:
        if not removed:
            removed.append(path.unlink())
        return real(descriptor)

    monkeypatch.setattr(locks, "try_lock", try_lock)
    with only_run(tmp_path / "m"):
        assert path.exists()


def test_without_locks_runs_are_not_kept_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "fcntl", None)
    with only_run(tmp_path / "m"), only_run(tmp_path / "m"):
        pass
