"""Help for a mistyped name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def closest(name: str, known: Iterable[str]) -> str:
    """A sentence with the known names most like ``name``, or with all of them where none is.

    >>> closest("sarcoss", ["sarcos", "mnist"])
    "Did you mean 'sarcos'?"
    >>> closest("x", ["sarcos", "mnist"])
    'Known names: mnist, sarcos.'
    """
    names = sorted(known)
    matches = get_close_matches(name.lower(), names, n=3)
    if matches:
        return f"Did you mean {' or '.join(repr(match) for match in matches)}?"
    return f"Known names: {', '.join(names)}."
