"""Score panels: all rows so far and recent rows, beside naive forecasts from earlier labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from iegp.report import svg
from iegp.report.about import Change
from iegp.report.blocks import Chart, Key, Panel, Panels, Section, nothing
from iegp.report.chart import chart
from iegp.report.panel_calibration import by_chance
from iegp.report.scales import Axis, last_row, linear, logarithmic, percentages, run_axis
from iegp.report.series import change_marks
from iegp.report.text import rows as rows_
from iegp.stream.digest import Results
from iegp.typing import Float

WINDOWS = 40
# Sums of a run: the model first, then the naive forecasts.
LOSSES, LOG_SCORES = ("loss", "naive_loss", "last_loss"), ("log", "naive_log")
# The mean of so few rows is mostly noise; it is drawn, but the axis need not reach it.
SETTLED = 30
# From this ratio of largest to smallest value on, the axis is logarithmic: small values would lie on the axis.
WIDE = 25.0


class Windows(NamedTuple):
    """Means of windows of the run, and how many rows are in each."""

    starts: Float
    width: float
    means: list[Float]
    n_rows: Float


def scores(results: Results, changes: Sequence[Change] = ()) -> Section:
    own = _section(results)
    if results.n_scored < 2:
        return own.holding(nothing(_why_not(results)))
    recent = _recent_coverage(results) if results.is_number else _recent_log_score(results)
    panels = [_loss_so_far(results), _log_score_so_far(results), _recent_loss(results, changes), recent]
    return own.holding(Panels([panel for panel in panels if panel is not None]))


def _section(results: Results) -> Section:
    where = "at the labels before each row."
    if results.by_key:
        where = "at earlier labels of the row's key. A key's first label has none before it, and is not scored."
    how = f"The model should stay on the better side of the naive forecasts, which only look {where}"
    return Section("scores", "Scores", how)


def naive_names(results: Results) -> tuple[str, str]:
    """Name the two naive forecasts, which use earlier labels only."""
    if results.by_key:
        return "mean of the key's labels so far", "the key's label before"
    if results.is_number:
        return "mean of the labels so far", "the label before"
    return "most frequent class so far", "the label before"


def _why_not(results: Results) -> str:
    if results.n_labelled == 0:
        return "No labels have arrived yet, so nothing can be scored."
    return f"Only {rows_(results.n_labelled)} with a label: scores begin when there is something to compare with."


def _so_far(results: Results, y: Axis, lines: list[Float], legend: list[Key], name: str) -> Chart:
    """Draw means of all rows so far, at the last row of each interval of the run."""
    x, curves = run_axis(results), results.curves
    ends = np.minimum((np.arange(len(curves.sums["n"])) + 1) * curves.length - 1, last_row(results)).astype(np.float64)
    marks = [svg.line(x, y, ends, line, key.style) for line, key in zip(lines, legend, strict=True)]
    # The model is drawn last, on top.
    return chart(x, y, marks[::-1], legend=legend, name=f"{name} so far")


def _in_windows(
    results: Results, y: Axis, windows: Windows, legend: list[Key], name: str, changes: Sequence[Change] = ()
) -> Chart:
    """Draw means of windows of the run."""
    x = run_axis(results)
    marks = [
        svg.steps(x, y, windows.starts, windows.width, line, key.style)
        for line, key in zip(windows.means, legend, strict=True)
    ]
    return chart(x, y, [*marks[::-1], change_marks(x, changes)], legend=legend, name=f"{name} in windows")


def _windows(results: Results, names: Sequence[str], count: str) -> Windows:
    parts = [results.curves.recent(name, count, WINDOWS) for name in names]
    starts = parts[0][0].astype(np.float64)
    width = float(starts[1] - starts[0]) if len(starts) > 1 else float(max(last_row(results), 1))
    return Windows(starts, width, [means for _, means, _ in parts], parts[0][2])


def _loss_name(results: Results) -> str:
    return "nMSE" if results.is_number else "share of wrong predictions"


def _loss_so_far(results: Results) -> Panel:
    scale, name = results.loss_scale, _loss_name(results)
    if not np.isfinite(scale):
        message = nothing("All labels are equal: there is no variance to explain.")
        return Panel("Error so far", "Lower is better.", [message])
    lines = [results.curves.so_far(loss, "n") / scale for loss in LOSSES]
    drawn = _so_far(results, _loss_axis(results, _settled(results, lines, "n"), name), lines, _legend(results), name)
    how = "Lower is better: share of wrong predictions among all rows so far."
    if results.is_number:
        how = "Lower is better: mean squared error of all rows so far, over the variance of the labels."
    return Panel("Error so far", how, [drawn])


def _log_score_so_far(results: Results) -> Panel:
    what = "density" if results.task == "regression" else "probability"
    how = f"Higher is better: log {what} that the prediction gave to the label that came. Mean of all rows so far."
    if results.curves.sums["n_log"].sum() < 2:
        return Panel("Log score so far", how, [nothing("All labels are equal: there is nothing to compare with.")])
    lines = [results.curves.so_far(name, "n_log") for name in LOG_SCORES]
    y = _free_axis(_settled(results, lines, "n_log"), "mean log score")
    return Panel("Log score so far", how, [_so_far(results, y, lines, _log_legend(results), "mean log score")])


def _recent_loss(results: Results, changes: Sequence[Change]) -> Panel | None:
    scale, name = results.loss_scale, _loss_name(results)
    if not np.isfinite(scale):
        return None
    windows = _windows(results, LOSSES, "n")
    windows = windows._replace(means=[means / scale for means in windows.means])
    y = _loss_axis(results, np.concatenate(windows.means), name)
    drawn = _in_windows(results, y, windows, _legend(results), name, changes)
    how = (
        f"Lower is better: the same, window by window of {rows_(windows.width)}. A rise follows a change of the stream."
    )
    return Panel("Error in windows", how, [drawn])


def _recent_log_score(results: Results) -> Panel:
    windows = _windows(results, LOG_SCORES, "n_log")
    y = _free_axis(np.concatenate(windows.means), "mean log score")
    drawn = _in_windows(results, y, windows, _log_legend(results), "mean log score")
    how = f"Higher is better: the same, window by window of {rows_(windows.width)}."
    return Panel("Log score in windows", how, [drawn])


def _recent_coverage(results: Results) -> Panel | None:
    rows, width, (share,), n = _windows(results, ("covered",), "bounded")
    if not n.any():
        return None
    level = results.level
    low, high = (np.where(n > 0, end, np.nan) for end in by_chance(n, np.full(len(n), level)))
    x = run_axis(results)
    # The first and the last window may be of few rows, which by chance can fall anywhere.
    full = n >= 0.5 * n.max()
    y = percentages(float(np.min([share[full], low[full]])) - 0.01, 1.0, "share inside the interval")
    xs, ends = np.column_stack([rows, rows + width]).ravel(), (np.repeat(low, 2), np.repeat(high, 2))
    marks = [
        svg.area(x, y, np.minimum(xs, x.high), *ends, "chance"),
        svg.level(y, level, "ideal"),
        svg.steps(x, y, rows, width, share, "ours"),
    ]
    legend = [
        Key("line", "ours", "observed"),
        Key("line", "ideal", f"nominal: {100 * level:g} %"),
        Key("area", "chance", "within chance"),
    ]
    how = (
        f"Close to {100 * level:g} % is calibrated: labels inside their interval, in windows of {rows_(width)}. By "
        "chance, one window in twenty leaves the grey band."
        + (" Counts are discrete, so their intervals hold more than their level." if results.task == "count" else "")
    )
    return Panel("Coverage in windows", how, [chart(x, y, marks, legend=legend, name="coverage in windows")])


def _legend(results: Results) -> list[Key]:
    mean, last = naive_names(results)
    return [Key("line", "ours", "model"), Key("line", "naive", mean), Key("line", "last", last)]


def _log_legend(results: Results) -> list[Key]:
    if results.task == "regression":
        naive = "normal, with mean and variance so far" + (" of the key" if results.by_key else "")
    else:
        naive = "mean and variance so far" if results.task == "count" else "class frequencies so far"
    return [Key("line", "ours", "model"), Key("line", "naive", naive)]


def _settled(results: Results, lines: list[Float], count: str) -> Float:
    """Return values that the axis must show: means of enough rows, or all if there are few."""
    enough = np.cumsum(results.curves.sums[count]) >= min(SETTLED, 0.5 * results.curves.sums[count].sum())
    return np.concatenate([line[enough] for line in lines])


def _loss_axis(results: Results, values: Float, title: str) -> Axis:
    values = values[np.isfinite(values)]
    if not len(values):
        return linear(0.0, 1.0, title)
    low, high = float(values.min()), float(values.max())
    if not results.is_number:
        return percentages(0.0, min(1.0, max(1.05 * high, 0.01)), title)
    if low > 0.0 and high / low > WIDE:
        return logarithmic(max(low / 1.3, high * 1e-9), high * 1.3, f"{title}, logarithmic")
    return linear(0.0, high, title, from_zero=True)


def _free_axis(values: Float, title: str) -> Axis:
    values = values[np.isfinite(values)]
    return linear(float(values.min()), float(values.max()), title) if len(values) else linear(0.0, 1.0, title)
