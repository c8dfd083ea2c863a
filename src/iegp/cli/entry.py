"""Entry point of the command: sets a signal handler, so that Ctrl-C prints no traceback while modules are imported."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def main() -> None:
    """``iegp``."""
    _replace_closed_streams()
    signal.signal(signal.SIGINT, _leave)
    from iegp.cli.app import main as run

    run()


def _replace_closed_streams() -> None:
    """Put streams that fail in place of standard ones that were closed.

    The next file to be opened would get their number: answers would be written into it, or waited for from it. What is
    said on standard error is not needed, and goes nowhere.
    """
    for number, name, flags in ((0, "stdin", os.O_WRONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # It gets the lowest number that is free: this one.
            opened = os.open(os.devnull, flags)
            stream = open(opened, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115 open to the end
            setattr(sys, name, stream)


def _leave(number: int, frame: FrameType | None) -> None:
    """Nothing has been done yet that would have to be saved."""
    del frame
    os._exit(128 + number)
