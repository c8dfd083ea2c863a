"""Sections and tables of the page as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from iegp.report.text import clean


def escaped(value: Any) -> str:
    """Escape text, also for use inside an attribute."""
    return escape(clean(value), quote=True)


def section(anchor: str, heading: str, how_to_read: str, *body: str) -> str:
    """Render a section; ``how_to_read`` and ``body`` are HTML."""
    inside = "".join(body)
    return f'<section id="{anchor}"><h2>{escaped(heading)}</h2><p class="how">{how_to_read}</p>{inside}</section>'


def table(heads: Sequence[str], lines: Sequence[Sequence[str]], numbers_from: int = 1) -> str:
    """Render a table that scrolls by itself where the screen is narrow: ``heads`` are text, cells HTML.

    Columns from ``numbers_from`` on hold numbers.
    """
    style = ["" if i < numbers_from else ' class="number"' for i in range(len(heads))]
    head = "".join(f"<th{s}>{escaped(text)}</th>" for s, text in zip(style, heads, strict=True))
    body = "".join(f"<tr>{_cells(style, line)}</tr>" for line in lines)
    return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cells(style: Sequence[str], line: Sequence[str]) -> str:
    return "".join(f"<td{s}>{cell}</td>" for s, cell in zip(style, line, strict=True))


def settings(lines: Sequence[tuple[str, str]]) -> str:
    """Render names and values."""
    rows = "".join(f"<tr><th>{escaped(name)}</th><td>{escaped(value)}</td></tr>" for name, value in lines)
    return f'<div class="table"><table class="settings"><tbody>{rows}</tbody></table></div>'
