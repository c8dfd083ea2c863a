"""From axes and marks to charts, and the numbers of a chart for the script that zooms.

Ticks and titles are page text, readable at any width. Colours have names; the style sheet gives each a value for light
and for dark pages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.report import svg
from iegp.report.blocks import Cell, Chart, Key, Tick
from iegp.report.scales import SIZE, Axis
from iegp.report.text import clean
from iegp.typing import Float

# Neighbouring colours differ in lightness, for readers with colour blindness.
N_COLOURS = 8


def chart(
    x: Axis,
    y: Axis,
    marks: Sequence[svg.Path | svg.Rect],
    *,
    legend: Sequence[Key] = (),
    name: str,
    height: str = "",
    square: bool = False,
) -> Chart:
    """Make a chart of marks. ``name`` is the text for screen readers."""
    return Chart(
        name=name,
        x_title=x.title,
        y_title=y.title,
        x_ticks=_ticks(x),
        y_ticks=_ticks(y),
        marks=list(marks),
        grid=svg.grid(x, y),
        legend=legend,
        height=height,
        square=square,
    )


def _ticks(axis: Axis) -> list[Tick]:
    values = np.array([value for value, _ in axis.ticks], dtype=np.float64)
    places = axis.at(values) / SIZE * 100
    return [Tick(float(place), label) for place, (_, label) in zip(places, axis.ticks, strict=True)]


def colour(place: int) -> str:
    """Return the style of the group at ``place`` in a stack; beyond the eighth all are grey."""
    return f"c{place + 1}" if place < N_COLOURS else "c-others"


def stacked_chart(
    x: Axis, y: Axis, rows: Float, layers: Sequence[Float], names: Sequence[Cell], *, name: str, height: str
) -> Chart:
    """Draw areas on top of each other, the first at the bottom."""
    marks, legend, base = [], [], np.zeros(len(rows))
    for place, (layer, own) in enumerate(zip(layers, names, strict=True)):
        marks.append(svg.area(x, y, rows, base, base + layer, colour(place), own.full or own.text))
        legend.append(Key("area", colour(place), own.text, own.full))
        base = base + layer
    return chart(x, y, marks, legend=legend, name=name, height=height)


def numbers_for_script(columns: dict[str, NDArray[Any]], **more: Any) -> dict[str, Any]:
    """Columns with six digits, more than a screen shows, and what else the script is to know."""
    return {name: _plain(values) for name, values in columns.items()} | more


def texts_for_script(names: Sequence[str]) -> list[str]:
    return [clean(name) for name in names]


def _plain(values: NDArray[Any]) -> list[float | int | None]:
    if np.issubdtype(values.dtype, np.integer):
        return [int(value) for value in values.tolist()]
    return [_rounded(value) for value in values.tolist()]


def _rounded(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
