"""How the models by key fare: the busiest keys and the worst predicted ones, never all of them."""

from __future__ import annotations

from iegp.plots.report.section import nothing, panel, section, side_by_side
from iegp.plots.report.tables import table
from iegp.plots.report.text import named, number, percent, whole
from iegp.run.digest import KeyScore, KeyScores
from iegp.run.digest.key_scores import ENOUGH_LABELS

MOST_LISTED = 10


def keys(scores: KeyScores) -> str:
    busiest, worst = scores.busiest(MOST_LISTED), scores.worst(MOST_LISTED)
    least = f"Largest nMSE first, of the keys with at least {ENOUGH_LABELS} labels."
    return section(
        "keys",
        "Keys",
        "Every key has a model of its own once the rows that all share are over. "
        "Squared errors are over the variance of the key's own labels: below 1 beats the mean of that key.",
        side_by_side(
            panel("Most rows", f"{whole(len(busiest))} of {whole(len(scores))} keys.", _table(busiest)),
            panel("Worst predicted", least, _table(worst) if worst else nothing("No key has that many yet.")),
        ),
    )


def _table(entries: list[KeyScore]) -> str:
    lines = [
        [named(entry.key, 24), whole(entry.rows), number(entry.nmse), number(entry.log_score), percent(entry.coverage)]
        for entry in entries
    ]
    return table(["Key", "Rows", "nMSE", "Mean log score", "Inside"], lines)
