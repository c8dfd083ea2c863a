"""Sections of the page: a heading, one sentence on how to read it, and panels or tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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


def table(heads: Sequence[str], lines: Sequence[Sequence[str]], numbers_from: int = 1) -> str:
    """Render a table that scrolls by itself where the screen is narrow: ``heads`` are text, cells HTML.

    Columns from ``numbers_from`` on hold numbers.
    """
    style = ["" if i < numbers_from else ' class="number"' for i in range(len(heads))]
    head = "".join(f"<th{s}>{esc(text)}</th>" for s, text in zip(style, heads, strict=True))
    body = "".join(f"<tr>{_cells(style, line)}</tr>" for line in lines)
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def long_table(heads: Sequence[str], lines: Sequence[Sequence[str]], most: int, numbers_from: int = 1) -> str:
    """Render a table of which lines beyond the first ``most`` are folded away."""
    top = table(heads, lines[:most], numbers_from)
    if len(lines) <= most:
        return top
    return (
        f"{top}<details><summary>{len(lines) - most} more</summary>{table(heads, lines[most:], numbers_from)}</details>"
    )


def _cells(style: Sequence[str], line: Sequence[str]) -> str:
    return "".join(f"<td{s}>{cell}</td>" for s, cell in zip(style, line, strict=True))


def settings(values: dict[str, Any]) -> str:
    """Render names and values of a configuration; nested names are joined by dots."""
    lines = "".join(f"<tr><th>{esc(name)}</th><td>{esc(value)}</td></tr>" for name, value in _flat("", values))
    return f'<div class="table"><table class="settings"><tbody>{lines}</tbody></table></div>'


def _flat(prefix: str, values: dict[str, Any]) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, dict) and value:
            lines += _flat(f"{prefix}{name}.", value)
        else:
            lines.append((f"{prefix}{name}", _worded(value)))
    return lines


def _worded(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_worded(item) for item in value) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
