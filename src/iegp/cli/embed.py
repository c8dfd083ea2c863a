"""``iegp embed``: rows of numbers in, a map out; a stopped or killed run can be resumed."""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from rich.console import Console

from iegp.cli.flags import UsageError, check_free
from iegp.cli.options import EmbedOptions
from iegp.cli.progress import Watcher
from iegp.cli.running import (
    StopSignals,
    can_resume,
    check_options,
    check_unchanged,
    console,
    only_run,
    runner_of,
    through_link,
)
from iegp.errors import IegpError
from iegp.estimators import load
from iegp.estimators.latent import IEGPLVM
from iegp.preprocessing.encoder import Problem
from iegp.readers import START, Batch, Source, open_source
from iegp.readers.npz_source import NpzSource
from iegp.storage.model_file import replace_atomically
from iegp.stream import checkpoint
from iegp.stream.answers import Answers
from iegp.stream.checkpoint import RunState
from iegp.stream.counters import Counters
from iegp.stream.job import OnBad
from iegp.stream.plan import label_name
from iegp.stream.runner import Files
from iegp.typing import Arrays, Float, Int

# A column that varies so many times as much as a typical one decides the map alone.
_MANY_TIMES = 20.0
_OTHER_FILE = "is not the model of a run of `iegp embed`; nothing can be resumed"


class MapJob:
    """A map and the labels of its rows; see :class:`iegp.stream.runner.AnyJob`. Nothing is answered before the end."""

    block = 512
    # A map depends in its last digits on how rows were cut, and every row on those before it.
    learns_part_blocks = False

    def __init__(self, model: IEGPLVM, label: str | None, columns: tuple[str, ...] = ()) -> None:
        self.model = model
        self.label = label
        self.columns = columns
        self.labels: list[str] = []
        self.counters = Counters(rows=model.n_samples_seen_ if model.__sklearn_is_fitted__() else 0)
        self.warn: Callable[[str], None] = lambda _: None
        """Called with a message about a column that will decide the map alone."""

    def absorb(self, batch: Batch, _: Callable[[Answers], None], on_bad: OnBad) -> None:
        """Learn a block; if one of its rows cannot be learned, none is."""
        if not len(batch):
            return
        absent = np.full(len(batch), np.nan)
        rows = np.column_stack([batch.columns.get(name, absent) for name in self.columns])
        if not self.counters.rows:
            self._warn_of_units(rows)
        try:
            self.model.partial_fit(rows)
        except IegpError as error:
            on_bad(0, Problem(0, None, "", f"a row from here on cannot be learned: {error}"))
            return
        if self.label is not None:
            values = batch.columns.get(self.label, absent)
            self.labels += [label_name(value) or "" for value in values]
        self.counters.rows = self.model.n_samples_seen_

    def _warn_of_units(self, rows: Float) -> None:
        """One column that varies far more than the others decides the whole map."""
        if len(rows) < 2 or np.isnan(rows).all(axis=0).any():
            return
        spread = np.nanmax(rows, axis=0) - np.nanmin(rows, axis=0)
        largest, typical = float(spread.max()), float(np.median(spread))
        if largest > _MANY_TIMES * typical > 0.0:
            self.warn(
                f"Column {self.columns[int(spread.argmax())]!r} varies {largest / typical:,.0f} times as much as the "
                "others and will decide the map; bring columns to one scale first if their units differ"
            )

    def describe(self) -> list[str]:
        """Weight of the best expert, for the line of progress."""
        is_warming_up = self.counters.rows < max(self.model.warmup, 2)
        return [] if is_warming_up else [f"best expert {self.model.expert_weights_.max():.0%}"]

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Header of a model file, and its arrays; :func:`iegp.load` reads the model."""
        header, arrays = self.model.to_parts()
        names = list(dict.fromkeys(self.labels))
        number_of = {name: number for number, name in enumerate(names)}
        codes = np.array([number_of[label] for label in self.labels], dtype=np.int64)
        entries = {"label": self.label, "columns": list(self.columns), "labels": names}
        return header | {"embed": entries}, arrays | {"embed.labels": codes}

    @classmethod
    def from_parts(cls, model: Any, stored: dict[str, Any], codes: Int) -> MapJob:
        """The inverse of :meth:`to_parts`; an error where parts do not fit."""
        names = [str(name) for name in stored["labels"]]
        label = stored["label"]
        if not isinstance(label, str | None):
            raise ValueError("the column of labels has no name")
        job = cls(model, label, tuple(str(name) for name in stored["columns"]))
        in_range = len(codes) == 0 or 0 <= codes.min() <= codes.max() < len(names)
        if codes.ndim != 1 or codes.dtype != np.int64 or not in_range:
            raise ValueError("the labels do not fit their names")
        job.labels = [names[code] for code in codes.tolist()]
        if len(job.labels) != (0 if label is None else job.counters.rows):
            raise ValueError("there is not one label for every row")
        return job


def embed(options: EmbedOptions) -> int:
    """Run to the end; the exit code."""
    _check(options)
    options = through_link(options)
    with only_run(options):
        return _embed(options, console(options.quiet))


def _embed(options: EmbedOptions, say: Console) -> int:
    is_resumed = can_resume(options, say)
    job, run_state = _resume(options) if is_resumed else _begin(options)
    if is_resumed:
        say.print(f"Resumed at row {job.counters.rows:,}")
    job.warn = say.print
    files = Files(model=None if options.save is None else Path(options.save))
    watcher = Watcher(job.counters, job.describe, options.quiet)
    with StopSignals() as stop, _open(options, job, run_state) as source, watcher:
        job.columns = job.columns or _columns(options, source)
        runner_of(options, job, run_state, files, stop, watcher).run(source)
        code = stop.exit_code
    n_rows = job.counters.rows
    if code:
        say.print(f"Stopped at row {n_rows:,}" + ("" if options.save is None else "; continue with --resume"))
        return code
    if n_rows < 2:
        raise UsageError(f"{options.source} has {n_rows} rows; a map needs at least two")
    _finish(options, job, say)
    return 0


def _check(options: EmbedOptions) -> None:
    check_options(options, (options.source,), out=options.out, figure=options.figure)
    if Path(options.out).suffix.lower() not in (".csv", ".parquet", ".npz"):
        raise UsageError(f"--out {options.out}: use a name that ends in .csv, .parquet or .npz")
    check_free("out", options.out, options.overwrite or options.resume)
    if not Path(options.source).is_file():
        raise UsageError(f"{options.source} is not a file")
    if options.figure is not None:
        _check_figure(options.figure)
    if options.limit is not None and options.limit < 2:
        raise UsageError(f"--limit {options.limit} leaves no map; give at least 2")


def _check_figure(name: str) -> None:
    """Refuse a picture that could not be drawn at the end."""
    if Path(name).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UsageError(f"--figure {name}: use a name that ends in .png, .svg or .pdf")
    if find_spec("matplotlib") is None:
        raise UsageError(f"--figure {name} needs matplotlib: pip install matplotlib")


def _begin(options: EmbedOptions) -> tuple[MapJob, RunState]:
    given: dict[str, Any] = {
        "n_components": options.components,
        "warmup": options.warmup,
        "n_frequencies": options.frequencies,
        "init": options.init,
        "max_stored": options.max_stored,
    }
    said = {name: value for name, value in given.items() if value is not None}
    job = MapJob(IEGPLVM(**said, random_state=options.seed), options.label)
    prefix = checkpoint.prefix_of(Path(options.source), 0)
    return job, RunState(options.source, {}, options.recorded(), prefix=prefix)


def _resume(options: EmbedOptions) -> tuple[MapJob, RunState]:
    assert options.save is not None
    path = options.save

    def restore(header: dict[str, Any], arrays: Arrays) -> MapJob:
        return MapJob.from_parts(load(path), header["embed"], arrays["embed.labels"])

    job, run_state = checkpoint.read_as(path, IEGPLVM.__name__, lambda _: _OTHER_FILE, restore)
    check_unchanged(options, run_state)
    return job, run_state


def _open(options: EmbedOptions, job: MapJob, run_state: RunState) -> Source:
    if Path(options.source).suffix.lower() == ".npz":
        return NpzSource(options.source, job.label, run_state.position)
    keep = () if job.label is None else (job.label,)
    position = None if run_state.position == START else run_state.position
    return open_source(options.source, keep_text=keep, position=position, schema=run_state.schema or None)


def _columns(options: EmbedOptions, source: Source) -> tuple[str, ...]:
    """The columns that make the map: all but the label, or those that ``--features`` names."""
    names, name_of_file = source.names, options.source
    chosen = options.features or names
    for name in (*chosen, *([options.label] if options.label else [])):
        if name not in names:
            raise UsageError(f"there is no column {name!r} in {name_of_file}; columns: {', '.join(names[:20])}")
    kinds = source.schema()["columns"]
    found = tuple(name for name in chosen if name not in (options.label, *options.ignore))
    text = [name for name in found if kinds.get(name) == "text"]
    if text:
        raise UsageError(f"column {text[0]!r} of {name_of_file} is text, and a map is made of numbers; --ignore it")
    if not found:
        raise UsageError(f"no column of {name_of_file} is left to make a map of")
    return found


# -- the end -----------------------------------------------------------------------------------------------------------


def _finish(options: EmbedOptions, job: MapJob, say: Console) -> None:
    model = job.model
    positions = model.stitched_embedding_ if options.stitched else model.embedding_
    rows = model.stored_rows_
    spread: Float = model.inverse_transform(model.embedding_, return_std=True)[1][:, 0]
    labels = [job.labels[row] for row in rows] if job.labels else None
    _write_map(Path(options.out), rows, positions, spread, labels)
    if options.figure is not None:
        _draw(Path(options.figure), positions, labels, spread, f"{Path(options.source).name}: {len(rows):,} rows")
    say.print(f"Done: {job.counters.rows:,} rows, {len(rows):,} on the map")
    for what, place in (("Map", options.out), ("Picture", options.figure), ("Model", options.save)):
        if place is not None:
            say.print(f"{what}: {place}")


def _write_map(path: Path, rows: Int, positions: Float, spread: Float, labels: list[str] | None) -> None:
    """Number of the row, its coordinates, the standard deviation of a row there, and its label."""
    columns: dict[str, Any] = {"row": rows}
    columns |= {f"z{number + 1}": positions[:, number] for number in range(positions.shape[1])}
    columns |= {"std": spread} | ({} if labels is None else {"label": np.array(labels)})
    buffer = io.BytesIO()
    if path.suffix.lower() == ".npz":
        np.savez_compressed(buffer, **columns)
    else:
        table = pa.table({name: pa.array(values) for name, values in columns.items()})
        if path.suffix.lower() == ".csv":
            pyarrow.csv.write_csv(table, buffer)
        else:
            pq.write_table(table, buffer)
    replace_atomically(path, buffer.getvalue())


def _draw(path: Path, positions: Float, labels: list[str] | None, spread: Float, title: str) -> None:
    from iegp.plots import plot_map  # noqa: PLC0415  needs an extra that few commands need

    figure = plot_map(positions, labels, spread, title=title).get_figure(root=True)
    assert figure is not None
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=150, format=path.suffix[1:] or None)
    replace_atomically(path, buffer.getvalue())
