"""The one loop of all runs: read, answer, learn, write, and now and then a checkpoint.

Over a file, blocks begin at row numbers that are multiples of the job's block, whatever the clock says: a run that was
killed and resumed from a checkpoint repeats the same blocks and gives the same bytes. A live source is answered with
what waits, one line if one line waits; each batch is journalled first.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from iegp.errors import IegpError
from iegp.preprocessing.encoder import Problem
from iegp.readers import BadRecord, Batch, Position, Records, Source, object_array
from iegp.stream import checkpoint
from iegp.stream.alarm import Alarm
from iegp.stream.answer_writer import AnswerFile, Output
from iegp.stream.answers import Answers
from iegp.stream.checkpoint import RunState, Storable
from iegp.stream.counters import Counters
from iegp.stream.job import OnBad
from iegp.stream.journal import Journal


class AnyJob(Storable, Protocol):
    """What the loop needs of a job: of a stream (:class:`iegp.stream.job.Job`), or of a map."""

    counters: Counters
    learns_part_blocks: bool
    """Whether the rows before a bad record are learned at once, or only as a whole block once it is put right."""

    @property
    def block(self) -> int:
        """How many rows are absorbed at once."""
        ...

    def absorb(self, batch: Batch, answer: Callable[[Answers], None], on_bad: OnBad) -> None:
        """Answer and learn the records in order; see :meth:`iegp.stream.job.Job.absorb`."""
        ...


class BadRow(IegpError):
    """A record that cannot be used, and the run was to stop at it. Everything before it is answered and saved."""

    def __init__(self, source: str, line: int, column: str | None, text: str, reason: str) -> None:
        place = f"{source}, line {line}" + ("" if column is None else f", column {column!r}")
        shown = f": {text!r}" if text else ""
        super().__init__(f"{place}{shown}: {reason}")


class Every(NamedTuple):
    """How often to write a checkpoint: after so many rows, or so many seconds (see ``REST`` for large ones)."""

    rows: int | None = None
    seconds: float | None = None


DEFAULT_EVERY = Every(seconds=10.0)
# Between two checkpoints that are due by time, so many times what the last one took: the models of many keys are
# gigabytes, and a run that does nothing but save would not progress.
REST = 9.0


@dataclass
class Files:
    """What a run writes to; all may be absent."""

    answers: AnswerFile | None = None
    bad: Output | None = None
    model: Path | None = None
    journal: Journal | None = None
    alarm: Alarm | None = None

    def close(self) -> None:
        """Close all of them."""
        for file in (None if self.answers is None else self.answers.output, self.bad, self.journal):
            if file is not None:
                file.close()
        if self.alarm is not None:
            self.alarm.close()

    def discard(self) -> None:
        """Remove the files of a run that nothing was answered in, once they are closed.

        The model last, and not where another could not be removed: with it the run can be resumed.
        """
        outputs = [file for file in (None if self.answers is None else self.answers.output, self.bad) if file]
        found = [Path(output.name) for output in outputs if output.is_file]
        found += [] if self.journal is None else [self.journal.path]
        for path in [*found, *([] if self.model is None else [self.model])]:
            path.unlink(missing_ok=True)


@dataclass(eq=False)
class Runner:
    """A job between a source and its files. ``should_stop`` is called between blocks, ``watch`` after each.

    ``block`` is entered while a block is absorbed: the process may be ended there at any time, but not in the middle of
    ``answering``.
    """

    job: AnyJob
    run_state: RunState
    files: Files
    _: KW_ONLY
    skips_bad: bool = False
    every: Every = DEFAULT_EVERY
    limit: int | None = None
    should_stop: Callable[[], bool] = lambda: False
    watch: Callable[[Source], None] | None = None
    block: Callable[[], AbstractContextManager[None]] = nullcontext
    answering: Callable[[], AbstractContextManager[None]] = nullcontext

    def __post_init__(self) -> None:
        self.has_saved = False
        """Whether a checkpoint was written since the start."""
        self._saved_rows = self.job.counters.rows
        self._saved_time = time.monotonic()
        self._save_seconds = 0.0
        self._is_silent = False
        self._broken: IegpError | None = None
        self._place_of: Callable[[int], tuple[str, int] | None] = lambda _: None

    # -- the loop --------------------------------------------------------------------------------------------------

    def run(self, source: Source) -> None:
        """Run until the source ends, the limit is reached or a stop is requested; then write a last checkpoint."""
        self.run_state.is_finished = False
        self._place_of = source.place_of
        while not self.should_stop():
            try:
                block = self._next_block(source)
                if block is None:
                    break
                self._absorb(block, source)
            except (BadRow, _Unreadable) as stopped:
                self.save(source)
                raise (stopped.reason if isinstance(stopped, _Unreadable) else stopped) from None
            if self.watch is not None:
                self.watch(source)
            if self._is_due():
                self.save(source)
        self.save(source, is_finished=not self.should_stop())

    def replay(self) -> int:
        """Take from the journal what the checkpoint does not hold yet; how many batches there were."""
        journal = self.files.journal
        if journal is None:
            return 0
        # As one block: stopped in between, it begins again, because a checkpoint would clear the journal.
        with self.block():
            return self._replay(journal)

    def _replay(self, journal: Journal) -> int:
        n = 0
        for stored, was_answered in journal.batches_after(self.run_state.sequence):
            self._is_silent = was_answered and self._answers_cannot_be_cut_back
            batch, bad, self.run_state.position = _from_journal(stored)
            self.run_state.schema = stored.get("schema", self.run_state.schema)
            self.run_state.sequence = journal.sequence
            try:
                self._take_in(batch, bad)
            except _StoppedAt as stopped:
                # The run was to end at this record and was killed before it could be saved.
                if places := stored.get("places"):
                    self.run_state.position = Position(*places[stopped.index])
                self.save()
                raise stopped.reason from None
            if self._answers_cannot_be_cut_back and not was_answered:
                journal.mark_answered()
            self._is_silent = False
            n += 1
        return n

    @property
    def _answers_cannot_be_cut_back(self) -> bool:
        answers = self.files.answers
        return answers is not None and not answers.output.is_file

    # -- reading ---------------------------------------------------------------------------------------------------

    def _next_block(self, source: Source) -> Records | None:
        rows, block = self.job.counters.rows, self.job.block
        wanted = block - rows % block
        if self.limit is not None:
            wanted = min(wanted, self.limit - rows)
        parts: list[Records] = []
        while wanted > 0:
            records = self._read(source, wanted, parts)
            if records is None:
                break
            parts.append(records)
            wanted -= len(records)
            # What a live source has is answered at once; a bad record, too, is handled at its place.
            if source.is_live or (records.bad and not self.skips_bad):
                break
        return Records.joined(parts) if parts else None

    def _read(self, source: Source, wanted: int, parts: list[Records]) -> Records | None:
        """The next records. What was read before the source broke is absorbed first; the next reading fails again."""
        if self._broken is None:
            try:
                return source.read(wanted)
            except IegpError as error:
                self._broken = error
        if parts and self.job.learns_part_blocks:
            return None
        raise _Unreadable(self._broken)

    # -- absorbing -------------------------------------------------------------------------------------------------

    def _absorb(self, block: Records, source: Source) -> None:
        if not block.n_records:
            # Blank lines, or a signal ended the waiting: nothing to journal.
            self.run_state.position = block.end
            return
        stopper = block.bad[0] if block.bad and not self.skips_bad else None
        batch: Batch = block
        end, bad = block.end, block.bad
        if stopper is not None:
            n_usable = stopper.before if self.job.learns_part_blocks else 0
            batch, end, bad = block.part(0, n_usable), block.position_before(n_usable), []
        journal = self.files.journal if source.is_live else None
        if journal is not None:
            # A followed file can be read again: if the run ends at a record of the batch, it resumes there.
            places = [] if source.size is None else [block.position_before(i) for i in range(len(batch))]
            journal.append(_to_journal(batch, bad, end) | {"places": places} | self._new_schema(source))
            self.run_state.sequence = journal.sequence
        try:
            with self.block():
                self._take_in(batch, bad)
        except _StoppedAt as stopped:
            self.run_state.position = block.position_before(stopped.index)
            raise stopped.reason from None
        self.run_state.position = end
        if journal is not None:
            journal.mark_answered()
        if stopper is not None:
            raise self._bad_row(*stopper[1:5])

    def _new_schema(self, source: Source) -> dict[str, Any]:
        """What the source has decided about its columns since it was last stored: it cannot look at them again."""
        schema = source.schema()
        if schema == self.run_state.schema:
            return {}
        self.run_state.schema = schema
        return {"schema": schema}

    def _take_in(self, batch: Batch, bad: list[BadRecord]) -> None:
        def on_bad(index: int, problem: Problem) -> None:
            line = int(batch.lines[index])
            if not self.skips_bad:
                raise _StoppedAt(index, self._bad_row(line, *problem[1:]))
            self._set_aside(line, *problem[1:], raw=_as_json(batch, index))

        for record in bad:
            self._set_aside(*record[1:6])
        self.job.absorb(batch, self._answer, on_bad)

    def _bad_row(self, line: int, column: str | None, text: str, reason: str) -> BadRow:
        file, line = self._place_of(line) or (self.run_state.source, line)
        return BadRow(file, line, column, text, reason)

    def _answer(self, answers: Answers) -> None:
        if self.files.alarm is not None:
            self.files.alarm.report(answers.changes)
        if self.files.answers is not None and not self._is_silent:
            with self.answering():
                self.files.answers.write(answers)

    def _set_aside(self, line: int, column: str | None, text: str, reason: str, raw: bytes) -> None:
        self.job.counters.bad += 1
        if self.files.bad is not None:
            entry: dict[str, Any] = {"line": line, "column": column, "text": text, "reason": reason}
            if (place := self._place_of(line)) is not None:
                entry |= {"file": place[0], "line": place[1]}
            entry["record"] = raw.decode("utf-8", "replace")
            self.files.bad.write(json.dumps(entry).encode() + b"\n")

    # -- checkpoints -----------------------------------------------------------------------------------------------

    def _is_due(self) -> bool:
        if self.every.rows is not None and self.job.counters.rows - self._saved_rows >= self.every.rows:
            return True
        if self.every.seconds is None:
            return False
        return time.monotonic() - self._saved_time >= max(self.every.seconds, REST * self._save_seconds)

    def save(self, source: Source | None = None, is_finished: bool = False) -> None:
        """A checkpoint, if there is a model to write: first the answers reach the disk, then the model.

        ``run_state`` says the same as the disk: it is brought up to date, and finished, once the checkpoint is written.
        """
        begun = time.monotonic()
        self._saved_rows = self.job.counters.rows
        reached = self._reached(source, is_finished)
        if self.files.model is not None:
            checkpoint.remember_beginning(reached)
            checkpoint.write(self.files.model, self.job, reached)
        vars(self.run_state).update(vars(reached))
        self.has_saved = True
        if self.files.model is not None and self.files.journal is not None:
            self.files.journal.clear()
        self._saved_time = time.monotonic()
        self._save_seconds = self._saved_time - begun

    def _reached(self, source: Source | None, is_finished: bool) -> RunState:
        """How far the run has come, all answers up to there on disk."""
        reached = replace(self.run_state, is_finished=is_finished)
        if source is not None:
            reached.schema = source.schema()
        answers = self.files.answers
        if answers is not None:
            answers.output.sync()
            if answers.output.is_file:
                # Of a finished run all that was collected becomes Parquet, however it was cut into messages.
                is_folded = is_finished and answers.form == "parquet"
                reached.out_position = 0 if is_folded else answers.output.position
        if self.files.bad is not None:
            self.files.bad.sync()
            reached.bad_position = self.files.bad.position
        return reached


class _StoppedAt(Exception):
    """A record of a batch that stops the run, all before it absorbed."""

    def __init__(self, index: int, reason: BadRow) -> None:
        super().__init__()
        self.index = index
        self.reason = reason


class _Unreadable(Exception):
    """The source broke; everything before is absorbed."""

    def __init__(self, reason: IegpError) -> None:
        super().__init__()
        self.reason = reason


def _to_journal(batch: Batch, bad: list[BadRecord], end: Position) -> dict[str, Any]:
    columns = {name: _without_nan(values) for name, values in batch.columns.items()}
    bad_records = [[*record[:5], record.raw.decode("latin-1"), record.after] for record in bad]
    return {"columns": columns, "lines": batch.lines.tolist(), "bad": bad_records, "end": end}


def _without_nan(values: NDArray[Any]) -> dict[str, Any]:
    if values.dtype == object:
        return {"text": values.tolist()}
    return {"numbers": [None if math.isnan(value) else value for value in values.tolist()]}


def _from_journal(stored: dict[str, Any]) -> tuple[Batch, list[BadRecord], Position]:
    lines = np.array(stored["lines"], dtype=np.int64)
    columns: dict[str, NDArray[Any]] = {}
    for name, kept in stored["columns"].items():
        if "text" in kept:
            columns[name] = object_array(kept["text"])
        else:
            numbers = [math.nan if value is None else value for value in kept["numbers"]]
            columns[name] = np.array(numbers, dtype=np.float64)
    bad = [
        BadRecord(before, line, column, text, reason, raw.encode("latin-1"), Position(*after))
        for before, line, column, text, reason, raw, after in stored["bad"]
    ]
    return Batch(columns, lines), bad, Position(*stored["end"])


def _as_json(batch: Batch, index: int) -> bytes:
    """A record that could be read but not used, for the file of bad records."""
    values = {name: values[index] for name, values in batch.columns.items()}
    return json.dumps({name: None if value != value else value for name, value in values.items()}).encode()
