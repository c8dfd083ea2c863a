"""How the models by key fare: the busiest keys and the worst predicted ones, never all of them."""

from __future__ import annotations

from iegp.plots.report.section import nothing, panel, section, side_by_side
from iegp.plots.report.tables import table
from iegp.plots.report.text import named, number, percent, whole
from iegp.run.digest import KeyScore, KeyScores
from iegp.run.digest.key_scores import ENOUGH_LABELS
from iegp.run.digest.recent import START, WINDOW

MOST_LISTED = 10


def keys(scores: KeyScores) -> str:
    busiest, worst = scores.busiest(MOST_LISTED), scores.worst(MOST_LISTED)
    recent = (
        f"Largest recent nMSE first: of a key's last {WINDOW} to {2 * WINDOW - 1} labels, over their variance. "
        f"Its first {START} labels do not count, and {ENOUGH_LABELS} more are needed."
    )
    return section(
        "keys",
        "Keys",
        "Every key has a model of its own once the rows that all share are over. "
        "Squared errors are over the variance of the key's own labels: below 1 beats the mean of that key.",
        side_by_side(
            panel("Most rows", f"{whole(len(busiest))} of {whole(len(scores))} keys.", _table(busiest)),
            panel("Worst predicted", recent, _table(worst, True) if worst else nothing("No key has that many yet.")),
        ),
    )


def _table(entries: list[KeyScore], shows_recent: bool = False) -> str:
    lines = []
    for entry in entries:
        errors = [number(entry.recent_nmse)] * shows_recent + [number(entry.nmse)]
        lines.append([named(entry.key, 24), whole(entry.rows), *errors, *_others(entry)])
    errors = ["Recent nMSE"] * shows_recent + ["nMSE"]
    return table(["Key", "Rows", *errors, "Mean log score", "Inside"], lines)


def _others(entry: KeyScore) -> list[str]:
    return [number(entry.log_score), percent(entry.coverage)]
