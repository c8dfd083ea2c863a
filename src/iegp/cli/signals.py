"""Stopping when asked to: SIGINT and SIGTERM let the block in hand finish, then everything is saved."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Any, Self


class StopSignals:
    """While it is entered, signals are remembered; ``wakeup`` becomes readable so that waiting for input ends.

    A second signal of the same kind ends the process as usual.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self.wakeup, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._before: dict[int, Any] = {}

    def __call__(self) -> bool:
        return self.received is not None

    @property
    def exit_code(self) -> int:
        """130 for SIGINT, 143 for SIGTERM."""
        return 0 if self.received is None else 128 + self.received

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._remember)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self.wakeup)
        os.close(self._write)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.received = number
        signal.signal(number, self._before[number])
        os.write(self._write, b"!")
