"""The files of a run of ``iegp stream``: what it reads, and what it writes, new or cut back to the last checkpoint."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iegp.cli.flags import as_usage, check_free
from iegp.cli.options import StreamOptions
from iegp.errors import InputError
from iegp.preprocessing.encoder import MOST_CATEGORIES
from iegp.preprocessing.time_features import forms_of, read_time
from iegp.readers import Batch, NumberStyle, Position, Records, Source, object_array, open_source
from iegp.storage import locks
from iegp.storage.model_file import real_path
from iegp.stream import checkpoint
from iegp.stream.alarm import Alarm
from iegp.stream.answer_parquet import spool_of, unfold_parquet
from iegp.stream.answer_reader import sidecar_of
from iegp.stream.answer_writer import AnswerFile, Output, format_of
from iegp.stream.checkpoint import RunState
from iegp.stream.job import BLOCK, Job
from iegp.stream.journal import Journal
from iegp.stream.plan import Plan, style_hint
from iegp.stream.runner import Files

# Records of a file from which the kind of the target is found.
_ENOUGH = 1000
# Records of a pipe from which a column with no value twice is one of names: of 50 categories, 20 records would all
# differ once in a hundred times.
_ENOUGH_NAMES = 20


def is_pipe(options: StreamOptions) -> bool:
    """Whether the source cannot be read again: standard input, a named pipe, the output of another command."""
    if options.source == "-":
        return True
    path = Path(options.source)
    return not options.more and path.exists() and not path.is_file() and not path.is_dir()


def is_live(options: StreamOptions) -> bool:
    """Whether records arrive over time: a pipe or a followed file."""
    return options.follow or is_pipe(options)


def open_first(options: StreamOptions, wakeup: int) -> tuple[Source, Batch | None]:
    """The source from its start, labels as text, and its first records (none if a live source was interrupted)."""
    named = (options.id or "id", options.target, options.time, options.key)
    keep = {name for name in named if name} - set(options.features or ())
    style = NumberStyle(options.na_values, options.decimal, options.thousands)
    as_usage(style.check)
    source = _open(options, wakeup, Reading(keep, style))
    parts: list[Records] = []
    while sum(map(len, parts)) < _ENOUGH:
        records = source.read(BLOCK)
        if records is None:
            break
        parts.append(records)
        if source.is_live:
            break
    if source.is_live and parts:
        source.unread(parts[0].n_records)
    found = [part for part in parts if len(part)]
    return source, Records.joined(found) if found else None


def labels_in(first: Batch | None, options: StreamOptions) -> NDArray[Any]:
    """The labels of the first records; numbers of another style than Python's as numbers."""
    none = np.full(0, None, dtype=object)
    labels = none if first is None else first.columns.get(options.target or "", none)
    style = NumberStyle((), options.decimal, options.thousands)
    if labels.dtype != object or style.is_plain:
        return labels
    numbers = [style.plain(text) if isinstance(text, str) else text for text in labels]
    return object_array([label if number is None else number for label, number in zip(labels, numbers, strict=True)])


def identifier_columns(first: Batch | None, options: StreamOptions) -> dict[str, str]:
    """Text columns that name rows or moments rather than describe them, and what they may be.

    Only among the first records, and only columns that no option names. In a file they have many different values. Of a
    pipe few records may be known, and it must be answered at once: there a column is out as well if all its values are
    times, or all different in a number of records that leaves little to chance.
    """
    apart = {options.target, options.id, options.time, options.key, "id", *options.ignore, *(options.features or ())}
    found, style = {}, NumberStyle()
    for name, values in ({} if first is None else first.columns).items():
        texts = [] if values.dtype != object else [str(value) for value in values if value is not None]
        if name in apart or not texts:
            continue
        is_time = all(read_time(text) is not None for text in texts[:20])
        is_stamp = is_time and style.plain(texts[0]) is None
        is_many = len(set(texts)) > MOST_CATEGORIES
        is_name = len(texts) >= _ENOUGH_NAMES and len(set(texts)) == len(texts)
        if is_many or (is_live(options) and (is_stamp or is_name)):
            found[name] = _advice(name, texts, is_time, is_many)
    return found


def _advice(name: str, texts: list[str], is_time: bool, is_many: bool) -> str:
    """Why a column is not used, and what it may be."""
    why = "text with more than {MOST_CATEGORIES} different values" if is_many else "text that differs in every record"
    why = "times" if is_time else why.format(MOST_CATEGORIES=MOST_CATEGORIES)
    flags = None if is_time else style_hint(texts)
    if flags is not None:
        return f"{why} that look like numbers; {flags} reads them"
    forms = [] if is_time else forms_of(texts[:20])
    if forms:
        either = " or ".join(f"'{form}'" for form in forms)
        return f"{why} that look like times; --time {name} --time-format {either} makes features of it"
    return f"{why}; --time {name} makes features of it" if is_time else f"{why}; --id {name} if it names the rows"


class Reading(NamedTuple):
    """How a source is read: columns that stay text, how text says numbers, columns to leave out, where to resume."""

    keep: Collection[str]
    style: NumberStyle
    drop: tuple[str, ...] = ()
    position: Position | None = None
    schema: dict[str, Any] | None = None


def open_for(
    plan: Plan,
    options: StreamOptions,
    wakeup: int,
    position: Position | None,
    schema: dict[str, Any] | None,
    categories: Collection[str] = (),
) -> Source:
    """The source as the plan wants it: ids, times, keys and classes as text.

    The labels of a live source are text in any case: it could not be read again once the task was known.
    """
    keep = {name for name in (plan.id, plan.time, plan.key) if name is not None} | set(categories)
    was_text = schema is not None and schema["columns"].get(plan.target) == "text"
    if plan.has_classes or is_live(options) or was_text:
        keep.add(plan.target)
    return _open(options, wakeup, Reading(keep, plan.style, plan.ignore, position, schema))


def _open(options: StreamOptions, wakeup: int, reading: Reading) -> Source:
    return open_source(
        options.sources,
        format=options.format,
        follow=options.follow,
        position=reading.position,
        schema=reading.schema,
        keep_text=reading.keep,
        drop=reading.drop,
        wakeup=wakeup,
        style=reading.style,
    )


def open_files(options: StreamOptions, job: Job, run_state: RunState, is_resumed: bool) -> Files:
    """Everything the run writes to; cut back to the checkpoint if it is resumed.

    The first checkpoint is written before any other file exists, so that whatever is found later can be resumed.
    """
    if not is_resumed:
        _refuse_existing(options)
    files = Files(model=None if options.save is None else Path(options.save))
    if files.model is not None:
        files.journal = _open_journal(_beside(files.model, ".journal"), run_state, is_live(options), is_resumed)
        if not is_resumed:
            checkpoint.write(files.model, job, run_state)
            if files.journal is not None:
                files.journal.clear()
    out = run_state.out if is_resumed else options.out
    if out is not None:
        if files.model is not None and run_state.is_finished and format_of(out) == "parquet":
            _unfinish(Path(out), files.model, job, run_state)
        output = _open_output(out, run_state.out_position, is_resumed, options.overwrite)
        is_guarded = bool(run_state.config.get("guard_formulas"))
        files.answers = AnswerFile(output, format_of(out), job.plan.key_field, is_guarded)
        if format_of(out) == "parquet":
            # From here on it is there only if the run is finished and the file complete. What replaces it is open.
            Path(out).unlink(missing_ok=True)
    if options.skips_bad:
        bad = bad_records_of(options.save, out)
        if bad is not None:
            files.bad = Output.reopen(bad, run_state.bad_position) if is_resumed else Output.create(bad, overwrite=True)
    if options.alarm is not None or options.alarm_command:
        files.alarm = Alarm(options.alarm, options.alarm_command)
    return files


def files_beside(options: StreamOptions) -> list[tuple[str, Path]]:
    """Files that a run writes without their being named, each with the flag that it is for."""
    found = []
    if options.save is not None:
        model = real_path(Path(options.save))
        found += [("save", _beside(model, ".journal")), ("save", locks.lock_of(model))]
    if options.out not in (None, "-"):
        out = Path(options.out or "")
        found += [("out", path) for path in (sidecar_of(out), spool_of(out)) if path != out]
    bad = bad_records_of(options.save, options.out) if options.skips_bad else None
    return found if bad is None else [*found, ("on-bad-row", bad)]


def bad_records_of(save: str | None, out: str | None) -> Path | None:
    """Where records that cannot be used are set aside: beside the model, or else beside the answers."""
    base = save or (None if out == "-" else out)
    return None if base is None else _beside(Path(base), ".bad.jsonl")


def _open_journal(path: Path, run_state: RunState, is_live: bool, is_resumed: bool) -> Journal | None:
    """The journal of a live source, or one that was left behind: rows of a file that was followed must not come twice.

    What a journal holds of a run that is started anew stays until the first checkpoint has replaced the old one; the
    new one counts on from there, so that it is not taken for its own.
    """
    if not is_live and not path.is_file():
        return None
    journal = Journal(path, run_state.sequence)
    if not is_resumed:
        journal.skip()
        run_state.sequence = journal.sequence
    return journal


def _unfinish(out: Path, model: Path, job: Job, run_state: RunState) -> None:
    """Parquet cannot be continued: the answers of a finished run become what they were made from again.

    The Parquet file stays until they, and then a checkpoint that says so, are on disk.
    """
    running = replace(run_state, out_position=_collected(out, job), is_finished=False)
    checkpoint.write(model, job, running)
    vars(run_state).update(vars(running))


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
    if options.out not in (None, "-"):
        for path in (Path(options.out or ""), spool_of(Path(options.out or ""))):
            check_free("out", path, options.overwrite)


def _open_output(out: str, position: int, is_resumed: bool, overwrite: bool) -> Output:
    if out == "-":
        return Output.standard()
    path = spool_of(Path(out))
    if is_resumed:
        return Output.reopen(path, position)
    check_free("out", out, overwrite)
    return as_usage(lambda: Output.create(path, overwrite))


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)
