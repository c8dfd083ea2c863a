"""``iegp predict``: answers from a saved model, which stays as it is."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from iegp.cli.flags import as_usage, check_choice, check_free, check_outputs
from iegp.cli.options import PredictOptions, StreamOptions
from iegp.cli.printable import printable
from iegp.cli.progress import scores
from iegp.cli.running import StopSignals
from iegp.cli.stream_files import open_for
from iegp.errors import InputError
from iegp.fleet.keyed_learner import Fleets
from iegp.preprocessing.encoder import CATEGORY
from iegp.readers import Batch, Records, Source
from iegp.stream import checkpoint
from iegp.stream.answer_parquet import finish_parquet, spool_of
from iegp.stream.answer_writer import AnswerFile, Output, format_of
from iegp.stream.digest import Digest
from iegp.stream.job import Job
from iegp.stream.runner import BadRow


def predict(options: PredictOptions) -> int:
    """Predict every record of the source; the exit code."""
    check_choice("on-bad-row", options.on_bad_row, "stop", "skip")
    check_outputs((options.model, options.source, *(options.more or ())), out=options.out)
    job, _ = checkpoint.read(options.model, by_key=Fleets())
    if job.learner is None:
        raise InputError(f"{options.model} has seen no row yet, so it cannot predict; run `iegp stream` first")
    job.counters.rows = 0
    job.encoder = replace(job.encoder, refuses_gaps=False)
    # Scores of the run that made the model are not those of these rows.
    job.digest = Digest(job.plan.task, job.plan.level)
    reading = StreamOptions(source=options.source, more=options.more, format=options.format)
    categories = {column.source for column in job.encoder.columns if column.kind == CATEGORY}
    with StopSignals() as stop, open_for(job.plan, reading, stop.wakeup, None, None, categories) as records:
        _refuse_other_columns(job, records.names)
        answering = _Answering(options, job, stop, _open(options, job.plan.key_field))
        try:
            while not stop() and (found := records.read(job.block)) is not None:
                answering.answer(found, records)
        finally:
            answering.answers.output.close()
        if options.out != "-" and stop.exit_code == 0:
            finish_parquet(Path(options.out), job.plan.key_field)
        answering.summary()
        return stop.exit_code


def _model_columns(job: Job) -> list[str]:
    """Columns of a source from which the model was learned."""
    return list(dict.fromkeys(column.source for column in job.encoder.columns))


def _refuse_other_columns(job: Job, names: tuple[str, ...]) -> None:
    """A source without any column of the model is another's."""
    wanted = _model_columns(job)
    if names and not set(wanted) & set(names):
        raise InputError(f"no column of the model is there: {', '.join(wanted)}; there are {', '.join(names)}")


@dataclass
class _Answering:
    """Answers as they are written, and what is said about them at the end."""

    options: PredictOptions
    job: Job
    stop: StopSignals
    answers: AnswerFile
    names: set[str] = field(default_factory=set)
    """Columns that were there."""
    n_bad: int = 0
    n_new: int = 0
    """Rows of keys without a model of their own."""

    def answer(self, found: Records, records: Source) -> None:
        """Answer the records that can be used. Unless bad ones are to be skipped, the first that cannot ends it."""
        problems = self.job.problems(found)
        self.names |= found.columns.keys()
        bad = [(record.before, record.line, record[2:5]) for record in found.bad]
        bad += [(problem.place, int(found.lines[problem.place]), problem[1:]) for problem in problems]
        first = min(bad, key=lambda entry: entry[0], default=None)
        if first is not None and self.options.on_bad_row != "skip":
            before, line, why = first
            self._write(found.part(0, before))
            source, line = records.place_of(line) or (self.options.source, line)
            raise BadRow(source, line, *why)
        is_good = np.ones(len(found), dtype=bool)
        is_good[[problem.place for problem in problems]] = False
        self.n_bad += len(found.bad) + int((~is_good).sum())
        self._write(found.where(is_good))

    def _write(self, batch: Batch) -> None:
        if not len(batch):
            return
        with self.stop.block():
            found = self.job.predict(batch)
        self.job.digest.add(found)
        self.answers.write(found)
        self.n_new += 0 if found.is_new_key is None else int(found.is_new_key.sum())

    def summary(self) -> None:
        """Say what a reader of the answers should know."""
        missing = [name for name in _model_columns(self.job) if name not in self.names] if self.names else []
        if missing:
            filled = "the mean of a number is used in its place, and no category of text"
            _say(f"Missing columns: {', '.join(missing)}; {filled}")
        if self.n_bad:
            _say(f"Bad records: {self.n_bad:,} could not be used and were left out")
        if self.n_new:
            rows = f"{self.n_new:,} row{'' if self.n_new == 1 else 's'}"
            _say(f"New keys: {rows} of keys that the model has not seen, answered as each key starts")
        if self.options.out != "-":
            n_rows = self.job.counters.rows
            _say(f"Answers: {self.options.out}, {n_rows:,} row{'' if n_rows == 1 else 's'}")
        if n := self.job.digest.n_labelled:
            rows, found = f"{n:,} row{'' if n == 1 else 's'} with labels", scores(self.job)
            few = f"No scores: {rows} {'is' if n == 1 else 'are'} too few"
            _say(", ".join([f"Scores of {rows}", *found]) if found else few)


def _say(text: str) -> None:
    sys.stderr.write(f"{printable(text)}\n")


def _open(options: PredictOptions, key_field: str | None) -> AnswerFile:
    out = options.out
    form = as_usage(lambda: format_of(out))
    if out == "-":
        return AnswerFile(Output.standard(), form, key_field)
    check_free("out", out, options.overwrite)
    output = Output.create(spool_of(Path(out)), overwrite=True)
    return AnswerFile(output, form, key_field, options.guard_formulas)
