"""Panels that are tables: inputs with their relevance, and keys with the most rows and the largest errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from iegp.report.about import InputRow
from iegp.report.blocks import Cell, Head, Panel, Panels, Section, Table, named, nothing
from iegp.report.text import number, percent, whole
from iegp.stream.digest import KeyScore, KeyScores
from iegp.stream.digest.key_moments import START, WINDOW
from iegp.stream.digest.key_scores import ENOUGH_LABELS

MOST_INPUTS = 15
INPUTS = Section(
    "inputs",
    "Inputs",
    "What the predictions are made from. Relevance is how steeply the model's functions vary along an input (one over "
    "the squared length scale), averaged over the experts by weight; it is a share of all inputs, not a causal effect.",
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
    return INPUTS.holding(Table(heads, lines, MOST_INPUTS))


MOST_KEYS = 10


class ListedKeys(NamedTuple):
    """The keys that a page lists, and how many there are."""

    n_keys: int
    busiest: list[KeyScore]
    worst: list[KeyScore]

    @classmethod
    def of(cls, scores: KeyScores) -> ListedKeys:
        return cls(len(scores), scores.busiest(MOST_KEYS), scores.worst(MOST_KEYS))


def keys(listed: ListedKeys) -> Section:
    recent = (
        f"Largest recent nMSE first: of a key's last {WINDOW} to {2 * WINDOW - 1} labels, over their variance. "
        f"Its first {START} labels do not count, and {ENOUGH_LABELS} more are needed."
    )
    worst = _table(listed.worst, shows_recent=True) if listed.worst else nothing("No key has that many yet.")
    most = f"{whole(len(listed.busiest))} of {whole(listed.n_keys)} keys."
    return Section(
        "keys",
        "Keys",
        "Every key has a model of its own once the rows that all share are over. "
        "Squared errors are over the variance of the key's own labels: below 1 beats the mean of that key.",
        [Panels([Panel("Most rows", most, [_table(listed.busiest)]), Panel("Worst predicted", recent, [worst])])],
    )


def _table(entries: list[KeyScore], shows_recent: bool = False) -> Table:
    heads = [Head("Key", False), Head("Rows"), Head("Recent nMSE"), Head("nMSE", is_minor=shows_recent)]
    heads += [Head("Mean log score", is_minor=True), Head("Inside")]
    lines = [_line(entry) for entry in entries]
    shown = [place for place, head in enumerate(heads) if shows_recent or head.text != "Recent nMSE"]
    return Table([heads[place] for place in shown], [[line[place] for place in shown] for line in lines])


def _line(entry: KeyScore) -> list[Cell]:
    numbers = [number(entry.recent_nmse), number(entry.nmse), number(entry.log_score), percent(entry.coverage)]
    return [named(entry.key, 24), Cell(whole(entry.rows)), *map(Cell, numbers)]
