"""SVG marks on a panel of 1,000 by 1,000 that is stretched to any width; strokes and dots keep their size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from iegp.report.scales import FEW, SIZE, Axis
from iegp.typing import Bool, Float


class Path(NamedTuple):
    """A path element; ``title`` is its tooltip."""

    style: str
    d: str
    title: str = ""


class Rect(NamedTuple):
    """A bar; numbers are those of its attributes."""

    x: str
    y: str
    width: str
    height: str
    title: str = ""


def line(x: Axis, y: Axis, xs: Float, ys: Float, style: str) -> Path:
    """Draw a line that is broken where a value is missing."""
    px, py = x.at(xs), SIZE - y.at(ys)
    return Path(f"line {style}", _pieces(px, py, np.isfinite(px) & np.isfinite(py)))


def steps(x: Axis, y: Axis, starts: Float, width: float, ys: Float, style: str) -> Path:
    """Draw a level for each window of ``width`` from ``starts`` on, joined where windows are adjacent."""
    xs = np.column_stack([starts, starts + width]).ravel()
    return line(x, y, np.minimum(xs, x.high), np.repeat(ys, 2), style)


def area(x: Axis, y: Axis, xs: Float, low: Float, high: Float, style: str, title: str = "") -> Path:
    """Draw the area between two lines; rows where either is missing are left out."""
    px, bottom, top = x.at(xs), SIZE - y.at(low), SIZE - y.at(high)
    there = np.isfinite(px) & np.isfinite(bottom) & np.isfinite(top)
    px, bottom, top = px[there], bottom[there], top[there]
    if len(px) < 2:
        return Path(f"area {style}", "")
    outline = _points(np.concatenate([px, px[::-1]]), np.concatenate([top, bottom[::-1]]))
    return Path(f"area {style}", f"M{outline}Z", title)


def dots(x: Axis, y: Axis, xs: Float, ys: Float, style: str) -> Path:
    """Draw round dots as lines of zero length with round ends, which stretching does not deform."""
    px, py = x.at(xs), SIZE - y.at(ys)
    there = np.isfinite(px) & np.isfinite(py)
    return Path(f"dots {style}", "".join(f"M{a}h0" for a in _pairs(px[there], py[there])))


def big(n: int) -> str:
    """Return the style of large dots if there are few."""
    return " big" if n <= FEW else ""


def bars(x: Axis, y: Axis, edges: Float, heights: Float, titles: Sequence[str]) -> list[Rect]:
    """Draw a rectangle of each positive height between two neighbouring ``edges``."""
    sides, low, tops = x.at(edges), SIZE - y.at(np.zeros(1))[0], SIZE - y.at(heights)
    return [
        Rect(f"{left:.1f}", f"{high:.1f}", f"{max(right - left, 0):.1f}", f"{low - high:.1f}", title)
        for left, right, high, title in zip(sides[:-1], sides[1:], tops, titles, strict=True)
        if high < low
    ]


def level(y: Axis, value: float, style: str) -> Path:
    """Draw a line across the panel."""
    place = float(SIZE - y.at(np.array([value]))[0])
    return Path(f"line {style}", f"M0 {place:.1f}H{SIZE:.0f}")


def upright(x: Axis, values: Sequence[float], style: str, title: str = "") -> Path:
    """Draw lines from bottom to top at those of ``values`` that are on the axis."""
    inside = np.array([value for value in values if x.low <= value <= x.high], dtype=np.float64)
    return Path(f"line {style}", "".join(f"M{place:.2f} 0V{SIZE:.0f}" for place in x.at(inside)), title)


def grid(x: Axis, y: Axis) -> str:
    """Draw faint lines at the ticks."""
    across = "".join(f"M0 {SIZE - place:.1f}H{SIZE:.0f}" for place in y.at(np.array([v for v, _ in y.ticks])))
    up = "".join(f"M{place:.1f} 0V{SIZE:.0f}" for place in x.at(np.array([v for v, _ in x.ticks])))
    return across + up


def _pieces(px: Float, py: Float, there: Bool) -> str:
    begins = np.flatnonzero(there & ~np.concatenate([[False], there[:-1]]))
    ends = np.flatnonzero(there & ~np.concatenate([there[1:], [False]])) + 1
    parts = []
    for begin, end in zip(begins, ends, strict=True):
        # A piece of one point would be invisible.
        tail = "h0" if end == begin + 1 else ""
        parts.append(f"M{_points(px[begin:end], py[begin:end])}{tail}")
    return "".join(parts)


def _points(px: Float, py: Float) -> str:
    return "L".join(_pairs(px, py))


def _pairs(px: Float, py: Float) -> list[str]:
    return [f"{a:.2f} {b:.2f}" for a, b in zip(px.tolist(), py.tolist(), strict=True)]
