"""Colours by name; the style sheet gives each a value for light and for dark pages."""

from __future__ import annotations

# Told apart also by eyes that see few colours: neighbours differ in lightness.
N_COLOURS = 8
OTHERS = "c-others"


def colour(place: int) -> str:
    """The class of the group that stands at ``place`` in a stack; beyond the eighth all are grey."""
    return f"c{place + 1}" if place < N_COLOURS else OTHERS
