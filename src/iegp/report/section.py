"""Sections of the page: a heading, one sentence on how to read it, and what there is to see."""

from __future__ import annotations

from iegp.report.text import esc


def section(anchor: str, heading: str, how_to_read: str, *body: str) -> str:
    """``how_to_read`` and ``body`` are HTML."""
    inside = "".join(body)
    return f'<section id="{anchor}"><h2>{esc(heading)}</h2><p class="how">{how_to_read}</p>{inside}</section>'


def panel(heading: str, how_to_read: str, body: str) -> str:
    """One of several pictures of a section."""
    return f'<div class="panel"><h3>{esc(heading)}</h3><p class="how">{how_to_read}</p>{body}</div>'


def side_by_side(*panels: str) -> str:
    """Two to a line where there is room."""
    return f'<div class="panels">{"".join(panel for panel in panels if panel)}</div>'


def nothing(text: str) -> str:
    """Said in words where there is nothing to draw."""
    return f'<p class="nothing">{esc(text)}</p>'


def thinned(step: int) -> str:
    """Which rows are drawn."""
    if step == 1:
        return "Every row is shown."
    ending = {2: "nd", 3: "rd"}.get(step % 10, "th") if step % 100 not in (12, 13) else "th"
    return f"Every {step:,}{ending} row is shown."
