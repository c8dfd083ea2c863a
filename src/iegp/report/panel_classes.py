"""Panels of predicted and true classes."""

from __future__ import annotations

import numpy as np

from iegp.report import svg
from iegp.report.chart import Key, chart
from iegp.report.palette import OTHERS, colour
from iegp.report.panel_predictions import big
from iegp.report.panel_weights import stacked
from iegp.report.scales import last_row, row_axis, shares
from iegp.report.section import nothing, panel, section, thinned
from iegp.report.text import esc, named
from iegp.report.zoom import zoomable
from iegp.stream.digest import Results
from iegp.typing import Float, Int

SHOWN_CLASSES = 8
# More windows than this look like noise where classes alternate.
WINDOWS = 40


def predictions_of_classes(results: Results, target: str) -> str:
    if results.n_rows < 2:
        return section(*HEADING, nothing("No rows have come yet." if not results.n_rows else "One row has come."))
    certainty = _certainty(results, target) if results.n_labelled else nothing("No labels have come yet.")
    return section(*HEADING, certainty, _mix(results))


def class_names(results: Results) -> list[str]:
    """Return labels as text; the last may stand for all classes beyond the number that is shown."""
    names = [str(label) for label in results.classes]
    return names + ["all others"] * (results.n_classes - len(names))


HEADING = (
    "predictions",
    "Predictions",
    "Each row was predicted before its label was used; at the top, the true class had probability one.",
)


def _certainty(results: Results, target: str) -> str:
    points = results.predictions
    columns, rows = points.columns, points.row.astype(np.float64)
    x, y = row_axis(last_row(results)), shares("probability given to the true class", margin=0.03)
    wrong = columns["predicted"] != columns["label"]
    p = columns["p_label"]
    marks = [
        svg.dots(x, y, rows[~wrong], p[~wrong], f"right{big(len(rows))}"),
        svg.dots(x, y, rows[wrong], p[wrong], f"wrong{big(len(rows))}"),
    ]
    legend = [
        Key("dots", "right", "right: no other class was more probable"),
        Key("dots", "wrong", "wrong"),
    ]
    name = f"probability given to the true class of {target}"
    drawn = chart(x, y, marks, legend=legend, name=name, height="tall", attributes="data-zoom")
    note = f'<p class="note">{thinned(points.step)}</p>'
    return zoomable(drawn, x, y, points.row, columns, target, class_names(results)) + note


def _mix(results: Results) -> str:
    """Draw the mean probability of each class over windows of the run, stacked."""
    x, y = row_axis(last_row(results)), shares("mean probability")
    rows, mix = _windows(results.strip.row, results.strip.values)
    names = class_names(results)
    common = np.argsort(-mix.mean(axis=0), kind="stable")
    top, rest = np.sort(common[:SHOWN_CLASSES]), common[SHOWN_CLASSES:]
    layers = [mix[:, i] for i in top] + ([mix[:, rest].sum(axis=1)] if len(rest) else [])
    texts = [named(names[i], 24) for i in top] + ([f"{len(rest)} other classes"] if len(rest) else [])
    styles = [colour(i) for i in range(len(top))] + ([OTHERS] if len(rest) else [])
    marks = stacked(x, y, rows, layers, styles, texts)
    legend = [Key("area", style, text) for style, text in zip(styles, texts, strict=True)]
    drawn = chart(x, y, marks, legend=legend, name="class probabilities over the run", height="low")
    how = f"The mix of classes that was predicted, as it changed over the run. {esc(thinned(results.strip.step))}"
    return panel("Predicted classes", how, drawn)


def _windows(row: Int, shares_: Float) -> tuple[Float, Float]:
    """Return first row and mean of each of at most ``WINDOWS`` groups of rows; the last is drawn up to the end."""
    joined = max(1, -(-len(row) // WINDOWS))
    starts = np.arange(0, len(row), joined)
    counts = np.diff(np.append(starts, len(row)))[:, None]
    means = np.add.reduceat(shares_, starts, axis=0) / counts
    first = row[starts].astype(np.float64)
    return np.append(first, float(row[-1])), np.vstack([means, means[-1:]])
