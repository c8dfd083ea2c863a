"""``iegp embed``: rows of numbers in, a map out; stopped or killed, it goes on where it was."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from iegp.cli.embed_files import Block, RowSource, open_rows, write_map
from iegp.cli.options import UsageError, parse_every
from iegp.cli.signals import StopSignals
from iegp.errors import IegpError, ModelFileError
from iegp.estimators import load
from iegp.estimators.latent import IEGPLVM
from iegp.storage import model_file as modelfile
from iegp.stream.checkpoint import prefix_of
from iegp.typing import Arrays, Float

# Rows that are learned together; fixed, so that a resumed run repeats the same blocks.
BLOCK = 512
# A column that varies so many times as much as a typical one decides the map alone.
_MANY_TIMES = 20.0
# What a resumed run keeps as it was.
_FIXED = ("label", "features", "ignore", "components", "warmup", "frequencies", "init", "max_stored", "seed")


@dataclass(frozen=True)
class EmbedOptions:
    """One entry per flag."""

    source: str
    out: str
    figure: str | None = None
    label: str | None = None
    features: str | None = None
    ignore: str | None = None
    save: str | None = None
    resume: bool = False
    overwrite: bool = False
    checkpoint_every: str = "30s"
    components: int | None = None
    warmup: int | None = None
    frequencies: int | None = None
    init: str | None = None
    max_stored: int | None = None
    stitched: bool = False
    limit: int | None = None
    seed: int = 0
    quiet: bool = False

    def model(self) -> IEGPLVM:
        given: dict[str, Any] = {
            "n_components": self.components,
            "warmup": self.warmup,
            "n_frequencies": self.frequencies,
            "init": self.init,
            "max_stored": self.max_stored,
        }
        return IEGPLVM(**{name: value for name, value in given.items() if value is not None}, random_state=self.seed)


@dataclass
class Course:
    """How far a run has come: the model, the labels of its rows, and where the source goes on."""

    model: IEGPLVM
    columns: tuple[str, ...] = ()
    labels: list[str] = field(default_factory=list)
    position: tuple[int, int, int] = (0, 1, 0)
    prefix: tuple[int, str] = (0, "")
    flags: dict[str, Any] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return self.model.n_samples_seen_ if self.model.__sklearn_is_fitted__() else 0


def embed(options: EmbedOptions) -> int:
    """Run to the end; the exit code."""
    # Without markup, because names of columns and files may look like it.
    say = Console(stderr=True, quiet=options.quiet, highlight=False, soft_wrap=True, markup=False, emoji=False)
    _check(options)
    is_resumed = options.resume and options.save is not None and Path(options.save).exists()
    if is_resumed:
        course = _read(options)
        options = _as_before(options, course.flags)
        say.print(f"Resumed at row {course.n_rows:,}")
    else:
        flags = {name: getattr(options, name) for name in _FIXED}
        course = Course(options.model(), prefix=prefix_of(Path(options.source), 4096), flags=flags)
    with StopSignals() as stop, open_rows(options, course.columns, course.position) as source, _bar(say) as bar:
        course.columns = source.columns
        try:
            _learn(options, course, source, stop, bar)
        except IegpError:
            # A row that cannot be used: the blocks before it are kept, and the run goes on there once it is put right.
            if options.save is not None and course.n_rows:
                _write(Path(options.save), course)
            raise
        if options.save is not None:
            _write(Path(options.save), course)
        code = stop.exit_code
    if code:
        say.print(f"Stopped at row {course.n_rows:,}" + ("" if options.save is None else "; go on with --resume"))
        return code
    if course.n_rows < 2:
        raise UsageError(f"{options.source} has {course.n_rows} rows; a map needs at least two")
    _finish(options, course, say)
    return 0


def _check(options: EmbedOptions) -> None:
    parse_every(options.checkpoint_every)
    if Path(options.out).suffix.lower() not in (".csv", ".parquet", ".npz"):
        raise UsageError(f"--out {options.out}: use a name that ends in .csv, .parquet or .npz")
    if options.resume and options.save is None:
        raise UsageError("--resume continues the run saved with --save MODEL; say which")
    if options.save is not None and Path(options.save).exists() and not (options.resume or options.overwrite):
        raise UsageError(f"--save {options.save} exists; say --resume to continue it, or --overwrite to start anew")
    if Path(options.out).exists() and not (options.overwrite or options.resume):
        raise UsageError(f"--out {options.out} exists; choose another name, or say --overwrite")
    if not Path(options.source).is_file():
        raise UsageError(f"{options.source} is not a file")
    if options.limit is not None and options.limit < 2:
        raise UsageError(f"--limit {options.limit} leaves no map; give at least 2")


def _learn(options: EmbedOptions, course: Course, source: RowSource, stop: StopSignals, bar: Progress) -> None:
    rows_between, seconds_between = parse_every(options.checkpoint_every)
    saved_rows, saved_time = course.n_rows, time.monotonic()
    task = bar.add_task("laying out the first rows", total=source.n_total)
    for block in _blocks(options, course, source):
        if len(block.rows):
            if course.n_rows == 0:
                _warn_of_units(block.rows, source.columns, bar.console)
            course.model.partial_fit(block.rows)
            course.labels += block.labels
        course.position = block.position
        weights = "" if _is_warming_up(course.model) else f", best expert {course.model.expert_weights_.max():.0%}"
        bar.update(task, completed=course.n_rows, description=f"{course.n_rows:,} rows{weights}")
        due = rows_between is not None and course.n_rows - saved_rows >= rows_between
        due |= seconds_between is not None and time.monotonic() - saved_time >= seconds_between
        if due and options.save is not None:
            _write(Path(options.save), course)
            saved_rows, saved_time = course.n_rows, time.monotonic()
        if stop():
            return


def _warn_of_units(rows: Float, columns: tuple[str, ...], say: Console) -> None:
    """One column that varies far more than the others decides the whole map."""
    spread = np.nanmax(rows, axis=0) - np.nanmin(rows, axis=0) if not np.isnan(rows).all(axis=0).any() else np.ones(1)
    largest, typical = float(spread.max()), float(np.median(spread))
    if len(rows) > 1 and largest > _MANY_TIMES * typical > 0.0:
        name = columns[int(spread.argmax())]
        say.print(
            f"Column {name!r} varies {largest / typical:,.0f} times as much as the others and will decide the map; "
            "bring columns to one scale first if their units differ"
        )


def _is_warming_up(model: IEGPLVM) -> bool:
    return not model.__sklearn_is_fitted__() or model.n_samples_seen_ < model.warmup


def _blocks(options: EmbedOptions, course: Course, source: RowSource) -> Iterator[Block]:
    """Blocks that end at row numbers which are multiples of BLOCK, whatever the source has ready."""
    while True:
        wanted = BLOCK - course.n_rows % BLOCK
        if options.limit is not None:
            wanted = min(wanted, options.limit - course.n_rows)
        parts: list[Block] = []
        while wanted > 0 and (part := source.read(wanted)) is not None:
            parts.append(part)
            wanted -= len(part.rows)
        if not parts:
            return
        labels = [label for part in parts for label in part.labels]
        yield Block(np.concatenate([part.rows for part in parts]), labels, parts[-1].position)


# -- storing -----------------------------------------------------------------------------------------------------------


def _write(path: Path, course: Course) -> None:
    """The model with how far it has come, one file, replaced atomically; :func:`iegp.load` reads the model."""
    header, arrays = course.model.to_parts()
    names = list(dict.fromkeys(course.labels))
    number_of = {name: number for number, name in enumerate(names)}
    codes = np.array([number_of[label] for label in course.labels], dtype=np.int64)
    header["embed"] = {
        "columns": list(course.columns),
        "labels": names,
        "position": list(course.position),
        "prefix": list(course.prefix),
        "flags": course.flags,
    }
    modelfile.write(path, header, arrays | {"embed.labels": codes})


def _read(options: EmbedOptions) -> Course:
    assert options.save is not None
    model = load(options.save)
    header, arrays = modelfile.read(options.save)
    if not isinstance(model, IEGPLVM) or "embed" not in header:
        raise ModelFileError(f"{options.save} is not the model of a run of `iegp embed`; nothing can be resumed")
    try:
        course = _course(model, header["embed"], arrays)
    except (LookupError, TypeError, ValueError, IegpError) as error:
        raise ModelFileError(f"{options.save} is damaged ({error!r}); try an older copy") from error
    if prefix_of(Path(options.source), course.prefix[0]) != course.prefix:
        raise UsageError(f"{options.source} begins differently from what {options.save} has read")
    return course


def _course(model: IEGPLVM, stored: dict[str, Any], arrays: Arrays) -> Course:
    names = [str(name) for name in stored["labels"]]
    codes = arrays["embed.labels"]
    if codes.ndim != 1 or codes.dtype != np.int64 or (len(codes) and not 0 <= codes.min() <= codes.max() < len(names)):
        raise ValueError("the labels do not fit their names")
    offset, line, record = (int(value) for value in stored["position"])
    length, digest = stored["prefix"]
    labels = [names[code] for code in codes.tolist()]
    columns = tuple(str(name) for name in stored["columns"])
    flags = dict(stored["flags"])
    if set(flags) != set(_FIXED) or not isinstance(flags["label"], str | None):
        raise ValueError("the flags of the run are not known")
    if len(labels) != (0 if flags["label"] is None or not model.__sklearn_is_fitted__() else model.n_samples_seen_):
        raise ValueError("there is not one label for every row")
    return Course(model, columns, labels, (offset, line, record), (int(length), str(digest)), flags)


def _as_before(options: EmbedOptions, flags: dict[str, Any]) -> EmbedOptions:
    """The flags the run was started with. What was said anew must agree; a default was not said."""
    defaults = {entry.name: entry.default for entry in fields(EmbedOptions)}
    for name in _FIXED:
        now = getattr(options, name)
        if now not in (defaults[name], flags[name]):
            raise UsageError(
                f"--{name.replace('_', '-')} {now} differs from {flags[name]} in {options.save}, and a resumed run "
                "keeps what it was started with; leave the flag out, or start anew with --overwrite"
            )
    return replace(options, **flags)


# -- the end -----------------------------------------------------------------------------------------------------------


def _finish(options: EmbedOptions, course: Course, say: Console) -> None:
    model = course.model
    positions = model.stitched_embedding_ if options.stitched else model.embedding_
    rows = model.stored_rows_
    spread: Float = model.inverse_transform(model.embedding_, return_std=True)[1][:, 0]
    labels = [course.labels[row] for row in rows] if course.labels else None
    write_map(Path(options.out), rows, positions, spread, labels)
    if options.figure is not None:
        _draw(options.figure, positions, labels, spread, f"{Path(options.source).name}: {len(rows):,} rows")
    say.print(f"Done: {course.n_rows:,} rows, {len(rows):,} on the map")
    for what, place in (("Map", options.out), ("Picture", options.figure), ("Model", options.save)):
        if place is not None:
            say.print(f"{what}: {place}")


def _draw(path: str, positions: Float, labels: list[str] | None, spread: Float, title: str) -> None:
    from iegp.plots import plot_map  # noqa: PLC0415  needs an extra that few commands need

    figure = plot_map(positions, labels, spread, title=title).get_figure(root=True)
    assert figure is not None
    figure.savefig(path, dpi=150)


def _bar(say: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), TimeElapsedColumn())
    return Progress(*columns, console=say, transient=True, disable=say.quiet or not say.is_terminal)
