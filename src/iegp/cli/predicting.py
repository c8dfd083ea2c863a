"""``iegp predict``: answers from a saved model, which stays as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from iegp.cli.options import StreamOptions, UsageError
from iegp.cli.signals import StopSignals
from iegp.cli.sources import open_for
from iegp.errors import InputError
from iegp.run.stream import checkpoint
from iegp.run.stream.batch import Batch
from iegp.run.stream.job import Job
from iegp.run.stream.outputs import AnswerFile, Output, format_of
from iegp.run.stream.parquet_out import finish_parquet, spool_of
from iegp.run.stream.runner import BLOCK, BadRow


def predict(model: str, source: str, out: str, form: str | None, overwrite: bool, on_bad_row: str) -> int:
    """Every record of ``source`` answered; the exit code."""
    if on_bad_row not in ("stop", "skip"):
        raise UsageError(f"--on-bad-row {on_bad_row} is not known; use stop or skip")
    job, _ = checkpoint.read(model)
    if job.learner is None:
        raise InputError(f"{model} has seen no row yet, so it cannot predict; run `iegp stream` first")
    job.counters.rows = 0
    job.encoder = replace(job.encoder, refuses_gaps=False)
    options = StreamOptions(source=source, format=form)
    answers = _open(out, overwrite)
    with StopSignals() as stop, open_for(job.plan, options, stop.wakeup, None, None) as records:
        while not stop():
            found = records.read(BLOCK)
            if found is None:
                break
            if found.bad and on_bad_row == "stop":
                _answer(job, Batch(found.columns, found.lines, found.offsets).part(0, found.bad[0].before), answers)
                bad = found.bad[0]
                raise BadRow(source, bad.line, bad.column, bad.text, bad.reason)
            _answer(job, Batch(found.columns, found.lines, found.offsets), answers)
        code = stop.exit_code
    answers.output.close()
    if out != "-" and code == 0:
        finish_parquet(Path(out))
    return code


def _answer(job: Job, batch: Batch, answers: AnswerFile) -> None:
    if not len(batch):
        return
    features = job.plan.features_of(batch)
    problems = job.encoder.problems(features, np.ones(len(batch), dtype=bool))
    if problems:
        first = problems[0]
        raise BadRow("the source", int(batch.lines[first.place]), first.column, first.text, first.reason)
    for part in job.predict(batch):
        answers.write(part)


def _open(out: str, overwrite: bool) -> AnswerFile:
    form = format_of(out)
    if out == "-":
        return AnswerFile(Output.standard(), form)
    if Path(out).exists() and not overwrite:
        raise UsageError(f"--out {out} exists; choose another name, or say --overwrite")
    return AnswerFile(Output.create(spool_of(Path(out)), overwrite=True), form)
