"""Tables of models by key: the keys with the most rows and those with the largest errors, not all of them."""

from __future__ import annotations

from typing import NamedTuple

from iegp.report.blocks import Cell, Head, Panel, Panels, Section, Table, named, nothing
from iegp.report.text import number, percent, whole
from iegp.stream.digest import KeyScore, KeyScores
from iegp.stream.digest.key_moments import START, WINDOW
from iegp.stream.digest.key_scores import ENOUGH_LABELS

MOST_LISTED = 10


class ListedKeys(NamedTuple):
    """The keys that a page lists, and how many there are."""

    n_keys: int
    busiest: list[KeyScore]
    worst: list[KeyScore]

    @classmethod
    def of(cls, scores: KeyScores) -> ListedKeys:
        return cls(len(scores), scores.busiest(MOST_LISTED), scores.worst(MOST_LISTED))


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
        link="Keys",
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
