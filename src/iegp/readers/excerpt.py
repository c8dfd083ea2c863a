"""Offending text, made fit for a message and for a side file."""

from __future__ import annotations

MAX_SHOWN = 80
MAX_RAW = 64 * 1024


def excerpt(text: str | bytes) -> str:
    """At most ``MAX_SHOWN`` printable characters: control characters and broken bytes are written as escapes, so that
    a file cannot talk to the terminal of whoever reads the message."""
    head = text[: MAX_SHOWN + 1]
    if isinstance(head, bytes):
        head = head.decode("utf-8", "backslashreplace")
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in head)
    if len(shown) > MAX_SHOWN or len(text) > MAX_SHOWN:
        return shown[: MAX_SHOWN - 3] + "..."
    return shown


def shorten_raw(record: bytes | memoryview) -> bytes:
    """The record as it stood, without its line end, cut to ``MAX_RAW`` bytes."""
    return bytes(record[: MAX_RAW + 2]).removesuffix(b"\n").removesuffix(b"\r")[:MAX_RAW]
