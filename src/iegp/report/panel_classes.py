"""Panels of predicted and true classes: probabilities over the run, confusion, precision and recall."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iegp.report import svg
from iegp.report.about import Change
from iegp.report.blocks import (
    Cell,
    Confusion,
    Head,
    Heading,
    Key,
    Panel,
    Section,
    Table,
    Text,
    Zoomable,
    named,
    nothing,
    thinned,
)
from iegp.report.chart import N_COLOURS, stacked_chart, texts_for_script
from iegp.report.panel_numbers import shown_rows, too_few_rows
from iegp.report.scales import Axis, run_axis, shares
from iegp.report.series import Rows, Series, zoomable
from iegp.report.text import NOTHING, percent, whole
from iegp.stream.digest import Results
from iegp.typing import Float, Int

MOST_CROSSED, MOST_LISTED = 12, 20
# More windows than this look like noise where classes alternate.
WINDOWS = 40
PREDICTIONS = Section(
    "predictions",
    "Predictions",
    "Each row was predicted before its label was used; at the top, the true class had probability one.",
)
MISTAKES = Section(
    "mistakes",
    "Mistakes",
    "Recall: share of a class's rows that were predicted as such. Precision: share of its predictions that are right.",
)


def predictions_of_classes(results: Results, target: str, changes: Sequence[Change] = ()) -> Section:
    if results.n_rows < 2:
        return PREDICTIONS.holding(nothing(too_few_rows(results.n_rows)))
    if not results.n_labelled:
        return PREDICTIONS.holding(nothing("No labels have arrived yet."), _mix(results))
    certainty = _certainty(results, target, changes)
    return PREDICTIONS.holding(certainty, Text(shown_rows(results), "note"), _mix(results))


def class_names(results: Results) -> list[str]:
    """Return labels as text; the last may stand for all classes beyond the number that is shown."""
    names = [str(label) for label in results.classes]
    return names + ["all others"] * (results.n_classes - len(names))


def _certainty(results: Results, target: str, changes: Sequence[Change]) -> Zoomable:
    def marks(x: Axis, y: Axis, rows: Rows) -> list[svg.Path]:
        wrong, p = rows.columns["predicted"] != rows.columns["label"], rows.columns["p_label"]
        big = svg.big(len(rows.row))
        return [
            svg.dots(x, y, rows.row[~wrong], p[~wrong], f"right{big}"),
            svg.dots(x, y, rows.row[wrong], p[wrong], f"wrong{big}"),
        ]

    legend = [
        Key("dots", "right", "right: no other class was more probable"),
        Key("dots", "wrong", "wrong"),
    ]
    y = shares("probability given to the true class", margin=0.03)
    name = f"probability given to the true class of {target}"
    data = {"target": target, "names": texts_for_script(class_names(results))}
    return zoomable(results, Series(lambda _rows: y, marks, legend, name, data), changes)


def _mix(results: Results) -> Panel:
    """Draw the mean probability of each class over windows of the run, stacked."""
    x, y = run_axis(results), shares("mean probability")
    rows, mix = _windows(results.strip.row, results.strip.values)
    names = class_names(results)
    common = np.argsort(-mix.mean(axis=0), kind="stable")
    top, rest = np.sort(common[:N_COLOURS]), common[N_COLOURS:]
    layers = [mix[:, i] for i in top] + ([mix[:, rest].sum(axis=1)] if len(rest) else [])
    texts = [named(names[i], 24) for i in top] + ([Cell(f"{len(rest)} other classes")] if len(rest) else [])
    drawn = stacked_chart(x, y, rows, layers, texts, name="class probabilities over the run", height="low")
    how = f"The mix of classes that was predicted, as it changed over the run. {thinned(results.strip.step)}"
    return Panel("Predicted classes", how, [drawn])


def _windows(row: Int, shares_: Float) -> tuple[Float, Float]:
    """Return first row and mean of each of at most ``WINDOWS`` groups of rows; the last is drawn up to the end."""
    joined = max(1, -(-len(row) // WINDOWS))
    starts = np.arange(0, len(row), joined)
    counts = np.diff(np.append(starts, len(row)))[:, None]
    means = np.add.reduceat(shares_, starts, axis=0) / counts
    first = row[starts].astype(np.float64)
    return np.append(first, float(row[-1])), np.vstack([means, means[-1:]])


def mistakes(results: Results) -> Section:
    total = int(results.confusion.sum())
    if total == 0:
        return MISTAKES.holding(nothing("No labels have arrived yet."))
    if np.count_nonzero(results.confusion.sum(axis=1)) == 1 and results.n_classes == 1:
        return MISTAKES.holding(nothing("All labels so far are of one class: none can be confused with another."))
    if results.n_classes > MOST_CROSSED:
        return MISTAKES.holding(_by_class(results))
    how = (
        "Rows are true classes, columns predicted ones: everything off the diagonal is a mistake, and the darker it "
        "is, the larger its share of the row."
    )
    matrix = [Heading("Confusion matrix"), Text(how), _confusion(results)]
    return MISTAKES.holding(*matrix, Heading("Precision and recall by class"), _by_class(results))


def _confusion(results: Results) -> Confusion:
    names, counts = class_names(results), results.confusion
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    lines, heads = [named(name, 18) for name in names], [named(name, 14) for name in names]
    return Confusion(lines, heads, counts.tolist(), share.tolist())


def _by_class(results: Results) -> Table:
    """Tabulate precision and recall, most frequent class first; ordered levels in their own order."""
    counts, names = results.confusion, class_names(results)
    true, predicted, right = counts.sum(axis=1), counts.sum(axis=0), np.diag(counts)
    order = np.arange(len(true)) if results.task == "ordinal" else np.argsort(-true, kind="stable")
    recall, precision = (
        [percent(part / n) if n else NOTHING for part, n in zip(right, total, strict=True)]
        for total in (true, predicted)
    )
    lines = [
        [named(names[i], 32), *map(Cell, (whole(true[i]), whole(predicted[i]), recall[i], precision[i]))] for i in order
    ]
    heads = [Head("Class", False), Head("Rows"), Head("Predicted", is_minor=True), Head("Recall"), Head("Precision")]
    return Table(heads, lines, MOST_LISTED)
