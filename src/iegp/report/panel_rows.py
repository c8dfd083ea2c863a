"""Tables of single rows: those with the least expected labels, and those at which the stream changed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from iegp.report.about import Change
from iegp.report.blocks import Cell, Head, Section, Table, named, nothing
from iegp.report.clock import date_and_time
from iegp.report.panel_classes import class_names
from iegp.report.text import NOTHING, minus, number, percent, whole
from iegp.stream.digest import Results, Surprise
from iegp.stream.digest.surprises import FIRST_LABELS

SURPRISES = Section(
    "surprises",
    "Most surprising rows",
    "The rows whose labels were least expected: wrong records, or events that the inputs do not show. The first "
    f"{FIRST_LABELS} labels, when any is a surprise, are left out.",
    link="Surprises",
)
CHANGES = Section(
    "changes",
    "Changes",
    "Where the level of the target, the noise, or the relation between inputs and target changed; the larger the "
    "strength, the clearer.",
)


def surprises(results: Results) -> Section:
    found = results.surprises
    if not found:
        return SURPRISES.holding(nothing("Too few labels have arrived yet."))
    columns = _identity(found)
    columns += _number_columns(found) if results.is_number else _class_columns(results, found)
    return SURPRISES.holding(_table(columns))


def changes(found: Sequence[Change]) -> Section:
    """Tabulate changes in the order of their rows, with times where rows have them."""
    ordered = sorted(found, key=lambda change: change.row)
    columns = [(Head("Row", False), [Cell(whole(own.row)) for own in ordered])]
    if any(own.time is not None for own in ordered):
        columns.append((Head("Time", False), [Cell(_time(own.time)) for own in ordered]))
    columns.append((Head("Kind", False), [named(own.kind) for own in ordered]))
    columns.append((Head("Strength"), [Cell(number(own.strength)) for own in ordered]))
    return CHANGES.holding(_table(columns, most=20))


def _table(columns: Sequence[tuple[Head, list[Cell]]], **limits: int) -> Table:
    cells = [own for _, own in columns]
    return Table([head for head, _ in columns], [list(line) for line in zip(*cells, strict=True)], **limits)


def _identity(found: Sequence[Surprise]) -> list[tuple[Head, list[Cell]]]:
    """Row, time, id and key; those that no row has are left out."""
    columns = [(Head("Row", False), [Cell(whole(own.row)) for own in found])]
    times = [own.columns["time"] for own in found]
    if not all(map(math.isnan, times)):
        columns.append((Head("Time", False), [Cell(_time(time)) for time in times]))
    for heading, names in {"Id": [own.id for own in found], "Key": [own.key for own in found]}.items():
        if any(name is not None for name in names):
            columns.append((Head(heading, False), [named("" if name is None else name, 24) for name in names]))
    return columns


def _number_columns(found: Sequence[Surprise]) -> list[tuple[Head, list[Cell]]]:
    def shown(name: str) -> list[Cell]:
        return [Cell(text) for text in _numbers([own.columns[name] for own in found])]

    ends = [_numbers([own.columns[name] for own in found]) for name in ("lower", "upper")]
    ranges = [Cell(f"{lower} to {upper}") for lower, upper in zip(*ends, strict=True)]
    columns = [(Head("Predicted"), shown("mean")), (Head("Range", is_minor=True), ranges)]
    columns.append((Head("Came"), shown("label")))
    if all(math.isnan(own.columns["lower"]) for own in found):
        del columns[1]
    return [*columns, (Head("Off by, in std"), [Cell(number(own.surprise)) for own in found])]


def _numbers(values: Sequence[float]) -> list[str]:
    """Numbers of one column: counts in full, others with three digits."""
    are_counts = all(value == round(value) and abs(value) < 1e7 for value in values if math.isfinite(value))
    return [minus(whole(value)) if are_counts and math.isfinite(value) else number(value) for value in values]


def _class_columns(results: Results, found: Sequence[Surprise]) -> list[tuple[Head, list[Cell]]]:
    names = class_names(results)

    def shown(name: str) -> list[Cell]:
        numbers = [int(own.columns[name]) for own in found]
        return [named(names[place], 24) if 0 <= place < len(names) else Cell(NOTHING) for place in numbers]

    sure = [Cell(percent(own.columns["confidence"])) for own in found]
    given = [Cell(percent(own.columns["p_label"])) for own in found]
    return [
        (Head("Predicted", False), shown("predicted")),
        (Head("Its probability", is_minor=True), sure),
        (Head("Came", False), shown("label")),
        (Head("Its probability"), given),
    ]


def _time(seconds: float | None) -> str:
    return NOTHING if seconds is None or not math.isfinite(seconds) else date_and_time(seconds)
