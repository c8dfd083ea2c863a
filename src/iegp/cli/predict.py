"""``iegp predict``: answers from a saved model, which stays as it is."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from iegp.cli.flags import as_usage, check_choice, check_free
from iegp.cli.options import PredictOptions, StreamOptions
from iegp.cli.running import StopSignals
from iegp.cli.stream_files import open_for
from iegp.errors import InputError
from iegp.fleet.keyed_learner import Fleets
from iegp.preprocessing.encoder import CATEGORY
from iegp.readers import Batch, Records
from iegp.stream import checkpoint
from iegp.stream.answer_parquet import finish_parquet, spool_of
from iegp.stream.answer_writer import AnswerFile, Output, format_of
from iegp.stream.job import Job
from iegp.stream.runner import BadRow


def predict(options: PredictOptions) -> int:
    """Predict every record of the source; the exit code."""
    out = options.out
    check_choice("on-bad-row", options.on_bad_row, "stop", "skip")
    job, _ = checkpoint.read(options.model, by_key=Fleets())
    if job.learner is None:
        raise InputError(f"{options.model} has seen no row yet, so it cannot predict; run `iegp stream` first")
    job.counters.rows = 0
    job.encoder = replace(job.encoder, refuses_gaps=False)
    reading = StreamOptions(source=options.source, format=options.format)
    categories = {column.source for column in job.encoder.columns if column.kind == CATEGORY}
    with StopSignals() as stop, open_for(job.plan, reading, stop.wakeup, None, None, categories) as records:
        answers = _open(options, job.plan.key_field)
        try:
            n_bad = n_new = 0
            while not stop() and (found := records.read(job.block)) is not None:
                n_left_out, n_of_new_keys = _answer(job, found, answers, options, stop)
                n_bad, n_new = n_bad + n_left_out, n_new + n_of_new_keys
        finally:
            answers.output.close()
        if out != "-" and stop.exit_code == 0:
            finish_parquet(Path(out), job.plan.key_field)
        if n_bad:
            sys.stderr.write(f"Bad records: {n_bad:,} could not be used and were left out\n")
        if n_new:
            rows = f"{n_new:,} row{'' if n_new == 1 else 's'}"
            sys.stderr.write(f"New keys: {rows} of keys that the model has not seen, answered as each key starts\n")
        return stop.exit_code


def _answer(
    job: Job, found: Records, answers: AnswerFile, options: PredictOptions, stop: StopSignals
) -> tuple[int, int]:
    """Answer the records that can be used. Unless bad ones are to be skipped, the first that cannot ends it.

    Returns how many cannot be used, and how many were of keys without a model of their own.
    """
    source, problems = options.source, job.problems(found)
    bad = [(record.before, BadRow(source, *record[1:5])) for record in found.bad]
    bad += [(problem.place, BadRow(source, int(found.lines[problem.place]), *problem[1:])) for problem in problems]
    first = min(bad, key=lambda entry: entry[0], default=None)
    if first is not None and options.on_bad_row != "skip":
        _write(job, found.part(0, first[0]), answers, stop)
        raise first[1]
    is_good = np.ones(len(found), dtype=bool)
    is_good[[problem.place for problem in problems]] = False
    n_new = _write(job, found.where(is_good), answers, stop)
    return len(found.bad) + int((~is_good).sum()), n_new


def _write(job: Job, batch: Batch, answers: AnswerFile, stop: StopSignals) -> int:
    """How many of the rows were of keys without a model of their own."""
    if not len(batch):
        return 0
    with stop.block():
        found = job.predict(batch)
    answers.write(found)
    return 0 if found.is_new_key is None else int(found.is_new_key.sum())


def _open(options: PredictOptions, key_field: str | None) -> AnswerFile:
    out = options.out
    form = as_usage(lambda: format_of(out))
    if out == "-":
        return AnswerFile(Output.standard(), form, key_field)
    check_free("out", out, options.overwrite)
    output = Output.create(spool_of(Path(out)), overwrite=True)
    return AnswerFile(output, form, key_field, options.guard_formulas)
