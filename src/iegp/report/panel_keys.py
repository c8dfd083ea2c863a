"""Tables of models by key: the keys with the most rows and those with the largest errors, not all of them."""

from __future__ import annotations

from iegp.report.sections import nothing, panel, section, side_by_side, table
from iegp.report.text import named, number, percent, whole
from iegp.stream.digest import KeyScore, KeyScores
from iegp.stream.digest.key_moments import START, WINDOW
from iegp.stream.digest.key_scores import ENOUGH_LABELS

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
            panel(
                "Worst predicted",
                recent,
                _table(worst, shows_recent=True) if worst else nothing("No key has that many yet."),
            ),
        ),
    )


def _table(entries: list[KeyScore], shows_recent: bool = False) -> str:
    columns = {
        "Key": [named(entry.key, 24) for entry in entries],
        "Rows": [whole(entry.rows) for entry in entries],
        "Recent nMSE": [number(entry.recent_nmse) for entry in entries],
        "nMSE": [number(entry.nmse) for entry in entries],
        "Mean log score": [number(entry.log_score) for entry in entries],
        "Inside": [percent(entry.coverage) for entry in entries],
    }
    if not shows_recent:
        del columns["Recent nMSE"]
    return table(list(columns), [list(line) for line in zip(*columns.values(), strict=True)])
