"""Sections of the page: a heading, one sentence on how to read it, and the panels."""

from __future__ import annotations

from iegp.report.text import esc


def section(anchor: str, heading: str, how_to_read: str, *body: str) -> str:
    """Render a section; ``how_to_read`` and ``body`` are HTML."""
    inside = "".join(body)
    return f'<section id="{anchor}"><h2>{esc(heading)}</h2><p class="how">{how_to_read}</p>{inside}</section>'


def panel(heading: str, how_to_read: str, body: str) -> str:
    """Render one of several panels of a section."""
    return f'<div class="panel"><h3>{esc(heading)}</h3><p class="how">{how_to_read}</p>{body}</div>'


def side_by_side(*panels: str) -> str:
    """Arrange panels in two columns, where the screen is wide enough."""
    return f'<div class="panels">{"".join(panel for panel in panels if panel)}</div>'


def nothing(text: str) -> str:
    """Render a message in place of a panel that has nothing to draw."""
    return f'<p class="nothing">{esc(text)}</p>'


def thinned(step: int) -> str:
    """Say which rows are drawn."""
    if step == 1:
        return "Every row is shown."
    ending = {2: "nd", 3: "rd"}.get(step % 10, "th") if step % 100 not in (12, 13) else "th"
    return f"Every {step:,}{ending} row is shown."
