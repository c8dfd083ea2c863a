"""Entry point of the command: sets a signal handler, so that Ctrl-C prints no traceback while modules are imported."""

from __future__ import annotations

import os
import signal
from types import FrameType


def main() -> None:
    """``iegp``."""
    signal.signal(signal.SIGINT, _leave)
    from iegp.cli.app import main as run

    run()


def _leave(number: int, frame: FrameType | None) -> None:
    """Nothing has been done yet that would have to be saved."""
    del frame
    os._exit(128 + number)
