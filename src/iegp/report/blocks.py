"""What a page is made of, as plain data; ``templates/blocks.html.j2`` has one macro for each.

``kind`` names the macro. All text is escaped there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from iegp.report.svg import Path, Rect
from iegp.report.text import short, whole


class Key(NamedTuple):
    """An entry of a legend; ``shape`` is line, dots, area or stick."""

    shape: str
    style: str
    text: str
    full: str = ""
    """The whole text where ``text`` is cut."""


class Tick(NamedTuple):
    """A label of an axis, at ``place`` per cent of it."""

    place: float
    label: str


class Edge(NamedTuple):
    """A label outside the axis, drawn at its edge: ``side`` is above or below, ``place`` per cent of the row axis."""

    side: str
    place: float


@dataclass(frozen=True)
class Chart:
    """Marks with axes and a legend. ``name`` is the text for screen readers."""

    kind: ClassVar[str] = "chart"
    name: str
    x_title: str
    y_title: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    marks: list[Path | Rect]
    grid: str
    legend: Sequence[Key] = ()
    height: str = ""
    square: bool = False
    edges: list[Edge] | None = None
    """None where every value has a place on the axis."""

    @property
    def edges_text(self) -> str:
        """How many labels are outside the axis."""
        n = len(self.edges or ())
        return f"{whole(n)} label{'' if n == 1 else 's'} outside the axis"


@dataclass(frozen=True)
class Zoomable:
    """A chart that a script zooms, with an ``overview`` of the whole run if the chart shows its end alone."""

    kind: ClassVar[str] = "zoomable"
    chart: Chart
    data: dict[str, Any]
    overview: Chart | None = None


class Cell(NamedTuple):
    """A cell of a table; the whole text in ``full`` where ``text`` is cut."""

    text: str
    full: str = ""
    colour: str = ""
    """Style of a coloured key before the text."""
    bar: float | None = None
    """Share from 0 to 1 that is drawn as a bar before the text."""


class Head(NamedTuple):
    """A column of a table."""

    text: str
    is_number: bool = True
    is_minor: bool = False
    """Left out on a narrow screen."""


@dataclass(frozen=True)
class Table:
    """Lines of cells; those after the first ``most`` are folded away."""

    kind: ClassVar[str] = "table"
    heads: list[Head]
    lines: list[list[Cell]]
    most: int = 10_000


@dataclass(frozen=True)
class Confusion:
    """Counts of true classes (lines) and predicted ones; ``shares`` of each line colour the cells."""

    kind: ClassVar[str] = "confusion"
    names: list[Cell]
    heads: list[Cell]
    counts: list[list[int]]
    shares: list[list[float]]


@dataclass(frozen=True)
class Settings:
    """Names and values."""

    kind: ClassVar[str] = "settings"
    lines: list[tuple[str, str]]


@dataclass(frozen=True)
class Text:
    """A paragraph; ``style`` is how, note, nothing or command."""

    kind: ClassVar[str] = "text"
    text: str
    style: str = "how"


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    kind: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True)
class Toggle:
    """Blocks that are hidden until asked for."""

    kind: ClassVar[str] = "toggle"
    summary: str
    blocks: list[Any]


@dataclass(frozen=True)
class Panel:
    """One of several parts of a section: a heading, how to read it, and blocks."""

    kind: ClassVar[str] = "panel"
    heading: str
    how: str
    blocks: list[Any]


@dataclass(frozen=True)
class Panels:
    """Panels in two columns, where the screen is wide enough."""

    kind: ClassVar[str] = "panels"
    panels: list[Panel]


@dataclass(frozen=True)
class Section:
    """A part of the page with an anchor; ``link`` is its name in the menu, if that is not the heading."""

    anchor: str
    heading: str
    how: str
    blocks: list[Any] = field(default_factory=list)
    link: str = ""

    def holding(self, *blocks: Any) -> Section:
        """The same section with these blocks."""
        return Section(self.anchor, self.heading, self.how, list(blocks), self.link)


def nothing(text: str) -> Text:
    """A message in place of a panel that has nothing to draw."""
    return Text(text, "nothing")


def named(value: Any, most: int = 32, colour: str = "") -> Cell:
    """A name; a long one is cut and given in full in its tooltip."""
    text = short(value, most)
    return Cell(text, "" if text == str(value) else str(value), colour)


def thinned(step: int) -> str:
    """Say which rows are drawn."""
    if step == 1:
        return "Every row is shown."
    ending = {2: "nd", 3: "rd"}.get(step % 10, "th") if step % 100 not in (12, 13) else "th"
    return f"Every {step:,}{ending} row is shown."
