"""Panels of predicted numbers: interval and labels, residuals over time and against the normal distribution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from iegp.evaluate.label_range import label_range, outside
from iegp.report import svg
from iegp.report.about import Change
from iegp.report.blocks import Edge, Key, Panel, Panels, Section, Text, nothing, thinned
from iegp.report.chart import chart
from iegp.report.scales import FEW, SIZE, Axis, fitted, linear, run_axis
from iegp.report.series import Rows, Series, zoomable
from iegp.report.text import rows as rows_
from iegp.report.text import short, whole
from iegp.stream.digest import Results
from iegp.typing import Float

PREDICTIONS = Section(
    "predictions",
    "Predictions",
    "Each row was predicted before its label was used; nearly all dots, the labels, should lie in the band.",
)
RESIDUALS = Section(
    "residuals",
    "Residuals",
    "Label minus predicted mean: it should scatter around zero without a pattern.",
)


def predictions_of_numbers(results: Results, target: str, changes: Sequence[Change] = ()) -> Section:
    if results.n_rows < 2:
        return PREDICTIONS.holding(nothing(too_few_rows(results.n_rows)))
    return PREDICTIONS.holding(zoomable(results, _series(results, target), changes), _note(results))


def _series(results: Results, target: str) -> Series:
    faint = _faint(results.recent.columns["mean"])
    has_intervals = bool(np.isfinite(results.predictions.columns["upper"]).any())

    def marks(x: Axis, y: Axis, rows: Rows) -> list[svg.Path]:
        columns = rows.columns
        return [
            svg.area(x, y, rows.row, columns["lower"], columns["upper"], "band"),
            svg.line(x, y, rows.row, columns["mean"], f"ours{faint}"),
            svg.dots(x, y, rows.row, columns["label"], f"truth{svg.big(len(rows.row))}"),
        ]

    legend = [Key("dots", "truth", "label that came"), Key("line", "ours", "predicted mean")]
    if has_intervals:
        legend.append(Key("area", "band", f"{100 * results.level:g} % interval"))
    name, data = f"predictions of {target}", {"target": short(target)}
    return Series(lambda rows: _target_axis(rows, target), marks, legend, name, data, _edges)


def _target_axis(rows: Rows, target: str) -> Axis:
    low, high = label_range(*(rows.columns[name] for name in ("label", "mean", "lower", "upper")))
    return fitted(low, high, short(target, 60), most=6)


def _edges(x: Axis, y: Axis, rows: Rows) -> list[Edge]:
    below, above = outside(rows.columns["label"], y.low, y.high)
    places = x.at(rows.row) / SIZE * 100
    return [Edge("below", float(at)) for at in places[below]] + [Edge("above", float(at)) for at in places[above]]


def _faint(mean: Float) -> str:
    """Return a faint style if neighbours are unrelated: the line is then noise and must not hide the dots."""
    known = mean[np.isfinite(mean)]
    if len(known) < FEW:
        return ""
    low, high = np.percentile(known, [10, 90])
    # Independent draws of a normal distribution give 0.44.
    return " faint" if float(np.mean(np.abs(np.diff(known)))) > 0.25 * (high - low) else ""


def _note(results: Results) -> Text:
    parts = [shown_rows(results)]
    if results.n_labelled == 0:
        parts.append("No labels have arrived yet, so there are no dots.")
    return Text(" ".join(parts), "note")


def shown_rows(results: Results) -> str:
    """Say which rows can be seen in a series."""
    step, n_recent = results.predictions.step, len(results.recent.row)
    if step == 1:
        return thinned(step)
    return f"Of the last {whole(n_recent)} rows every one is shown. Before them: every {whole(step)} rows one."


def too_few_rows(n: int) -> str:
    """What is shown in place of predictions of fewer than two rows."""
    return "No rows have arrived yet." if n == 0 else "One row has arrived; a figure needs at least two."


def residuals(results: Results, target: str) -> Section:
    if results.residuals.sum() < 2:
        return RESIDUALS.holding(nothing("Residuals need labels: there are too few so far."))
    return RESIDUALS.holding(Panels([_over_time(results, target), _histogram(results)]))


def _over_time(results: Results, target: str) -> Panel:
    points = results.predictions
    residual, std = points.columns["label"] - points.columns["mean"], points.columns["std"]
    # Rows predicted before any was learned are not scored, and one of them may dwarf all others.
    residual = np.where(np.cumsum(np.isfinite(residual)) > (2 if points.step == 1 else 0), residual, np.nan)
    known = residual[np.isfinite(residual)]
    if len(known) < 2:
        return Panel("Over the run", "Around zero is good.", [nothing("Too few of the rows shown have a label.")])
    reach = max(float(np.abs(known).max()), float(np.percentile(np.abs(known), 99.0)) * 1.2)
    x, y = run_axis(results), linear(-reach, reach, f"residual, in units of {short(target, 40)}")
    xs = points.row.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        far = np.abs(residual) > 3.0 * std
    marks = [
        svg.level(y, 0.0, "ideal"),
        svg.dots(x, y, xs[~far], residual[~far], "right"),
        svg.dots(x, y, xs[far], residual[far], "wrong"),
    ]
    legend = [Key("dots", "right", "residual"), Key("dots", "wrong", "more than 3 predicted std")]
    how = f"A trend or a change of level means something was not learned. {thinned(points.step)}"
    return Panel("Over the run", how, [chart(x, y, marks, legend=legend, name="residuals over the run", square=True)])


def _histogram(results: Results) -> Panel:
    counts, edges = results.residuals, results.residual_edges
    n, inner, width = counts.sum(), counts[1:-1], edges[1] - edges[0]
    density = inner / (n * width)
    curve = np.linspace(edges[0], edges[-1], 121)
    normal = (ndtr(curve + width / 2) - ndtr(curve - width / 2)) / width
    x = linear(float(edges[0]), float(edges[-1]), "residual over predicted std", most=5)
    y = linear(0.0, 1.05 * max(float(density.max()), float(normal.max())), "density", most=5, from_zero=True)
    bars = svg.bars(x, y, edges, density, [rows_(count) for count in inner])
    outside = int(counts[0] + counts[-1])
    how = "Bars should follow the normal curve; wider bars mean too confident, narrower ones too cautious."
    how += " Small counts come in steps and cannot follow it." if results.task == "count" else ""
    how += f" {rows_(outside)} beyond 5 std." if outside else ""
    legend = [Key("area", "bar", "observed"), Key("line", "ideal", "normal")]
    drawn = chart(x, y, [*bars, svg.line(x, y, curve, normal, "ideal")], legend=legend, name="residuals", square=True)
    return Panel("Standardised", how, [drawn])
