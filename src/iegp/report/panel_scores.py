"""Score panels: all rows so far and recent rows, beside naive forecasts from earlier labels."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from iegp.report import svg
from iegp.report.chart import Key, chart
from iegp.report.scales import Axis, last_row, linear, logarithmic, percentages, row_axis
from iegp.report.sections import nothing, panel, section, side_by_side
from iegp.report.text import rows as rows_
from iegp.stream.digest import Results
from iegp.typing import Float

WINDOWS = 40
# The mean of so few rows is mostly noise; it is drawn, but the axis need not reach it.
SETTLED = 30
# From this ratio of largest to smallest value on, the axis is logarithmic: small values would lie on the axis.
WIDE = 25.0


def scores(results: Results) -> str:
    if results.n_scored < 2:
        return section(*_heading(results), nothing(_why_not(results)))
    return section(
        *_heading(results),
        side_by_side(
            _loss_so_far(results), _log_score_so_far(results), _recent_loss(results), _recent_promise(results)
        ),
    )


def _heading(results: Results) -> tuple[str, str, str]:
    where = "at the labels before each row."
    if results.by_key:
        where = "at earlier labels of the row's key. A key's first label has none before it, and is not scored."
    how = f"The model should stay on the better side of the naive forecasts, which only look {where}"
    return "scores", "Scores", how


def naive_names(results: Results) -> tuple[str, str]:
    """Name the two naive forecasts, which use earlier labels only."""
    if results.by_key:
        return "mean of the key's labels so far", "the key's label before"
    if results.is_number:
        return "mean of the labels so far", "the label before"
    return "most frequent class so far", "the label before"


def _why_not(results: Results) -> str:
    if results.n_labelled == 0:
        return "No labels have come yet, so nothing can be scored."
    return f"Only {rows_(results.n_labelled)} with a label: scores begin when there is something to compare with."


def _ends(results: Results) -> Float:
    """Return the last row of each interval of the run."""
    curves = results.curves
    return np.minimum((np.arange(len(curves.sums["n"])) + 1) * curves.length - 1, last_row(results)).astype(np.float64)


def _loss_so_far(results: Results) -> str:
    scale, ends = results.loss_scale, _ends(results)
    if not np.isfinite(scale):
        return panel(
            "Error so far", "Lower is better.", nothing("All labels are equal: there is no variance to explain.")
        )
    lines = [results.curves.so_far(name, "n") / scale for name in ("loss", "naive_loss", "last_loss")]
    title = "nMSE" if results.is_number else "share of wrong predictions"
    x, y = row_axis(last_row(results)), _loss_axis(results, _settled(results, lines, "n"), title)
    drawn = chart(x, y, _three(x, y, ends, lines), legend=_legend(results), name=f"{title} so far")
    if results.is_number:
        how = "Lower is better: mean squared error of all rows so far, over the variance of the labels."
        return panel("Error so far", how, drawn)
    return panel("Error so far", "Lower is better: share of wrong predictions among all rows so far.", drawn)


def _log_score_so_far(results: Results) -> str:
    heading, how = "Log score so far", _what_log_score(results) + " Mean of all rows so far."
    if results.curves.sums["n_log"].sum() < 2:
        return panel(heading, how, nothing("All labels are equal: there is nothing to compare with."))
    lines = [results.curves.so_far(name, "n_log") for name in ("log", "naive_log")]
    settled = _settled(results, lines, "n_log")
    x, y = row_axis(last_row(results)), _free_axis(settled, "mean log score")
    marks = [svg.line(x, y, _ends(results), line, style) for line, style in zip(lines, ("ours", "naive"), strict=True)]
    return panel(heading, how, chart(x, y, marks[::-1], legend=_log_legend(results), name="mean log score so far"))


def _recent_loss(results: Results) -> str:
    scale = results.loss_scale
    if not np.isfinite(scale):
        return ""
    names = ("loss", "naive_loss", "last_loss")
    windows = [results.curves.recent(name, "n", WINDOWS) for name in names]
    starts, lines = windows[0][0].astype(np.float64), [values / scale for _, values, _ in windows]
    title = "nMSE" if results.is_number else "share of wrong predictions"
    x, y = row_axis(last_row(results)), _loss_axis(results, np.concatenate(lines), title)
    width = float(starts[1] - starts[0]) if len(starts) > 1 else x.high
    styles = ("ours", "naive", "last")
    marks = [svg.steps(x, y, starts, width, line, style) for line, style in zip(lines, styles, strict=True)]
    how = (
        f"Lower is better: the same, window by window of {rows_(width)}. A rise is a change that has yet to be learned."
    )
    drawn = chart(x, y, marks[::-1], legend=_legend(results), name=f"{title} in windows")
    return panel("Error in windows", how, drawn)


def _recent_promise(results: Results) -> str:
    return _recent_coverage(results) if results.is_number else _recent_log_score(results)


def _recent_coverage(results: Results) -> str:
    starts, share, n = results.curves.recent("covered", "n", WINDOWS)
    level, rows = results.level, starts.astype(np.float64)
    width = float(rows[1] - rows[0]) if len(rows) > 1 else float(last_row(results))
    low, high = (binom.ppf(q, np.maximum(n, 1), level) / np.maximum(n, 1) for q in (0.025, 0.975))
    low, high = np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)
    x = row_axis(last_row(results))
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
        Key("line", "ideal", f"promised: {100 * level:g} %"),
        Key("area", "chance", "within chance"),
    ]
    how = (
        f"Close to {100 * level:g} % is calibrated: labels inside their interval, in windows of {rows_(width)}. By "
        "chance, one window in twenty leaves the grey band."
        + (" Counts are discrete, so their intervals hold more than their level." if results.task == "count" else "")
    )
    return panel("Coverage in windows", how, chart(x, y, marks, legend=legend, name="coverage in windows"))


def _recent_log_score(results: Results) -> str:
    windows = [results.curves.recent(name, "n_log", WINDOWS) for name in ("log", "naive_log")]
    starts, lines = windows[0][0].astype(np.float64), [values for _, values, _ in windows]
    x, y = row_axis(last_row(results)), _free_axis(np.concatenate(lines), "mean log score")
    width = float(starts[1] - starts[0]) if len(starts) > 1 else x.high
    marks = [svg.steps(x, y, starts, width, line, style) for line, style in zip(lines, ("ours", "naive"), strict=True)]
    drawn = chart(x, y, marks[::-1], legend=_log_legend(results), name="mean log score in windows")
    return panel("Log score in windows", f"Higher is better: the same, window by window of {rows_(width)}.", drawn)


def _what_log_score(results: Results) -> str:
    what = "density" if results.task == "regression" else "probability"
    return f"Higher is better: log {what} that the prediction gave to the label that came."


def _three(x: Axis, y: Axis, ends: Float, lines: list[Float]) -> list[str]:
    """Draw three lines, the model's last, on top."""
    styles = ("ours", "naive", "last")
    return [svg.line(x, y, ends, line, style) for line, style in zip(lines, styles, strict=True)][::-1]


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
