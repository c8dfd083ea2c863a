"""The page of `iegp forecast`: for each series a verdict, the newest forecast, and scores by horizon."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import tzinfo
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np

from iegp.evaluate.forecasts import ForecastRun
from iegp.report import svg
from iegp.report.about import About, Timing
from iegp.report.blocks import Cell, Chart, Head, Key, Panel, Panels, Section, Table
from iegp.report.chart import chart
from iegp.report.clock import Clock, date_and_time
from iegp.report.page import Top, document, facts_of
from iegp.report.scales import Axis, fitted, linear, percentages, with_times
from iegp.report.text import number, percent
from iegp.report.verdict import of_hundred
from iegp.storage.model_file import replace_atomically
from iegp.typing import Float

# Rows before the origin that are drawn, in horizons; lines of the table that are shown at once.
_DRAWN, _SHOWN = 6, 24


class SeriesForecast(NamedTuple):
    """A series, its newest forecast, and how earlier ones did."""

    name: str
    y: Float
    mean: Float
    lower: Float
    upper: Float
    run: ForecastRun
    season: int
    """Season of the naive forecast to compare with; 1 for none."""
    time: Float | None = None
    """(n + horizon,): seconds since 1970 of the rows and of those that are forecast, where they are known."""
    zone: tzinfo | None = None
    """Zone of fixed offset in which times are shown; None shows UTC and names no zone."""

    @property
    def shown_time(self) -> Float | None:
        """Times as a clock of the zone shows them."""
        offset = None if self.zone is None else self.zone.utcoffset(None)
        return self.time if self.time is None or offset is None else self.time + offset.total_seconds()

    @property
    def zone_name(self) -> str:
        """Such as `` (UTC+01:00)``; empty if there is none."""
        return "" if self.zone is None else f" ({self.zone.tzname(None)})"

    @property
    def naive(self) -> dict[str, Float]:
        """Errors (horizon,) of naive forecasts."""
        found = {"last value": self.run.naive_mae()}
        return found | ({"value a season ago": self.run.naive_mae(self.season)} if self.season > 1 else {})

    @property
    def best_naive(self) -> tuple[float, str]:
        """Lowest mean error of a naive forecast, and the name of that forecast."""
        return min((float(np.mean(mae)), name) for name, mae in self.naive.items())

    @property
    def verdict(self) -> str:
        """One sentence on errors and intervals of all origins."""
        run, level = self.run, f"{100 * self.run.level:g}"
        if not np.any(run.is_scored):
            return "The series is too short for a score: it needs more than three horizons of rows."
        error, covered = float(np.mean(run.mae)), run.coverage
        least = int(np.argmin(covered))
        best, name = self.best_naive
        beside = ""
        if np.isfinite(best) and best > 0.0:
            side = "better" if error < best else "worse"
            beside = f", {percent(abs(1.0 - error / best), 0)} {side} than repeating the {name} ({number(best)})"
        inside = f"{of_hundred(float(np.mean(covered)))} of 100 values fell in the predicted range"
        return (
            f"Forecasts were off by {number(error)} on average{beside}; {inside}, where {level} were promised "
            f"({percent(float(covered[least]))} for row {least + 1} ahead, the lowest)."
        )


def write_forecast_report(
    path: str | os.PathLike[str], source: str, target: str, found: Sequence[SeriesForecast], seconds: float
) -> None:
    """Write the page to ``path``, replacing it atomically; ``seconds`` is what the forecasts took."""
    timing = Timing.now(seconds, sum(len(series.y) for series in found))
    replace_atomically(Path(path), render_forecast_report(source, target, found, timing).encode())


def render_forecast_report(source: str, target: str, found: Sequence[SeriesForecast], timing: Timing) -> str:
    """Render the page as the text of an HTML file."""
    about = About(f"Forecast of {target}", source, target, "forecast", "", 0, versions={"iegp": version("iegp")})
    facts = [("Source", source), ("Target", target), ("Series", f"{len(found):,}")]
    facts += [("Forecast", f"{len(found[0].mean):,} rows ahead"), *facts_of(timing)]
    is_one = len(found) == 1
    sections = [_series(_heading(place, series, target, is_one), series, target) for place, series in enumerate(found)]
    return document(about, Top(found[0].verdict if is_one else _summary(found), facts, []), sections)


def _summary(found: Sequence[SeriesForecast]) -> str:
    """One sentence on all series: how many beat the better naive forecast, and the intervals."""
    scored = [series for series in found if np.any(series.run.is_scored)]
    if not scored:
        return "The series are too short for a score: one needs more than three horizons of rows."
    n_better = sum(float(np.mean(series.run.mae)) < series.best_naive[0] for series in scored)
    naive = " or ".join(f"the {name}" for name in scored[0].naive)
    inside = of_hundred(float(np.mean([np.mean(series.run.coverage) for series in scored])))
    return (
        f"Better than repeating {naive}: {n_better:,} of {len(scored):,} series; {inside} of 100 values fell in the "
        f"predicted range, where {100 * scored[0].run.level:g} were promised."
    )


def _heading(place: int, series: SeriesForecast, target: str, is_one: bool) -> Section:
    """An empty section; the verdict on a single series is at the top of the page."""
    name = series.name or target
    how = "Every forecast was made from the rows before it." if is_one else series.verdict
    return Section(f"series-{place}", name, how)


def _series(made: Section, series: SeriesForecast, target: str) -> Section:
    fan = Panel("Newest forecast", "The last known values, and what is expected after them.", [_fan(series, target)])
    if not np.any(series.run.is_scored):
        return made.holding(fan)
    errors = Panel(
        "Error by horizon", "Mean absolute error of all earlier forecasts; lower is better.", [_errors(series)]
    )
    inside = Panel(
        "Coverage by horizon", "Share of values inside their interval, in all earlier forecasts.", [_coverage(series)]
    )
    return made.holding(fan, Panels([errors, inside]), _table(series))


def _fan(series: SeriesForecast, target: str) -> Chart:
    horizon = len(series.mean)
    known = series.y[-_DRAWN * horizon :]
    before, after = np.arange(1.0 - len(known), 1.0), np.arange(0.0, horizon + 1.0)
    # The fan begins at the newest value.
    mean, lower, upper = (np.concatenate([known[-1:], ends]) for ends in (series.mean, series.lower, series.upper))
    every = np.concatenate([known, lower, upper])
    margin = 0.04 * float(np.ptp(every))
    x = fitted(before[0], after[-1], "rows after the last known one")
    times = series.shown_time
    if times is not None:
        x = with_times(x, Clock(np.concatenate([before, after[1:]]), times[-len(known) - horizon :]))
        x = replace(x, title=x.title + series.zone_name)
    y = fitted(float(every.min()) - margin, float(every.max()) + margin, target)
    marks = [
        svg.area(x, y, after, lower, upper, "band"),
        svg.line(x, y, after, mean, "ours"),
        svg.dots(x, y, before, known, f"truth{svg.big(len(known))}"),
    ]
    band = f"{100 * series.run.level:g} % interval"
    legend = [Key("dots", "truth", "known"), Key("line", "ours", "forecast"), Key("area", "band", band)]
    return chart(x, y, marks, legend=legend, name=f"forecast of {target}", height="tall")


def _ahead(series: SeriesForecast) -> tuple[Float, Axis]:
    rows = np.arange(1.0, series.run.horizon + 1.0)
    return rows, fitted(1.0, max(rows[-1], 2.0), "rows ahead")


def _errors(series: SeriesForecast) -> Chart:
    rows, x = _ahead(series)
    lines = {"forecast": series.run.mae, **series.naive}
    highest = max(float(np.nanmax(values, initial=0.0)) for values in lines.values())
    y = linear(0.0, highest, "mean absolute error", from_zero=True)
    styles = dict(zip(lines, ("ours", "last", "naive"), strict=False))
    marks = [svg.line(x, y, rows, values, styles[name]) for name, values in lines.items()]
    legend = [Key("line", styles[name], name) for name in lines]
    return chart(x, y, marks, legend=legend, name="error by horizon")


def _coverage(series: SeriesForecast) -> Chart:
    rows, x = _ahead(series)
    covered = series.run.coverage
    y = percentages(min(0.8, float(covered.min())), 1.0, "inside")
    marks = [svg.level(y, series.run.level, "ideal"), svg.line(x, y, rows, covered, "ours")]
    legend = [Key("line", "ours", "observed"), Key("line", "ideal", f"promised: {percent(series.run.level, 0)}")]
    return chart(x, y, marks, legend=legend, name="coverage by horizon")


def _table(series: SeriesForecast) -> Table:
    naive, times = series.naive, series.shown_time
    heads = [Head("rows ahead", is_minor=series.time is not None)]
    heads += [] if series.time is None else [Head(f"time{series.zone_name}", is_number=False)]
    heads += [Head(text) for text in ("forecast", "lower", "upper")]
    errors = ("mean absolute error", *(f"error of the {name}" for name in naive))
    heads += [Head(text, is_minor=True) for text in (*errors, "inside")]
    columns = [series.mean, series.lower, series.upper, series.run.mae, *naive.values()]
    lines = []
    for k in range(len(series.mean)):
        time = [] if times is None else [date_and_time(float(times[k - len(series.mean)]))]
        numbers = [number(float(values[k])) for values in columns]
        lines.append([str(k + 1), *time, *numbers, percent(float(series.run.coverage[k]))])
    return Table(heads, [[Cell(text) for text in line] for line in lines], _SHOWN)
