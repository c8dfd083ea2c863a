"""Panel of predicted numbers with their interval, and the labels."""

from __future__ import annotations

import numpy as np

from iegp.report import svg
from iegp.report.chart import Key, chart
from iegp.report.scales import FEW, Axis, fitted, last_row, row_axis
from iegp.report.section import nothing, section, thinned
from iegp.report.text import esc, short
from iegp.report.zoom import zoomable
from iegp.stream.digest import Results
from iegp.typing import Float


def predictions_of_numbers(results: Results, target: str) -> str:
    points = results.predictions
    if results.n_rows < 2:
        return section(*HEADING, nothing(_too_few(results.n_rows)))
    x, y = row_axis(last_row(results)), _target_axis(results, target)
    rows, columns = points.row.astype(np.float64), points.columns
    band = f"{100 * results.level:g} % interval"
    marks = [
        svg.area(x, y, rows, columns["lower"], columns["upper"], "band"),
        svg.line(x, y, rows, columns["mean"], f"ours{_faint(columns['mean'])}"),
        svg.dots(x, y, rows, columns["label"], f"truth{big(len(rows))}"),
    ]
    legend = [Key("dots", "truth", "truth"), Key("line", "ours", "predicted mean"), Key("area", "band", esc(band))]
    drawn = chart(x, y, marks, legend=legend, name=f"predictions of {target}", height="tall", attributes="data-zoom")
    table = {name: columns[name] for name in ("label", "mean", "lower", "upper")}
    return section(*HEADING, zoomable(drawn, x, y, points.row, table, short(target)), _note(results))


HEADING = (
    "predictions",
    "Predictions",
    "Each row was predicted before its label was used; nearly all dots, the labels, should lie in the band.",
)


def _target_axis(results: Results, target: str) -> Axis:
    """Return an axis for all labels and nearly all intervals: the first ones, before any row, may be far wider."""
    columns = results.predictions.columns
    ends = [columns["label"][np.isfinite(columns["label"])]]
    for name, cut in (("lower", 3.0), ("upper", 97.0), ("mean", 1.0), ("mean", 99.0)):
        values = columns[name][np.isfinite(columns[name])]
        ends.append(np.percentile(values, [cut]) if len(values) else values)
    every: Float = np.concatenate(ends)
    low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
    margin = 0.04 * (high - low)
    return fitted(low - margin, high + margin, short(target, 60), most=6)


def big(n: int) -> str:
    """Return the style of large dots if there are few."""
    return " big" if n <= FEW else ""


def _faint(mean: Float) -> str:
    """Return a faint style if neighbours are unrelated: the line is then noise and must not hide the dots."""
    known = mean[np.isfinite(mean)]
    if len(known) < FEW:
        return ""
    low, high = np.percentile(known, [10, 90])
    # Independent draws of a normal distribution give 0.44.
    return " faint" if float(np.mean(np.abs(np.diff(known)))) > 0.25 * (high - low) else ""


def _note(results: Results) -> str:
    parts = [thinned(results.predictions.step)]
    if results.n_labelled == 0:
        parts.append("No labels have come yet, so there are no dots.")
    return f'<p class="note">{" ".join(parts)}</p>'


def _too_few(n: int) -> str:
    return "No rows have come yet." if n == 0 else "One row has come; a figure needs at least two."
