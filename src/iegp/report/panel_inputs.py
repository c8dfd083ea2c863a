"""Table of the inputs: kind, gaps, and how relevant the model finds each."""

from __future__ import annotations

from collections.abc import Sequence

from iegp.report.about import InputRow
from iegp.report.blocks import Cell, Head, Section, Table, named
from iegp.report.text import percent, whole

MOST_LISTED = 15
SECTION = Section(
    "inputs",
    "Inputs",
    "What the predictions are made from. Relevance is how steeply the model's functions vary along an input (one over "
    "the squared length scale), averaged over the experts by weight; it is a share of all inputs, not a causal effect.",
    link="Inputs",
)


def inputs(found: Sequence[InputRow], n_rows: int) -> Section:
    """Tabulate the inputs, the most relevant first."""
    ordered = sorted(found, key=lambda own: -own.relevance)
    largest = max((own.relevance for own in ordered), default=0.0) or 1.0
    lines = [
        [
            named(own.name),
            Cell(own.kind),
            Cell(f"{whole(own.gaps)} ({percent(own.gaps / max(n_rows, 1))})" if own.gaps else "none"),
            Cell(percent(own.relevance), bar=own.relevance / largest),
        ]
        for own in ordered
    ]
    heads = [Head("Input", False), Head("Type", False, is_minor=True), Head("Gaps"), Head("Relevance", False)]
    return SECTION.holding(Table(heads, lines, MOST_LISTED))
