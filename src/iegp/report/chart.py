"""Axes and legend around the marks of a panel; ticks and titles are page text, readable at any width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from iegp.report import svg
from iegp.report.scales import SIZE, Axis
from iegp.report.text import esc


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
