"""Axes and legend around the marks of a panel, and its numbers as JSON for the script that zooms.

Ticks and titles are page text, readable at any width. Colours have names; the style sheet gives each a value for light
and for dark pages.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iegp.report import svg
from iegp.report.scales import SIZE, Axis
from iegp.report.text import clean, esc
from iegp.typing import Float, Int

# Neighbouring colours differ in lightness, for readers with colour blindness.
N_COLOURS = 8
BUTTONS = (
    ("back", "←", "earlier rows"),
    ("in", "+", "zoom in"),
    ("out", "−", "zoom out"),
    ("on", "→", "later rows"),
    ("all", "whole run", "show the whole run"),
)


class Key(NamedTuple):
    """An entry of a legend; ``shape`` is line, dots, area or stick."""

    shape: str
    style: str
    text: str


def chart(
    x: Axis,
    y: Axis,
    marks: Sequence[str],
    *,
    legend: Sequence[Key] = (),
    name: str,
    height: str = "",
    attributes: str = "",
    square: bool = False,
) -> str:
    """Render a panel with its axes. ``name`` is the text for screen readers; ``attributes`` are for scripts."""
    width = max((len(label) for _, label in y.ticks), default=1)
    plot = (
        f'<div class="plot {height}"><svg viewBox="0 0 {SIZE:.0f} {SIZE:.0f}" preserveAspectRatio="none" role="img" '
        f'aria-label="{esc(name)}">{svg.grid(x, y)}{"".join(marks)}</svg></div>'
    )
    return (
        f'<div class="chart{" square" if square else ""}" style="--labels:{width + 0.5}ch" {attributes}>'
        f"{_legend(legend)}"
        f'<div class="y-title">{esc(y.title)}</div><div class="frame"><div class="y-ticks">{_y_ticks(y)}</div>{plot}'
        f'<div class="x-ticks">{_x_ticks(x)}</div></div><div class="x-title">{esc(x.title)}</div></div>'
    )


def _legend(keys: Sequence[Key]) -> str:
    items = "".join(f'<li><i class="key {key.shape} {key.style}"></i>{key.text}</li>' for key in keys)
    return f'<ul class="legend">{items}</ul>' if items else ""


def _y_ticks(y: Axis) -> str:
    return "".join(f'<span style="top:{100 - place:.2f}%">{esc(label)}</span>' for place, label in _places(y))


def _x_ticks(x: Axis) -> str:
    """Render ticks so that every second one can be hidden on a narrow screen."""
    return "".join(
        f'<span class="{_end(place)} {_parity(i)}" style="left:{place:.2f}%">{esc(label)}</span>'
        for i, (place, label) in enumerate(_places(x))
    )


def _end(place: float) -> str:
    """Return the style of a label; one at the end of the axis would otherwise extend beyond the page."""
    return "at-end" if place > 97 else "inside"


def _parity(i: int) -> str:
    return "odd" if i % 2 else "even"


def _places(axis: Axis) -> list[tuple[float, str]]:
    values = [value for value, _ in axis.ticks]
    return [(at / SIZE * 100, label) for at, (_, label) in zip(_at(axis, values), axis.ticks, strict=True)]


def _at(axis: Axis, values: list[float]) -> list[float]:
    return [float(place) for place in axis.at(np.array(values))] if values else []


def colour(place: int) -> str:
    """Return the style of the group at ``place`` in a stack; beyond the eighth all are grey."""
    return f"c{place + 1}" if place < N_COLOURS else "c-others"


def stacked_chart(
    x: Axis, y: Axis, rows: Float, layers: Sequence[Float], texts: Sequence[str], *, name: str, height: str
) -> str:
    """Render areas on top of each other, the first at the bottom; ``texts`` are HTML-escaped."""
    marks, legend, base = [], [], np.zeros(len(rows))
    for place, (layer, text) in enumerate(zip(layers, texts, strict=True)):
        marks.append(svg.area(x, y, rows, base, base + layer, colour(place), "" if "<" in text else text))
        legend.append(Key("area", colour(place), text))
        base = base + layer
    return chart(x, y, marks, legend=legend, name=name, height=height)


def zoomable(
    drawn: str, x: Axis, y: Axis, row: Int, columns: dict[str, Float], target: str, names: list[str] | None = None
) -> str:
    """Render a chart with its numbers. ``names`` are class labels, where columns hold class numbers.

    Buttons and hint are hidden until the script runs.
    """
    data: dict[str, Any] = {
        "x": [x.low, x.high],
        "y": [y.low, y.high],
        "power": y.power,
        "target": clean(target),
        "row": row.tolist(),
        **{name: _plain(values) for name, values in columns.items()},
    }
    if names is not None:
        data["names"] = [clean(name) for name in names]
    buttons = "".join(
        f'<button type="button" data-go="{go}" title="{title}" aria-label="{title}">{sign}</button>'
        for go, sign, title in BUTTONS
    )
    hint = "Drag to zoom into a range, double click for the whole run."
    tools = f'<div class="tools" hidden><span class="hint">{hint}</span>{buttons}</div>'
    return f'<div class="zoomable">{tools}{drawn}<script type="application/json">{_json(data)}</script></div>'


def _json(data: dict[str, Any]) -> str:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _plain(values: NDArray[Any]) -> list[float | int | None]:
    """Round to six digits, more than a screen shows."""
    return [_rounded(value) for value in np.asarray(values, dtype=np.float64).tolist()]


def _rounded(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded
