"""What runs over a source share: checks before they start, signals that stop them, and the loop."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, Self, TypeVar

from rich.console import Console

from iegp.cli.flags import UsageError, check_name, check_outputs
from iegp.cli.options import RunOptions, parse_every
from iegp.cli.printable import printable
from iegp.cli.progress import Watcher
from iegp.errors import InputError
from iegp.readers import source_files
from iegp.storage import locks
from iegp.storage.model_file import real_path
from iegp.stream.checkpoint import RunState, prefix_of
from iegp.stream.runner import AnyJob, Every, Files, Runner

T = TypeVar("T", bound=RunOptions)

# How long a block may take to be finished after a signal; then the process ends in the middle of it.
GRACE_SECONDS = 0.5
_TICK_SECONDS = 0.05


class StopSignals:
    """While it is entered, signals are remembered; ``wakeup`` becomes readable so that waiting for input ends.

    A second signal of the same kind ends the process as usual. So does the first where work inside :meth:`block` goes
    on for ``GRACE_SECONDS``: compiled code cannot be interrupted. What is on disk is then as after a crash, from which
    a saved run resumes to the same bytes.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self.wakeup, self._write = os.pipe()
        self._arrived, self._arrive = os.pipe()
        for descriptor in (self._write, self._arrive):
            os.set_blocking(descriptor, False)
        self._before: dict[int, Any] = {}
        self._is_between_blocks = threading.Event()
        self._is_between_blocks.set()
        self._is_over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __call__(self) -> bool:
        return self.received is not None

    @property
    def exit_code(self) -> int:
        """130 for SIGINT, 143 for SIGTERM."""
        return 0 if self.received is None else 128 + self.received

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._remember)
        # Written to when a signal arrives, though handlers in Python wait until compiled code returns.
        self._wakeup_before = signal.set_wakeup_fd(self._arrive, warn_on_full_buffer=False)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._wakeup_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._is_over.set()
        os.write(self._arrive, b"\0")
        self._watcher.join()
        for descriptor in (self.wakeup, self._write, self._arrived, self._arrive):
            os.close(descriptor)

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Work that is not waited for when a signal arrives; whatever it has written is written again."""
        self._is_between_blocks.clear()
        try:
            yield
        finally:
            self._is_between_blocks.set()

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """Inside a block: answers are on their way, which is waited for, because they may not be taken back."""
        is_in_a_block = not self._is_between_blocks.is_set()
        self._is_between_blocks.set()
        try:
            yield
        finally:
            if is_in_a_block:
                self._is_between_blocks.clear()

    def _watch(self) -> None:
        """Wait for a signal, and from then on for ``GRACE_SECONDS`` inside of blocks."""
        number = next(n for n in iter(lambda: os.read(self._arrived, 1)[0], None) if n == 0 or n in self._before)
        left = GRACE_SECONDS
        while number and not self._is_over.wait(_TICK_SECONDS):
            left -= 0.0 if self._is_between_blocks.is_set() else _TICK_SECONDS
            if left <= 0.0:
                _leave_in_a_block(number)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.received = number
        signal.signal(number, self._before[number])
        os.write(self._write, b"!")


def _leave_in_a_block(number: int) -> None:
    """End the process as a crash would, with a message."""
    # A line of progress has hidden the cursor.
    shows_cursor = "\x1b[?25h\n" if os.isatty(2) else ""
    advice = "Stopped in the middle of a block of rows; with --save, continue with the same command and --resume\n"
    with contextlib.suppress(OSError):
        os.write(2, f"{shows_cursor}{advice}".encode())
    os._exit(128 + number)


def console(quiet: bool) -> Console:
    """Standard error for people. Without markup, because names of columns and files may look like it."""
    return _Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True, markup=False, emoji=False)


class _Console(Console):
    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*(printable(part) if isinstance(part, str) else part for part in objects), **options)


def check_options(options: RunOptions, sources: Sequence[str], **files: str | None) -> None:
    """What can be refused before anything of ``sources`` is read; ``files`` are written to, by flag."""
    parse_every(options.checkpoint_every)
    if options.limit is not None and options.limit < 0:
        raise UsageError(f"--limit {options.limit} must be at least 0")
    if options.resume and options.save is None:
        raise UsageError("--resume continues the run saved with --save MODEL; say which")
    check_outputs(sources, **files, save=options.save)
    if options.save is not None:
        check_name("save", options.save, ".journal", ".bad.jsonl")


def through_link(options: T) -> T:
    """The options with the file itself, where ``--save`` is a symbolic link: what lies beside it, its lock included,
    has one place, however the run is named; and a link that changes later changes nothing."""
    if options.save is None:
        return options
    return replace(options, save=str(real_path(Path(options.save))))


def only_run(options: RunOptions) -> contextlib.AbstractContextManager[None]:
    """While it is entered, no other run saves to the same model."""
    return contextlib.nullcontext() if options.save is None else locks.only_run(Path(options.save))


def can_resume(options: RunOptions, say: Console) -> bool:
    """Whether there is a run to resume; replacing an existing model must be asked for."""
    if options.save is None:
        return False
    exists = Path(options.save).exists()
    if exists and not options.resume and not options.overwrite:
        raise UsageError(f"--save {options.save} exists; say --resume to continue it, or --overwrite to start anew")
    if options.resume and not exists:
        say.print(f"{options.save} does not exist yet: starting at the first row")
    return exists and options.resume


def check_unchanged(options: RunOptions, run_state: RunState, is_pipe: bool = False) -> None:
    """Refuse a resumed run with other options that change its answers, or with another source."""
    recorded = options.recorded()
    for name in options.given & recorded.keys():
        before, now = (
            list(value) if isinstance(value, tuple) else value for value in (run_state.config.get(name), recorded[name])
        )
        if before != now:
            raise UsageError(
                f"--{name.replace('_', '-')} {now} differs from {before} in {options.save}, and a resumed run keeps "
                "what it was started with; leave the flag out, or start anew with --overwrite"
            )
    if is_pipe != run_state.was_pipe:
        kinds = ("a file", "a pipe") if is_pipe else ("a pipe", "a file")
        raise InputError(
            f"{options.save} was reading {kinds[0]}, and {options.source} is {kinds[1]}; resume with the same source"
        )
    first = options.source if is_pipe else source_files(options.source)[0]
    if not is_pipe and not Path(first).is_file():
        raise InputError(f"{first} does not exist; resume with the same source")
    if not is_pipe and prefix_of(Path(first), run_state.prefix[0]) != run_state.prefix:
        raise InputError(f"{first} begins differently from what {options.save} has read; resume with the same source")
    run_state.source = first


def runner_of(
    options: RunOptions, job: AnyJob, run_state: RunState, files: Files, stop: StopSignals, watcher: Watcher
) -> Runner:
    """The loop as the options want it."""
    return Runner(
        job,
        run_state,
        files,
        skips_bad=options.skips_bad,
        every=Every(*parse_every(options.checkpoint_every)),
        limit=options.limit,
        should_stop=stop,
        block=stop.block,
        answering=stop.answering,
        watch=watcher,
    )
