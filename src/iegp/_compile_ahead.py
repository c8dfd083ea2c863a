"""A second process that compiles, while this one does too, what this one will need next.

A first call needs some thirty functions, one after another, and compiles on one core. For the calls in
``compile_plan.json`` it is known which ones. When the first of them is found not to be compiled, a second process
begins with the last of the plan and goes backwards; both keep what they compile on disk, so that each is compiled once,
and the processes meet somewhere in the middle.

The processes tell each other what they begin with: a line on the second one's input names a file of the cache that this
process is about to write; its output has ``begin`` and ``done`` before names. If the second process fails, this one
compiles the rest. It ends with its plan or with this process, whichever is first: its input is closed then.

``IEGP_COMPILE_PROCESSES=1`` turns the second process off.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import subprocess
import sys
import threading
from contextlib import suppress

PROCESSES = "IEGP_COMPILE_PROCESSES"
PLANS = ("IEGPRegressor", "IEGPClassifier", "stream")
# Seconds to wait for what the second process has begun; a function takes some, more on a busy machine.
PATIENCE = 60.0
_PROGRAM = (
    "import sys; plan, *sys.path = sys.argv[1:]; from iegp._compile_helper import compile_backwards; "
    "compile_backwards(plan)"
)


class Helper:
    """The second process, as this one sees it."""

    def __init__(self, command: list[str]) -> None:
        self._owner = os.getpid()
        self._state = threading.Condition()
        self._begun: set[str] = set()
        self._done: set[str] = set()
        self._is_over = False
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        threading.Thread(target=self._listen, daemon=True, name="iegp-compile-ahead").start()
        atexit.register(self.stop)

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines, suppress(OSError, ValueError):
            for line in lines:
                verb, _, name = line.strip().partition(" ")
                with self._state:
                    if verb in ("begin", "done"):
                        (self._begun if verb == "begin" else self._done).add(name)
                    self._state.notify_all()
        self.process.wait()
        with self._state:
            self._is_over = True
            self._state.notify_all()

    def is_done(self, name: str) -> bool:
        """Whether the second process has compiled that, or does so soon: then wait. If not, it leaves it alone."""
        if os.getpid() != self._owner:
            return False  # a fork has the object, but no thread that listens
        with self._state:
            if name in self._begun:
                self._state.wait_for(lambda: name in self._done or self._is_over, PATIENCE)
                return name in self._done
            if not self._is_over:
                self._tell(name)
            return False

    def _tell(self, name: str) -> None:
        assert self.process.stdin is not None
        with suppress(OSError, ValueError):
            self.process.stdin.write(f"{name}\n")
            self.process.stdin.flush()

    def stop(self) -> None:
        """End the second process, and wait until it has ended."""
        if os.getpid() != self._owner:
            return
        atexit.unregister(self.stop)
        assert self.process.stdin is not None
        with suppress(OSError, ValueError):
            self.process.stdin.close()
        self.process.kill()
        self.process.wait()


_lock = threading.Lock()
_is_forked = False
_expected: list[str] = []
_helpers: list[Helper] = []


def _forget() -> None:
    """A process that was forked off is another one's worker: it has no second process, and starts none."""
    global _lock, _is_forked
    _lock, _is_forked = threading.Lock(), True
    _helpers[:] = []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def expect(plan: str) -> None:
    """Say which calls follow, should something have to be compiled: the name of a plan, or of what has none."""
    if plan in PLANS and not _expected:
        _expected.append(plan)


def is_done(name: str) -> bool:
    """Whether the second process has compiled what belongs in this file; it is started if it was not before."""
    with _lock:
        if not _helpers:
            if not _expected or not _may_start():
                return False
            try:
                _helpers.append(Helper([sys.executable, "-I", "-c", _PROGRAM, _expected[0], *sys.path]))
            except OSError:
                _expected.clear()  # no second try
                return False
    return _helpers[0].is_done(name)


def _may_start() -> bool:
    """Whether there is a core for it, a Python to run it, and this process is not itself one of several."""
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return (
        n_cores > 1
        and os.environ.get(PROCESSES, "2") != "1"
        and not _is_forked
        and multiprocessing.parent_process() is None
        and bool(sys.executable)
        and not getattr(sys, "frozen", False)
    )
