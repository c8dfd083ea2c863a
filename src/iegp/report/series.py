"""The zoomable chart of a run: the whole of a short run, the end of a long one above an overview strip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from iegp.report import svg
from iegp.report.about import Change
from iegp.report.blocks import Edge, Key, Zoomable
from iegp.report.chart import chart, numbers_for_script
from iegp.report.clock import clock_of
from iegp.report.scales import Axis, last_row, run_axis
from iegp.stream.digest import Results
from iegp.typing import Float

# A run of more rows opens on its end.
MOST_AT_ONCE = 800
CHANGE = Key("line", "change", "change noticed")


class Rows(NamedTuple):
    """Rows that are drawn, and their columns."""

    row: Float
    columns: dict[str, Float]

    def since(self, first: float) -> Rows:
        """The rows from number ``first`` on."""
        later = self.row >= first
        return Rows(self.row[later], {name: values[later] for name, values in self.columns.items()})


class Series(NamedTuple):
    """How the rows of a run are drawn."""

    axis: Callable[[Rows], Axis]
    """Axis of the values of some rows."""
    marks: Callable[[Axis, Axis, Rows], list[svg.Path]]
    legend: list[Key]
    name: str
    data: dict[str, Any]
    """What the script needs beside the columns."""
    edges: Callable[[Axis, Axis, Rows], list[Edge]] | None = None
    """Labels outside the axis; None where there can be none."""


def rows_of(results: Results) -> Rows:
    """Thinned rows of the whole run, and every one of the latest."""
    row, first = np.unique(np.concatenate([results.predictions.row, results.recent.row]), return_index=True)
    whole, recent = results.predictions.columns, results.recent.columns
    return Rows(
        row.astype(np.float64), {name: np.concatenate([values, recent[name]])[first] for name, values in whole.items()}
    )


def zoomable(results: Results, series: Series, changes: Sequence[Change]) -> Zoomable:
    """Draw a series with its numbers; a long one with an overview."""
    rows = rows_of(results)
    first = float(results.recent.row[0]) if last_row(results) > MOST_AT_ONCE else 0.0
    shown, whole = rows.since(first), run_axis(results)
    x, y, whole_y = run_axis(results, first), series.axis(shown), series.axis(rows)
    legend = [*series.legend, *([CHANGE] if changes else [])]
    marks = [*series.marks(x, y, shown), change_marks(x, changes)]
    main = chart(x, y, marks, legend=legend, name=series.name, height="tall")
    main = replace(main, edges=None if series.edges is None else series.edges(x, y, shown))
    columns = rows.columns if clock_of(results) is not None else _without(rows.columns, "time")
    data = numbers_for_script(
        _without(columns, "std", "time"),
        row=[int(row) for row in rows.row],
        x=[whole.low, whole.high],
        y=[whole_y.low, whole_y.high],
        view=[x.low, x.high],
        power=y.power,
        recent=first,
        step=results.predictions.step,
        changes=[change.row for change in changes],
    )
    if "time" in columns:
        data["time"] = [None if np.isnan(time) else round(time, 3) for time in columns["time"].tolist()]
    strip = [*series.marks(whole, whole_y, rows), change_marks(whole, changes)]
    overview = chart(whole, whole_y, strip, name="the whole run", height="strip") if first else None
    return Zoomable(main, data | series.data, overview)


def change_marks(x: Axis, changes: Sequence[Change]) -> svg.Path:
    """Draw an upright line at every change that was noticed."""
    return svg.upright(x, [float(change.row) for change in changes], "change", CHANGE.text)


def _without(columns: dict[str, Float], *names: str) -> dict[str, Float]:
    return {name: values for name, values in columns.items() if name not in names}
