"""``iegp forecast``: the next rows of one or many series, with the scores of every earlier origin."""

from __future__ import annotations

import csv
import io
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from iegp.cli.flags import UsageError, as_usage, check_free, check_outputs, check_page
from iegp.cli.options import ForecastOptions
from iegp.cli.printable import printable
from iegp.errors import InputError
from iegp.estimators import IEGPForecaster
from iegp.preprocessing.time_features import as_iso, check_time_format, how_to_write, read_time, seconds_since_1970
from iegp.readers import NumberStyle, Records, open_source
from iegp.report.forecast_page import SeriesForecast, write_forecast_report
from iegp.storage.model_file import replace_atomically
from iegp.stream.answer_text import guarded
from iegp.stream.plan import in_style, style_hint
from iegp.typing import Float

_BLOCK = 65_536


class _Table(NamedTuple):
    """The columns of the file that are used."""

    y: Float
    lines: Any
    """(n,): where each row stands in the file."""
    time: Float | None
    """(n,): seconds since 1970."""
    key: Any
    """(n,): text; None without --key."""
    offset: Float | None = None
    """(n,): seconds by which the clock that wrote each time is ahead of UTC; NaN where it does not say."""

    @property
    def zone(self) -> tzinfo | None:
        """Time zone of the last row; None if it has none."""
        if self.offset is None or np.isnan(self.offset[-1]):
            return None
        return timezone(timedelta(seconds=float(self.offset[-1]))) if self.offset[-1] else UTC

    def coming(self, horizon: int) -> Float | None:
        """(horizon,): times of the coming rows, the least distance between rows apart."""
        if self.time is None:
            return None
        return np.asarray(self.time[-1] + np.diff(self.time).min() * np.arange(1, horizon + 1))

    def by_key(self) -> Iterator[tuple[str, _Table]]:
        """Series in the order in which they begin."""
        if self.key is None:
            yield "", self
            return
        for name in dict.fromkeys(self.key):
            rows = self.key == name
            time, offset = (None if values is None else values[rows] for values in (self.time, self.offset))
            yield str(name), _Table(self.y[rows], self.lines[rows], time, None, offset)

    def check_order(self, source: str, column: str | None) -> None:
        """Times must increase; an error names the line."""
        bad = np.flatnonzero(np.diff(self.time) <= 0.0) if self.time is not None else np.empty(0, dtype=np.int64)
        if len(bad):
            before, line = self.lines[bad[0]], self.lines[bad[0] + 1]
            raise InputError(
                f"{source}, line {line}: {column} is not after that of line {before}, the row before it; sort the rows "
                "by time, and drop copies"
            )


def forecast(options: ForecastOptions) -> int:
    """Forecast every series; the exit code."""
    season = as_usage(lambda: _season(options.season))
    for flag, name in (("time", options.time), ("key", options.key)):
        if name == options.target:
            raise UsageError(f"--target and --{flag} both name {name!r}; the series is a column of its own")
    style = NumberStyle((), options.decimal, options.thousands)
    as_usage(style.check)
    as_usage(lambda: check_time_format(options.time_format, options.time))
    for flag, path in (("out", options.out), ("report", options.report)):
        if path is not None and path != "-":
            check_free(flag, path, options.overwrite)
    check_outputs((options.source,), out=options.out, report=options.report)
    check_page("report", options.report)
    began = time.monotonic()
    found = list(_forecasts(options, _read(options, style), season))
    seconds = time.monotonic() - began
    if not found:
        raise InputError(
            f"no series of {options.source} is longer than --horizon {options.horizon}; ask for fewer rows"
        )
    text = _csv(options, found)
    if options.out == "-":
        sys.stdout.write(text)
    else:
        replace_atomically(Path(options.out), text.encode())
    if options.report is not None:
        series = [own for own, _ in found]
        write_forecast_report(options.report, options.source, options.target, series, seconds)
        sys.stderr.write(f"Report: {printable(options.report)}\n")
    return 0


def _forecasts(
    options: ForecastOptions, series: _Table, season: tuple[int, ...]
) -> Iterator[tuple[SeriesForecast, list[str]]]:
    """Each series that is long enough, and the names of its coming rows."""
    for name, table in series.by_key():
        if len(table.y) <= options.horizon:
            sys.stderr.write(f"Left out: {printable(name or options.target)} has {len(table.y)} rows, too few\n")
            continue
        model = IEGPForecaster(options.horizon, season=season, level=options.level, random_state=options.seed)
        try:
            table.check_order(options.source, options.time)
            run = model.prequential(table.y, time=table.time)
        except InputError as error:
            raise InputError(f"series {name!r}: {error}" if name else str(error)) from error
        lower, upper = model.predict_interval()
        coming = table.coming(options.horizon)
        own = SeriesForecast(name, table.y, model.predict(), lower, upper, run, min(season, default=1))
        if coming is not None and table.time is not None:
            own = own._replace(time=np.concatenate([table.time, coming]), zone=table.zone)
        if not options.quiet:
            sys.stderr.write(f"{printable(name)}{': ' if name else ''}{own.verdict}\n")
        yield own, _names(table, coming, options.horizon)


def _read(options: ForecastOptions, style: NumberStyle) -> _Table:
    text = [name for name in (options.time, options.key) if name is not None]
    parts: list[Records] = []
    with open_source(options.source, format=options.format, keep_text=text, style=style) as source:
        while (batch := source.read(_BLOCK)) is not None:
            if batch.bad:
                bad = batch.bad[0]
                raise InputError(f"{options.source}, line {bad.line}: {bad.reason} ({bad.text})")
            parts.append(batch)
    if not parts:
        raise InputError(f"{options.source} has no rows")
    records = Records.joined(parts)
    for name in (options.target, *text):
        if name not in records.columns:
            raise UsageError(f"{name!r} is not a column of {options.source}; it has {', '.join(records.columns)}")
    time, offset = (None, None) if options.time is None else _times(options, records)
    key = None if options.key is None else _keys(options, records)
    return _Table(_labels(options, records, style), np.asarray(records.lines), time, key, offset)


def _keys(options: ForecastOptions, records: Records) -> Any:
    """(n,): which series each row belongs to."""
    keys = records.columns[str(options.key)]
    for line, key in zip(records.lines, keys, strict=True):
        if key is None:
            raise InputError(f"{options.source}, line {line}: {options.key} is missing; fill it in, or drop the row")
    return keys


def _labels(options: ForecastOptions, records: Records, style: NumberStyle) -> Float:
    values = records.columns[options.target]
    numbers = values if values.dtype == np.float64 else in_style(values, style)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        value = values[bad[0]]
        what, advice = "missing", "fill gaps before this command, for example by interpolation"
        if isinstance(value, str):
            flags = style_hint(text for text in values if isinstance(text, str))
            advice = f"{flags} reads it" if flags else "name a column of numbers, written as 1234.5"
            what = f"{value!r:.80}, which is not a number"
        raise InputError(f"{options.source}, line {records.lines[bad[0]]}: {options.target} is {what}; {advice}")
    return numbers


def _times(options: ForecastOptions, records: Records) -> tuple[Float, Float]:
    """Times and offsets of the rows; see :class:`_Table`."""
    found, offsets = np.empty(len(records)), np.empty(len(records))
    for i, text in enumerate(records.columns[str(options.time)]):
        written = text if options.time_format is None else as_iso(text, options.time_format)
        time = None if written is None else read_time(str(written))
        if time is None:
            where = f"{options.source}, line {records.lines[i]}"
            raise InputError(f"{where}: {text!r:.80} is not read as a time; {_way_of(options, text)}")
        found[i], offset = seconds_since_1970(time), time.utcoffset()
        offsets[i] = np.nan if offset is None else offset.total_seconds()
    return found, offsets


def _way_of(options: ForecastOptions, text: str | None) -> str:
    """What to do about text that is no time."""
    if options.time_format is not None:
        return f"--time-format {options.time_format} says how all of them are written"
    return how_to_write(text)


def _names(table: _Table, coming: Float | None, horizon: int) -> list[str]:
    """Times of the coming rows, with the offset of the last known one; without times, their numbers."""
    if coming is None:
        return [str(len(table.y) + k) for k in range(horizon)]
    zone = table.zone
    times = [datetime.fromtimestamp(second, tz=zone or UTC) for second in coming]
    return [(time if zone else time.replace(tzinfo=None)).isoformat() for time in times]


def _csv(options: ForecastOptions, found: list[tuple[SeriesForecast, list[str]]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    key = [] if options.key is None else [options.key]
    writer.writerow([*key, options.time or "row", "ahead", "mean", "lower", "upper"])
    shown = guarded if options.guard_formulas else str
    for series, names in found:
        for k, name in enumerate(names):
            numbers = [repr(float(values[k])) for values in (series.mean, series.lower, series.upper)]
            writer.writerow([*([shown(series.name)] if key else []), name, k + 1, *numbers])
    return text.getvalue()


def _season(text: str | None) -> tuple[int, ...]:
    try:
        return () if text is None else tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"--season {text} is not made of whole numbers; write 24, or 24,168") from error
