"""Opening what a run reads: looking at the first records to find the task, then reading from the start."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.cli.options import StreamOptions
from iegp.preprocessing.encoder import MOST_CATEGORIES
from iegp.preprocessing.time_features import read_time
from iegp.readers import Batch, Position, Records, Source, open_source
from iegp.stream.job import BLOCK
from iegp.stream.plan import Plan

# How many records of a file tell what kind of label the target is.
_ENOUGH = 1000


def is_pipe(options: StreamOptions) -> bool:
    """Whether the source cannot be read again: standard input, a named pipe, the output of another command."""
    if options.source == "-":
        return True
    path = Path(options.source)
    return path.exists() and not path.is_file() and not path.is_dir()


def is_live(options: StreamOptions) -> bool:
    """Whether records come when they come."""
    return options.follow or is_pipe(options)


def open_first(options: StreamOptions, wakeup: int) -> tuple[Source, Batch | None]:
    """The source from its start, labels as text, and its first records (none if a live source was interrupted)."""
    named = (options.id or "id", options.target, options.time, options.key)
    keep = {name for name in named if name} - set(options.features or ())
    source = _open(options, wakeup, keep, None, None)
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


def labels_in(first: Batch | None, target: str) -> NDArray[Any]:
    """The labels of the first records."""
    none = np.full(0, None, dtype=object)
    return none if first is None else first.columns.get(target, none)


def names_not_properties(first: Batch | None, options: StreamOptions) -> dict[str, str]:
    """Text columns with so many different values that they name rows rather than describe them, and what they may be.

    Only among the first records of a file, and only columns that nobody asked for.
    """
    apart = {options.target, options.id, options.time, options.key, "id", *options.ignore, *(options.features or ())}
    found = {}
    for name, values in ({} if first is None else first.columns).items():
        texts = [] if values.dtype != object else [str(value) for value in values if value is not None]
        if name in apart or len(set(texts)) <= MOST_CATEGORIES:
            continue
        is_time = all(read_time(text) is not None for text in texts[:20])
        found[name] = f"--time {name} makes features of it" if is_time else f"--id {name} if it names the rows"
    return found


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
    return _open(options, wakeup, keep, position, schema, plan.ignore)


def _open(
    options: StreamOptions,
    wakeup: int,
    keep: set[str],
    position: Position | None,
    schema: dict[str, Any] | None,
    drop: tuple[str, ...] = (),
) -> Source:
    return open_source(
        options.source,
        format=options.format,
        follow=options.follow,
        position=position,
        schema=schema,
        keep_text=keep,
        drop=drop,
        wakeup=wakeup,
    )
