"""A signal is answered within a second, also where compiled code runs for minutes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

# A call that keeps other threads running and no signal interrupts, as compiled code does.
LONG = """
import hashlib, sys, time
from iegp.cli.running import StopSignals
with StopSignals() as stop:
    print("ready", flush=True)
    if sys.argv[1] == "block":
        with stop.block():
            hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
    elif sys.argv[1] == "later":
        while not stop():
            time.sleep(0.01)
        with stop.block():
            hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
    else:
        with stop.block():
            with stop.answering():
                while not stop():
                    time.sleep(0.01)
                time.sleep(1.0)
        time.sleep(1.0)
print("done", flush=True)
sys.exit(stop.exit_code)
"""


def ended(how: str, number: int) -> tuple[int, float, str, str]:
    with subprocess.Popen(
        [sys.executable, "-c", LONG, how], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        begun = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
        return process.returncode, time.monotonic() - begun, out, err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("how", ["block", "later"])
def test_a_long_block_is_left(how, number, code):
    """Inside it when the signal arrives, or begun after it; no test asserts a time, but the call takes an hour."""
    returned, _, out, err = ended(how, number)
    assert (returned, out) == (code, "")
    assert "--resume" in err


def test_answers_and_what_comes_after_a_block_are_waited_for():
    """Such as the last checkpoint, which may take long."""
    returned, seconds, out, err = ended("after", signal.SIGTERM)
    assert (returned, out, err) == (143, "done\n", "")
    assert seconds >= 2.0
