"""Calls that change files, counted, and one of them made to fail.

Counted are opening for writing, ``write``, ``fsync``, ``rename``, ``ftruncate`` and ``unlink`` of anything in one
folder (and on standard output), whether they come from ``os`` or from a file object. Nothing else is touched: what a
library keeps elsewhere, as compiled code, works as always.
"""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

_WRITES = os.O_WRONLY | os.O_RDWR
_real = {name: getattr(os, name) for name in ("open", "close", "write", "fsync", "ftruncate", "replace", "unlink")}
_real_open = builtins.open


class Call(NamedTuple):
    """What was asked of the operating system, and of which file."""

    kind: str
    name: str


class Fault(NamedTuple):
    """Which call fails, and how.

    ``before``: nothing was done. ``after``: it was done all the same; of a write a half, and the next one fails.
    ``lasting``: nothing was done, and every later call fails, too.
    """

    at: int
    error: int
    how: str = "before"

    def __str__(self) -> str:
        return f"{os.strerror(self.error)} ({self.how}) at call {self.at}"


class Injector:
    """Counts calls; raises where it is told to."""

    def __init__(self, folder: Path, fault: Fault | None, stdout: int) -> None:
        self.calls: list[Call] = []
        self._folder = str(folder)
        self._fault = fault
        self._fails_next_write = False
        self._names = {stdout: "standard output"}
        self._open: set[int] = set()

    # -- deciding --------------------------------------------------------------------------------------------------

    def _is_ours(self, path: Any) -> bool:
        return isinstance(path, str | os.PathLike) and os.path.abspath(os.fspath(path)).startswith(self._folder)

    def _call(self, kind: str, path: Any, act: Callable[[], Any], shows_name: bool = True) -> Any:
        """Carry it out, or fail as the operating system would: calls with a path name it, others nothing."""
        number, fault = len(self.calls), self._fault
        self.calls.append(Call(kind, Path(os.fspath(path)).name))
        if fault is None or number < fault.at or (number > fault.at and fault.how != "lasting"):
            return act()
        if fault.how == "after":
            done = act()
            if isinstance(done, io.FileIO):
                done.close()
        raise OSError(fault.error, os.strerror(fault.error), *([os.fspath(path)] if shows_name else []))

    def _write(self, path: str, content: Any, act: Callable[[Any], int]) -> int:
        fault, is_torn = self._fault, False
        if fault is not None and fault.how == "after":
            is_torn, fails = len(self.calls) == fault.at, self._fails_next_write
            self._fails_next_write = is_torn
            if fails:
                raise OSError(fault.error, os.strerror(fault.error))
        if not is_torn:
            return int(self._call("write", path, lambda: act(content), shows_name=False))
        self.calls.append(Call("write", Path(path).name))
        return act(memoryview(content)[: max(1, len(content) // 2)])

    # -- what takes the place of the operating system ------------------------------------------------------------------

    def open(self, path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        if not self._is_ours(path):
            return int(_real["open"](path, flags, mode, **more))

        def act() -> int:
            descriptor = _real["open"](path, flags, mode, **more)
            self._names[descriptor] = os.fspath(path)
            self._open.add(descriptor)
            return int(descriptor)

        return int(self._call("open", path, act)) if flags & _WRITES else act()

    def close(self, descriptor: int) -> None:
        self._open.discard(descriptor)
        _real["close"](descriptor)

    def write(self, descriptor: int, content: Any) -> int:
        if descriptor not in self._names:
            return int(_real["write"](descriptor, content))
        return self._write(self._names[descriptor], content, lambda part: int(_real["write"](descriptor, part)))

    def fsync(self, descriptor: int) -> None:
        """Not carried out: it takes the time of a hundred other calls, and no machine loses power here."""
        if descriptor in self._names:
            self._call("fsync", self._names[descriptor], lambda: None, shows_name=False)

    def ftruncate(self, descriptor: int, length: int) -> None:
        act = lambda: _real["ftruncate"](descriptor, length)  # noqa: E731
        self._call("ftruncate", self._names[descriptor], act, shows_name=False)

    def replace(self, source: Any, target: Any, **more: Any) -> None:
        act = lambda: _real["replace"](source, target, **more)  # noqa: E731
        self._call("rename", target, act) if self._is_ours(target) else act()

    def unlink(self, path: Any, **more: Any) -> None:
        if not self._is_ours(path):
            _real["unlink"](path, **more)
        elif os.path.lexists(path):
            self._call("unlink", path, lambda: _real["unlink"](path, **more))
        else:
            raise FileNotFoundError(2, os.strerror(2), os.fspath(path))

    def open_object(self, path: Any, mode: str = "r", *given: Any, **named: Any) -> Any:
        if not self._is_ours(path) or not set(mode) & set("wxa+"):
            return _real_open(path, mode, *given, **named)
        assert "b" in mode, f"{path}: text is written by no run"
        raw = self._call("open", path, lambda: _Raw(self, path, mode))
        self._names[raw.fileno()] = os.fspath(path)
        return raw if named.get("buffering") == 0 else io.BufferedWriter(raw)

    @contextmanager
    def installed(self) -> Iterator[None]:
        with ExitStack() as stack:
            for name in ("open", "close", "write", "fsync", "ftruncate", "replace", "unlink"):
                stack.enter_context(mock.patch.object(os, name, getattr(self, name)))
            for name, of in (("rename", self.replace), ("remove", self.unlink)):
                stack.enter_context(mock.patch.object(os, name, of))
            for module in (builtins, io):
                stack.enter_context(mock.patch.object(module, "open", self.open_object))
            try:
                yield
            finally:
                # What the end of the process would have closed.
                for descriptor in self._open:
                    with suppress(OSError):
                        _real["close"](descriptor)


class _Raw(io.FileIO):
    """A file object's own writes, which do not go through ``os.write``."""

    def __init__(self, injector: Injector, path: Any, mode: str) -> None:
        super().__init__(path, mode)
        self._injector, self._path = injector, os.fspath(path)

    def write(self, content: Any) -> int:
        return self._injector._write(self._path, bytes(content), super().write)
