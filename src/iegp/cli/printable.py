"""Text that a terminal only shows: names of columns and labels come from data, which may hold anything."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""The text with control characters, and others that are not seen, as Python writes them; line ends stay.

    A terminal obeys control characters: they could clear it, change its title or hide what was said before.

    >>> printable("power \x1b[2J é"), printable("one\ntwo")
    ('power \\x1b[2J é', 'one\ntwo')
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
