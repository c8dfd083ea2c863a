"""One sentence on how good a run was, in units of the target and without terms that need explaining."""

from __future__ import annotations

import math
import re

import numpy as np

from iegp.report.about import About, Change
from iegp.report.clock import date
from iegp.report.panel_classes import class_names
from iegp.report.text import number, rows, short, whole
from iegp.stream.digest import Results, Score

# Fewer rows do not show which forecast is better.
FEWEST_ROWS = 20
_UNIT = re.compile(r"\A(.*\S)\s*[(\[]([^()\[\]]+)[)\]]\s*\Z", re.DOTALL)


def target_and_unit(about: About) -> tuple[str, str]:
    """Return the name of the target and its unit, which may stand in parentheses behind the name; "" if not known.

    >>> target_and_unit(About("t", "s", "torque (N m)", "regression", "default", 2))
    ('torque', 'N m')
    """
    found = _UNIT.match(about.target)
    name, unit = (found[1], found[2]) if found else (about.target, "")
    return short(name, 40), short(about.unit or unit, 20)


def verdict(results: Results, about: About) -> str:
    """Say how good the answers were that the run gave."""
    if results.n_labelled == 0:
        return "No labels have arrived yet, so nothing can be said about the predictions."
    if results.n_scored < FEWEST_ROWS:
        return f"Only {rows(results.n_scored)} could be scored so far: too few for a verdict."
    parts = _of_numbers(results, about) if results.is_number else _of_classes(results, about)
    return "; ".join([*parts, *_changes(about.changes)]) + "."


def _of_numbers(results: Results, about: About) -> list[str]:
    name, unit = target_and_unit(about)
    mae = results.mae
    off = number(mae.model, 2 if mae.model < 100.0 else 3)
    said = f"Off by {off} {unit}" if unit else f"Predictions of {name} are off by {off}"
    parts = [f"{said} on average, {_compared(results, mae)}"]
    if not math.isnan(results.coverage):
        promised = f"{100 * results.level:g} were promised"
        parts.append(f"{of_hundred(results.coverage)} of 100 values fell in the predicted range, where {promised}")
    return parts


def _compared(results: Results, score: Score) -> str:
    """Relative to the better of the naive forecasts."""
    known = "last known" if results.delay else "last"
    owner = "the key's " if results.by_key else "the "
    last = f"repeating {owner}{known} value"
    best, name = min((score.last, last), (score.naive, f"{owner}mean so far"))
    if best <= 0.0:
        return f"while {name} is always right" if score.model > 0.0 else f"as good as {name}"
    gain = 1.0 - score.model / best
    if abs(gain) < 0.005:
        return f"as good as {name}"
    return f"{abs(100 * gain):.0f} % {'better' if gain > 0.0 else 'worse'} than {name}"


def _of_classes(results: Results, about: About) -> list[str]:
    name, _ = target_and_unit(about)
    loss = results.loss
    right = f"{of_hundred(1.0 - loss.model)} of 100 rows were given the right {name}"
    if results.task == "ordinal":
        right += f", {of_hundred(_within_one_level(results))} at most one level off"
    frequent = f"always naming the most frequent {'level' if results.task == 'ordinal' else 'class'}"
    best, naive = min((loss.last, "repeating the last label"), (loss.naive, frequent))
    return [right, f"{naive} is right for {of_hundred(1.0 - best)}"]


def _within_one_level(results: Results) -> float:
    """Share of rows predicted at most one level off; levels that are no numbers are in the order they came in."""
    names = class_names(results)
    try:
        order = np.argsort([float(name) for name in names], kind="stable")
    except ValueError:
        order = np.arange(len(names))
    place = np.empty(len(names), dtype=np.int64)
    place[order] = np.arange(len(names))
    near = np.abs(place[:, None] - place[None, :]) <= 1
    return float(results.confusion[near].sum() / max(results.confusion.sum(), 1))


def of_hundred(share: float) -> str:
    """Format a share as so many of 100; with a decimal where it would round to none or all.

    >>> of_hundred(0.942), of_hundred(0.998), of_hundred(1.0)
    ('94', '99.8', '100')
    """
    rounded = f"{100 * share:.0f}"
    is_exact = share in (0.0, 1.0) or rounded not in ("0", "100")
    return rounded if is_exact else f"{min(max(100 * share, 0.1), 99.9):.1f}"


def _changes(changes: list[Change]) -> list[str]:
    """Say when the stream changed; of many changes the last."""
    if not changes:
        return []
    where = [_place(change) for change in changes]
    if len(where) > 3:
        return [f"{whole(len(where))} changes noticed, the last {where[-1]}"]
    listed = where[0] if len(where) == 1 else f"{', '.join(where[:-1])} and {where[-1]}"
    return [f"change{'s' * (len(where) > 1)} noticed {listed}"]


def _place(change: Change) -> str:
    return f"at row {whole(change.row)}" if change.time is None else f"on {date(change.time)}"
