"""Confusion of classes: a table for a few classes, one line per class for many."""

from __future__ import annotations

import numpy as np

from iegp.report.panel_classes import class_names
from iegp.report.section import nothing, section
from iegp.report.tables import table
from iegp.report.text import NOTHING, named, percent, whole
from iegp.stream.digest import Results

MOST_CROSSED, MOST_LISTED = 12, 20


def mistakes(results: Results) -> str:
    total = int(results.confusion.sum())
    if total == 0:
        return section(*HEADING, nothing("No labels have come yet."))
    if np.count_nonzero(results.confusion.sum(axis=1)) == 1 and results.n_classes == 1:
        return section(*HEADING, nothing("All labels so far are of one class: there is nothing to mix up."))
    if results.n_classes > MOST_CROSSED:
        return section(*HEADING, _by_class(results))
    return section(*HEADING, CROSSED, _crossed(results), f"<h3>Class by class</h3>{_by_class(results)}")


HEADING = (
    "mistakes",
    "Mistakes",
    "Which classes are found when they come, and how far their predictions can be relied on.",
)
CROSSED = (
    '<h3>Which is taken for which</h3><p class="how">Rows are true classes, columns predicted ones: everything off the '
    "diagonal is a mistake, and the darker it is, the larger its share of the row.</p>"
)


def _crossed(results: Results) -> str:
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
    came, said, right = counts.sum(axis=1), counts.sum(axis=0), np.diag(counts)
    order = np.arange(len(came)) if results.task == "ordinal" else np.argsort(-came, kind="stable")
    lines = [
        [named(names[i], 32), whole(came[i]), whole(said[i]), _share(right[i], came[i]), _share(right[i], said[i])]
        for i in order
    ]
    heads = ["Class", "Came", "Predicted", "Of those that came, found", "Of those predicted, right"]
    if len(lines) <= MOST_LISTED:
        return table(heads, lines)
    rest = f"<details><summary>{len(lines) - MOST_LISTED} more</summary>{table(heads, lines[MOST_LISTED:])}</details>"
    return table(heads, lines[:MOST_LISTED]) + rest


def _share(part: int, of: int) -> str:
    return percent(part / of) if of else NOTHING
