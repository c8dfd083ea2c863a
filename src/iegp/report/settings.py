"""Names and values of a configuration as lines of text."""

from __future__ import annotations

from typing import Any


def setting_lines(values: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Return names and values; nested names are joined by dots."""
    lines: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, dict) and value:
            lines += setting_lines(value, f"{prefix}{name}.")
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
    return f"{value:g}" if isinstance(value, float) else str(value) or "none"
