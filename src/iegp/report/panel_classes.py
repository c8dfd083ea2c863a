"""Panels of predicted and true classes: probabilities over the run, confusion, precision and recall."""

from __future__ import annotations

import numpy as np

from iegp.report import svg
from iegp.report.chart import N_COLOURS, Key, chart, stacked_chart, zoomable
from iegp.report.scales import last_row, row_axis, shares
from iegp.report.sections import long_table, nothing, panel, section, thinned
from iegp.report.text import NOTHING, esc, named, percent, whole
from iegp.stream.digest import Results
from iegp.typing import Float, Int

MOST_CROSSED, MOST_LISTED = 12, 20
# More windows than this look like noise where classes alternate.
WINDOWS = 40


def predictions_of_classes(results: Results, target: str) -> str:
    if results.n_rows < 2:
        return section(*PREDICTIONS, nothing("No rows have come yet." if not results.n_rows else "One row has come."))
    certainty = _certainty(results, target) if results.n_labelled else nothing("No labels have come yet.")
    return section(*PREDICTIONS, certainty, _mix(results))


def class_names(results: Results) -> list[str]:
    """Return labels as text; the last may stand for all classes beyond the number that is shown."""
    names = [str(label) for label in results.classes]
    return names + ["all others"] * (results.n_classes - len(names))


PREDICTIONS = (
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
        svg.dots(x, y, rows[~wrong], p[~wrong], f"right{svg.big(len(rows))}"),
        svg.dots(x, y, rows[wrong], p[wrong], f"wrong{svg.big(len(rows))}"),
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
    top, rest = np.sort(common[:N_COLOURS]), common[N_COLOURS:]
    layers = [mix[:, i] for i in top] + ([mix[:, rest].sum(axis=1)] if len(rest) else [])
    texts = [named(names[i], 24) for i in top] + ([f"{len(rest)} other classes"] if len(rest) else [])
    drawn = stacked_chart(x, y, rows, layers, texts, name="class probabilities over the run", height="low")
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


def mistakes(results: Results) -> str:
    total = int(results.confusion.sum())
    if total == 0:
        return section(*MISTAKES, nothing("No labels have come yet."))
    if np.count_nonzero(results.confusion.sum(axis=1)) == 1 and results.n_classes == 1:
        return section(*MISTAKES, nothing("All labels so far are of one class: none can be confused with another."))
    if results.n_classes > MOST_CROSSED:
        return section(*MISTAKES, _by_class(results))
    by_class = f"<h3>Precision and recall by class</h3>{_by_class(results)}"
    return section(*MISTAKES, CONFUSION, _confusion(results), by_class)


MISTAKES = (
    "mistakes",
    "Mistakes",
    "Recall: share of a class's rows that were predicted as such. Precision: share of its predictions that are right.",
)
CONFUSION = (
    '<h3>Confusion matrix</h3><p class="how">Rows are true classes, columns predicted ones: everything off the '
    "diagonal is a mistake, and the darker it is, the larger its share of the row.</p>"
)


def _confusion(results: Results) -> str:
    names, counts = class_names(results), results.confusion
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    head = "".join(f"<th>{named(name, 14)}</th>" for name in names)
    lines = "".join(
        f"<tr><th>{named(names[i], 18)}</th>"
        f"{''.join(_cell(i == j, int(n), share[i, j]) for j, n in enumerate(line))}</tr>"
        for i, line in enumerate(counts)
    )
    corner = '<th class="corner">true ↓ predicted →</th>'
    return (
        f'<div class="table"><table class="confusion"><thead><tr>{corner}{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _cell(on_diagonal: bool, n: int, share: float) -> str:
    kind = "hit" if on_diagonal else "miss"
    return f'<td class="{kind}" style="--share:{share:.3f}">{whole(n) if n else ""}</td>'


def _by_class(results: Results) -> str:
    """Tabulate precision and recall, most frequent class first; ordered levels in their own order."""
    counts, names = results.confusion, class_names(results)
    true, predicted, right = counts.sum(axis=1), counts.sum(axis=0), np.diag(counts)
    order = np.arange(len(true)) if results.task == "ordinal" else np.argsort(-true, kind="stable")
    recall, precision = (
        [percent(part / n) if n else NOTHING for part, n in zip(right, total, strict=True)]
        for total in (true, predicted)
    )
    lines = [[named(names[i], 32), whole(true[i]), whole(predicted[i]), recall[i], precision[i]] for i in order]
    heads = ["Class", "Rows", "Predicted", "Recall", "Precision"]
    return long_table(heads, lines, MOST_LISTED)
