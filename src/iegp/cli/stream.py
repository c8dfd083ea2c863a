"""``iegp stream``: from options to a run, and from a run to its files and its summary."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from iegp.cli import key_summary as by_key
from iegp.cli.flags import UsageError, check_choice
from iegp.cli.models import settings_of
from iegp.cli.options import StreamOptions
from iegp.cli.progress import Watcher, scores
from iegp.cli.running import can_resume, check_options, check_unchanged, console, runner_of
from iegp.cli.signals import StopSignals
from iegp.cli.sources import is_live, is_pipe, labels_in, names_not_properties, open_first, open_for
from iegp.cli.summary import finish, print_summary, top_expert
from iegp.errors import IegpError, InputError
from iegp.fleet.keyed_learner import Fleets
from iegp.preprocessing.encoder import MOST_CATEGORIES
from iegp.readers import Source
from iegp.stream import checkpoint
from iegp.stream.checkpoint import Where
from iegp.stream.job import Job
from iegp.stream.journal import Journal
from iegp.stream.outputs import AnswerFile, Output, format_of
from iegp.stream.parquet_out import spool_of, unfold_parquet
from iegp.stream.plan import Plan, find_task
from iegp.stream.runner import Files

T = TypeVar("T")


def stream(options: StreamOptions) -> int:
    """Run to the end; the exit code."""
    say = console(options.quiet)
    _check(options)
    is_resumed = can_resume(options, say)
    with StopSignals() as stop, contextlib.ExitStack() as opened:
        source: Source | None = None
        if is_resumed:
            job, where = _resume(options, say)
        else:
            begun = _begin(options, stop, say)
            if begun is None:
                say.print("Stopped before the first record; nothing was written")
                return stop.exit_code
            job, where, source = begun
            opened.enter_context(source)
        files = _open_files(options, job, where, is_resumed)
        watcher = Watcher(job.counters, lambda: [*scores(job), top_expert(job)], options.quiet)
        runner = runner_of(options, job, where, files, stop, watcher)
        try:
            if source is None:
                # The journal is ahead of the checkpoint: only after it is known where the source goes on.
                n = runner.replay()
                say.print(f"Resumed at row {job.counters.rows:,}" + (f" ({n} batches from the journal)" if n else ""))
                source = open_for(job.plan, options, stop.wakeup, where.position, where.schema or None)
                opened.enter_context(source)
            with watcher:
                runner.run(source)
        except (IegpError, OSError):
            # What was answered is worth a report, but no reason to hide what ended the run.
            with contextlib.suppress(IegpError, OSError):
                _close(files)
                finish(options, job, where)
            raise
        _close(files)
        finish(options, job, where)
        print_summary(options, job, say, was_stopped=stop())
        return stop.exit_code


# -- before ------------------------------------------------------------------------------------------------------------


def _check(options: StreamOptions) -> None:
    check_options(options, out=options.out, report=options.report)
    check_choice("on-bad-row", options.on_bad_row, "stop", "skip")
    if options.jobs < 1:
        raise UsageError(f"--jobs {options.jobs} must be at least 1")
    if options.follow and options.source == "-":
        raise UsageError("--follow is for a growing file; standard input is followed anyway")
    if options.out is not None:
        _as_usage(lambda: format_of(options.out or ""))


def _as_usage(build: Callable[[], T]) -> T:
    try:
        return build()
    except InputError as error:
        raise UsageError(str(error)) from error


def _begin(options: StreamOptions, stop: StopSignals, say: Console) -> tuple[Job, Where, Source] | None:
    """A run that has seen nothing; None if someone asked to stop before there was a record to begin with."""
    if options.target is None:
        raise UsageError("which column is to be predicted? Say --target COLUMN")
    source, first = open_first(options, stop.wakeup)
    try:
        if stop() and not source.names:
            source.close()
            return None
        task, why = (options.task, "") if options.task else find_task(labels_in(first, options.target))
        unused = {} if source.is_live else names_not_properties(first, options)
        plan = _as_usage(lambda: _plan(options, task, source.names, tuple(unused)))
        if why:
            say.print(f"Task: {task} ({options.target!r}: {why})")
        for name, advice in unused.items():
            say.print(f"Not used: {name!r}, text with more than {MOST_CATEGORIES} different values; {advice}")
        n_classes = len(plan.order or plan.classes)
        settings = settings_of(options.model, task, options.seed, options.parameters, n_classes)
        job = Job(plan, settings, source.schema()["format"] != "jsonl", _fleets(say))
        job.n_threads = options.jobs
        config = options.recorded() | {"task": task, "id": plan.id}
        where = Where(options.source, {}, config, out=options.out)
        if not is_pipe(options):
            where.prefix = checkpoint.prefix_of(Path(options.source), 0)
        if not source.is_live:
            # Again from the start, with columns read as the plan wants them.
            source.close()
            source = open_for(plan, options, stop.wakeup, None, None)
    except BaseException:
        source.close()
        raise
    return job, where, source


def _plan(options: StreamOptions, task: str, names: tuple[str, ...], unused: tuple[str, ...]) -> Plan:
    plan = Plan(
        target=options.target or "",
        task=task,
        id=options.id if options.id is not None else _default_id(options, names),
        time=options.time,
        features=options.features,
        ignore=(*options.ignore, *unused),
        missing=options.missing,
        max_pending=options.max_pending,
        level=options.level,
        intervals=options.intervals,
        classes=options.classes,
        order=options.order,
        key=options.key,
    )
    if names and not is_live(options):
        plan.check_columns(names)
    return plan


def _default_id(options: StreamOptions, names: tuple[str, ...]) -> str | None:
    """A column called id is the id; on a pipe one may come later."""
    if "id" in (options.target, options.time, options.key, *(options.features or ()), *options.ignore):
        return None
    return "id" if "id" in names or is_live(options) else None


def _fleets(say: Console) -> Fleets:
    """How models by key are made, and what is said when it comes to it."""

    return Fleets(lambda fleet: say.print(by_key.start(fleet)))


def _resume(options: StreamOptions, say: Console) -> tuple[Job, Where]:
    """The run as it was saved. What would change its answers may not be said anew."""
    assert options.save is not None
    job, where = checkpoint.read(options.save, options.jobs, _fleets(say))
    check_unchanged(options, where, is_pipe(options))
    return job, where


def _open_files(options: StreamOptions, job: Job, where: Where, is_resumed: bool) -> Files:
    """Everything the run writes to; cut back to the checkpoint if it is resumed.

    The first checkpoint is written before any other file exists, so that whatever is found later can be resumed.
    """
    if not is_resumed:
        _refuse_existing(options)
    files = Files(model=None if options.save is None else Path(options.save))
    if files.model is not None:
        files.journal = _open_journal(_beside(files.model, ".journal"), where, is_live(options), is_resumed)
        if not is_resumed:
            checkpoint.write(files.model, job, where)
            if files.journal is not None:
                files.journal.clear()
    out = where.out if is_resumed else options.out
    if out is not None:
        if files.model is not None and where.is_finished and format_of(out) == "parquet":
            _unfinish(Path(out), files.model, job, where)
        output = _open_output(out, where.out_position, is_resumed, options.overwrite)
        files.answers = AnswerFile(output, format_of(out), job.plan.key_field)
        if format_of(out) == "parquet":
            # From here on it is there only if the run is finished and the file complete. What replaces it is open.
            Path(out).unlink(missing_ok=True)
    if options.skips_bad:
        base = files.model or (Path(out) if out not in (None, "-") else None)
        if base is not None:
            bad = _beside(base, ".bad.jsonl")
            files.bad = Output.reopen(bad, where.bad_position) if is_resumed else Output.create(bad, overwrite=True)
    return files


def _open_journal(path: Path, where: Where, is_live: bool, is_resumed: bool) -> Journal | None:
    """The journal of a live source, or one that was left behind: rows of a file that was followed must not come twice.

    What a journal holds of a run that is started anew stays until the first checkpoint has replaced the old one; the
    new one counts on from there, so that it is not taken for its own.
    """
    if not is_live and not path.is_file():
        return None
    journal = Journal(path, where.sequence)
    if not is_resumed:
        journal.skip()
        where.sequence = journal.sequence
    return journal


def _unfinish(out: Path, model: Path, job: Job, where: Where) -> None:
    """Parquet cannot be continued: the answers of a finished run become what they were made from again.

    The Parquet file stays until they, and then a checkpoint that says so, are on disk.
    """
    running = replace(where, out_position=_collected(out, job), is_finished=False)
    checkpoint.write(model, job, running)
    vars(where).update(vars(running))


def _collected(out: Path, job: Job) -> int:
    """Bytes of all answers of a finished run, collected again from Parquet where that was written already."""
    spool, n_rows = spool_of(out), job.counters.rows
    if spool.is_file():
        return spool.stat().st_size
    if not out.is_file() and n_rows:
        raise InputError(
            f"{out} is gone, but the run has written {n_rows:,} rows to it; bring it back, or start anew with "
            "--overwrite instead of --resume"
        )
    return unfold_parquet(out, job.plan.key_field) if out.is_file() else 0


def _refuse_existing(options: StreamOptions) -> None:
    """Before a model is written: would the answers find their place taken?"""
    if options.out not in (None, "-") and not options.overwrite:
        for path in {Path(options.out or ""), spool_of(Path(options.out or ""))}:
            if path.exists() or path.is_symlink():
                raise UsageError(f"--out {path} exists; choose another name, or say --overwrite")


def _open_output(out: str, position: int, is_resumed: bool, overwrite: bool) -> Output:
    if out == "-":
        return Output.standard()
    path = spool_of(Path(out))
    if is_resumed:
        return Output.reopen(path, position)
    if Path(out).exists() and not overwrite:
        raise UsageError(f"--out {out} exists; choose another name, or say --overwrite")
    return _as_usage(lambda: Output.create(path, overwrite))


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _close(files: Files) -> None:
    if files.answers is not None:
        files.answers.output.close()
    if files.bad is not None:
        files.bad.close()
    if files.journal is not None:
        files.journal.close()
