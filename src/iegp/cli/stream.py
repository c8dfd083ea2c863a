"""``iegp stream``: from options to a run, and from a run to its files and its last words."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from iegp.cli import key_summary as by_key
from iegp.cli.models import settings_of
from iegp.cli.options import FREE_ON_RESUME, StreamOptions, UsageError, parse_every
from iegp.cli.progress import Watcher
from iegp.cli.signals import StopSignals
from iegp.cli.sources import is_live, is_pipe, labels_in, names_not_properties, open_first, open_for
from iegp.cli.summary import finish, last_words, top_expert
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
from iegp.stream.runner import Every, Files, Runner


def stream(options: StreamOptions, given: frozenset[str]) -> int:
    """Run to the end; the exit code."""
    # Without markup, because names of columns and files may look like it.
    say = Console(stderr=True, quiet=options.quiet, highlight=False, soft_wrap=True, markup=False, emoji=False)
    _check(options)
    is_resumed = _can_resume(options, say)
    with StopSignals() as stop, contextlib.ExitStack() as opened:
        source: Source | None = None
        if is_resumed:
            job, where = _resume(options, given, say)
        else:
            begun = _begin(options, stop, say)
            if begun is None:
                say.print("Stopped before the first record; nothing was written")
                return stop.exit_code
            job, where, source = begun
            opened.enter_context(source)
        files = _open_files(options, job, where, is_resumed)
        watcher = Watcher(job, lambda: top_expert(job), options.quiet)
        runner = Runner(
            job,
            where,
            files,
            skips_bad=options.on_bad_row == "skip",
            every=Every(*parse_every(options.checkpoint_every)),
            limit=options.limit,
            should_stop=stop,
            watch=watcher,
        )
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
        last_words(options, job, say, was_stopped=stop())
        return stop.exit_code


# -- before ------------------------------------------------------------------------------------------------------------


def _check(options: StreamOptions) -> None:
    if options.on_bad_row not in ("stop", "skip"):
        raise UsageError(f"--on-bad-row {options.on_bad_row} is not known; use stop or skip")
    if options.limit is not None and options.limit < 0:
        raise UsageError(f"--limit {options.limit} must be at least 0")
    if options.jobs < 1:
        raise UsageError(f"--jobs {options.jobs} must be at least 1")
    if options.resume and options.save is None:
        raise UsageError("--resume continues the run saved with --save MODEL; say which")
    if options.follow and options.source == "-":
        raise UsageError("--follow is for a growing file; standard input is followed anyway")
    for flag, name in (("--out", options.out), ("--save", options.save), ("--report", options.report)):
        if name is not None and name != "-" and not Path(name).absolute().parent.is_dir():
            raise UsageError(f"{flag} {name}: the folder {Path(name).parent} does not exist; make it first")
    if options.out is not None:
        _as_usage(lambda: format_of(options.out or ""))
    parse_every(options.checkpoint_every)


def _as_usage(build: Any) -> Any:
    try:
        return build()
    except UsageError:
        raise
    except InputError as error:
        raise UsageError(str(error)) from error


def _can_resume(options: StreamOptions, say: Console) -> bool:
    if options.save is None:
        return False
    exists = Path(options.save).exists()
    if exists and not options.resume and not options.overwrite:
        raise UsageError(f"--save {options.save} exists; say --resume to continue it, or --overwrite to start anew")
    if options.resume and not exists:
        say.print(f"{options.save} does not exist yet: starting at the first row")
    return exists and options.resume


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
        plan: Plan = _as_usage(lambda: _plan(options, task, source.names, tuple(unused)))
        if why:
            say.print(f"Task: {task} ({options.target!r}: {why})")
        for name, advice in unused.items():
            say.print(f"Not used: {name!r}, text with more than {MOST_CATEGORIES} different values; {advice}")
        n_classes = len(plan.order or plan.classes)
        settings = settings_of(options.model, task, options.seed, options.parameters, n_classes)
        job = Job(plan, settings, source.schema()["format"] != "jsonl", _fleets(say))
        job.n_threads = options.jobs
        config = {name: value for name, value in asdict(options).items() if name not in FREE_ON_RESUME}
        where = Where(options.source, {}, config | {"task": task, "id": plan.id}, out=options.out)
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


def _resume(options: StreamOptions, given: frozenset[str], say: Console) -> tuple[Job, Where]:
    """The run as it was saved. What would change its answers may not be said anew."""
    assert options.save is not None
    job, where = checkpoint.read(options.save, options.jobs, _fleets(say))
    for name in given - set(FREE_ON_RESUME):
        before, now = where.config.get(name), getattr(options, name)
        now = list(now) if isinstance(now, tuple) else now
        before = list(before) if isinstance(before, tuple) else before
        if before != now:
            raise UsageError(
                f"--{name.replace('_', '-')} {now} differs from {before} in {options.save}, and a resumed run keeps "
                "what it was started with; leave the flag out, or start anew with --overwrite"
            )
    was_pipe = where.prefix == Where.prefix
    if is_pipe(options) != was_pipe:
        kinds = ("a file", "a pipe") if is_pipe(options) else ("a pipe", "a file")
        raise InputError(
            f"{options.save} was reading {kinds[0]}, and {options.source} is {kinds[1]}; resume with the same source"
        )
    if not was_pipe and checkpoint.prefix_of(_existing(options.source), where.prefix[0]) != where.prefix:
        raise InputError(
            f"{options.source} begins differently from what {options.save} has read; resume with the same source"
        )
    where.source = options.source
    return job, where


def _existing(source: str) -> Path:
    if not Path(source).is_file():
        raise InputError(f"{source} does not exist; resume with the same source")
    return Path(source)


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
    if options.on_bad_row == "skip":
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
    return _as_usage(lambda: Output.create(path, overwrite))  # type: ignore[no-any-return]


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _close(files: Files) -> None:
    if files.answers is not None:
        files.answers.output.close()
    if files.bad is not None:
        files.bad.close()
    if files.journal is not None:
        files.journal.close()
