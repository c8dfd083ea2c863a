"""Text and numbers as they appear on the page. Templates escape them, and pass them through ``clean``."""

from __future__ import annotations

import math
import re
from typing import Any

NOTHING = "–"
# Control characters are not allowed in HTML, lone surrogates not in UTF-8.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
# Characters that would reverse the order of the text around them.
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def clean(value: Any) -> str:
    """Return text that any browser can show."""
    return _TURNING.sub("", _UNPRINTABLE.sub("\ufffd", str(value)))


def short(value: Any, most: int = 32) -> str:
    """Cut text in the middle, because long names often differ at their ends; the result is not escaped."""
    text = clean(value)
    if len(text) <= most:
        return text
    head = (most - 1) // 2 + (most - 1) % 2
    return f"{text[:head]}…{text[-(most - 1 - head) :]}"


def whole(n: float) -> str:
    """Format a whole number, such as 12,345."""
    return f"{int(n):,}"


def rows(n: float) -> str:
    """Format a number of rows, such as 1 row or 12,345 rows."""
    return f"{whole(n)} row{'' if n == 1 else 's'}"


def number(value: float, digits: int = 3) -> str:
    """Format a number with three significant digits: 0.0123, 12.3, 12,300, 1.23 × 10¹²."""
    if not math.isfinite(value):
        return NOTHING if math.isnan(value) else ("∞" if value > 0 else minus("-∞"))
    if value == 0.0:
        return "0"
    rounded = float(f"{value:.{digits}g}")
    exponent = math.floor(math.log10(abs(rounded)))
    if -4 <= exponent < 7:
        places = max(digits - 1 - exponent, 0)
        return minus(f"{rounded:,.{places}f}")
    return minus(f"{rounded / 10.0**exponent:.{digits - 1}f}") + f" × {power_of_ten(exponent)}"


def percent(share: float, places: int = 1) -> str:
    return NOTHING if not math.isfinite(share) else f"{100 * share:.{places}f} %"


def power_of_ten(exponent: int) -> str:
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def minus(text: str) -> str:
    """Replace hyphens by minus signs, which are as wide as a plus."""
    return text.replace("-", "−")


def duration(seconds: float) -> str:
    """Format a duration, such as 0.8 s, 12 s, 3 min 20 s, 5 h 12 min."""
    if seconds < 10.0:
        return f"{seconds:.1f} s"
    whole_seconds = round(seconds)
    minutes, hours = whole_seconds // 60, whole_seconds // 3600
    if hours:
        return f"{hours:,} h {minutes % 60} min"
    return f"{minutes} min {whole_seconds % 60} s" if minutes else f"{whole_seconds} s"


def setting_lines(values: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Return names and values; nested names are joined by dots."""
    lines: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, dict) and value:
            lines += setting_lines(value, f"{prefix}{name}.")
        else:
            lines.append((f"{prefix}{name}", _setting(value)))
    return lines


def _setting(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_setting(item) for item in value) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value) or "none"
