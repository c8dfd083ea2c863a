"""Residual panels: over time, and against the normal distribution."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from iegp.report import svg
from iegp.report.chart import Key, chart
from iegp.report.scales import last_row, linear, row_axis
from iegp.report.section import nothing, panel, section, side_by_side, thinned
from iegp.report.text import rows, short
from iegp.stream.digest import Results


def residuals(results: Results, target: str) -> str:
    if results.residuals.sum() < 2:
        return section(*HEADING, nothing("Residuals need labels: there are too few so far."))
    return section(*HEADING, side_by_side(_over_time(results, target), _histogram(results)))


HEADING = (
    "residuals",
    "Residuals",
    "Label minus predicted mean: it should scatter around zero without a pattern.",
)


def _over_time(results: Results, target: str) -> str:
    points = results.predictions
    residual, std = points.columns["label"] - points.columns["mean"], points.columns["std"]
    # Rows predicted before any was learned are not scored, and one of them may dwarf all others.
    residual = np.where(np.cumsum(np.isfinite(residual)) > (2 if points.step == 1 else 0), residual, np.nan)
    known = residual[np.isfinite(residual)]
    if len(known) < 2:
        return panel("Over the run", "Around zero is good.", nothing("Too few of the rows shown have a label."))
    reach = max(float(np.abs(known).max()), float(np.percentile(np.abs(known), 99.0)) * 1.2)
    x, y = row_axis(last_row(results)), linear(-reach, reach, f"residual, in units of {short(target, 40)}")
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
    return panel("Over the run", how, chart(x, y, marks, legend=legend, name="residuals over the run", square=True))


def _histogram(results: Results) -> str:
    counts, edges = results.residuals, results.residual_edges
    n, inner, width = counts.sum(), counts[1:-1], edges[1] - edges[0]
    density = inner / (n * width)
    curve = np.linspace(edges[0], edges[-1], 121)
    normal = (ndtr(curve + width / 2) - ndtr(curve - width / 2)) / width
    x = linear(float(edges[0]), float(edges[-1]), "residual over predicted std", most=5)
    y = linear(0.0, 1.05 * max(float(density.max()), float(normal.max())), "density", most=5, from_zero=True)
    bars = [
        svg.bar(x, y, (edges[i], edges[i + 1]), 0.0, float(density[i]), "bar", rows(int(inner[i])))
        for i in np.flatnonzero(inner)
    ]
    outside = int(counts[0] + counts[-1])
    how = "Bars should follow the normal curve; wider bars mean too confident, narrower ones too cautious."
    how += " Small counts come in steps and cannot follow it." if results.task == "count" else ""
    how += f" {rows(outside)} beyond 5 std." if outside else ""
    legend = [Key("area", "bar", "observed"), Key("line", "ideal", "normal")]
    drawn = chart(x, y, [*bars, svg.line(x, y, curve, normal, "ideal")], legend=legend, name="residuals", square=True)
    return panel("Standardised", how, drawn)
