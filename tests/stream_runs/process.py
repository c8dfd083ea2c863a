"""Running the command as a process: to its end, until it is killed, or in conversation with it through pipes."""

from __future__ import annotations

import multiprocessing
import multiprocessing.forkserver
import os
import select
import signal
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from stream_runs.forked import become

TIMEOUT = 300.0


@cache
def _server() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["stream_runs.forked"])
    # The server is started with this environment, and finds what it is to import by its path alone.
    os.environ["IEGP_TESTS_FORK_SERVER"] = "1"
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), before]))
    multiprocessing.forkserver.ensure_running()
    os.environ["PYTHONPATH"] = before
    return context


@dataclass
class Done:
    """How a process ended."""

    code: int
    """The exit code; -9 if it was killed."""
    out: str
    err: str


class Running:
    """A command in the middle of its run."""

    def __init__(self, folder: Path, *argv: str, stdin: str = os.devnull, stdout: str | None = None, **how: Any):
        self._folder = folder
        self._stdout = stdout or str(folder / ".stdout")
        self._stderr = str(folder / ".stderr")
        Path(self._stderr).unlink(missing_ok=True)
        arguments = (list(map(str, argv)), str(folder), stdin, self._stdout, self._stderr)
        self.process = _server().Process(target=become, args=arguments, kwargs=how)
        self.process.start()

    @property
    def is_alive(self) -> bool:
        return bool(self.process.is_alive())

    @property
    def said(self) -> str:
        """Standard error so far."""
        return Path(self._stderr).read_text() if Path(self._stderr).exists() else ""

    def send(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def wait_for_handler(self, number: int) -> None:
        """Wait until the process handles this signal; a process that has just started is ended by it instead."""
        status = Path(f"/proc/{self.process.pid}/status")
        while self.is_alive:
            caught = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt"))
            if int(caught.split()[1], 16) >> (number - 1) & 1:
                return
            time.sleep(0.01)

    def kill_after(self, seconds: float) -> bool:
        """SIGKILL after a while; whether it landed before the end."""
        self.process.join(seconds)
        self.process.kill()
        return self.wait().code == -signal.SIGKILL

    def wait(self) -> Done:
        self.process.join(TIMEOUT)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
            raise AssertionError("the command did not end:\n" + Path(self._stderr).read_text())
        out = Path(self._stdout).read_text() if Path(self._stdout).is_file() else ""
        assert "Traceback" not in self.said, self.said
        return Done(self.process.exitcode, out, self.said)


def iegp(folder: Path, *argv: str, **how: Any) -> Done:
    """Run a command to its end."""
    return Running(folder, *argv, **how).wait()


class Conversation:
    """A command that reads standard input and answers on standard output, line by line."""

    def __init__(self, folder: Path, *argv: str) -> None:
        names = [str(folder / name) for name in (".in", ".out")]
        for name in names:
            Path(name).unlink(missing_ok=True)
            os.mkfifo(name)
        # Opened for both directions, so that opening does not wait; the child's end is then the only reader.
        self._out = os.open(names[1], os.O_RDWR)
        self._in = os.open(names[0], os.O_RDWR)
        self.running = Running(folder, *argv, stdin=names[0], stdout=names[1])
        self._in_name = names[0]
        self._rest = b""

    def write(self, text: str) -> None:
        os.write(self._in, text.encode())

    def read(self, seconds: float = TIMEOUT) -> str | None:
        """The next line of the answer; None if none comes."""
        until = time.monotonic() + seconds
        while b"\n" not in self._rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._out], [], [], min(left, 0.05))[0]:
                if left <= 0 or not self.running.is_alive:
                    if select.select([self._out], [], [], 0)[0]:
                        self._rest += os.read(self._out, 1 << 16)
                        continue
                    return None
                continue
            self._rest += os.read(self._out, 1 << 16)
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode()

    def end(self) -> Done:
        """Close standard input and wait."""
        os.close(self._in)
        self._in = -1
        return self.finish()

    def finish(self) -> Done:
        done = self.running.wait()
        while (line := self.read(0.0)) is not None:
            done.out += line + "\n"
        for descriptor in (self._in, self._out):
            if descriptor >= 0:
                os.close(descriptor)
        return done

    def kill(self) -> Done:
        self.running.send(signal.SIGKILL)
        return self.finish()
