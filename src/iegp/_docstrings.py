"""Texts that several docstrings share: a parameter that means the same in many places is described once.

A line of a docstring that holds only a name in braces stands for the entry of that name in a table of texts, with the
indentation of the line:

>>> @fill_docstrings(entries("X : array-like (n, d)\\n    Rows."))
... def learn(X):
...     '''Learn rows.
...
...     Parameters
...     ----------
...     {X}
...     '''
>>> print(inspect.getdoc(learn))
Learn rows.
<BLANKLINE>
Parameters
----------
X : array-like (n, d)
    Rows.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from textwrap import indent
from typing import Any, TypeVar

Documented = TypeVar("Documented")

PLACEHOLDER = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)


def fill_docstrings(texts: Mapping[str, str]) -> Callable[[Documented], Documented]:
    """Make a decorator that fills the placeholders in the docstring of a function, or of a class and its methods."""

    def fill(value: Documented) -> Documented:
        members = vars(value).values() if inspect.isclass(value) else ()
        functions = (getattr(member, "__func__", member) for member in members)  # those of class methods too
        documented: list[Any] = [value, *filter(inspect.isfunction, functions)]
        for item in documented:
            item.__doc__ = filled(item.__doc__, texts)
        return value

    return fill


def entries(section: str) -> dict[str, str]:
    """Split the text of a numpydoc section into its entries, by the names of the parameters."""
    found = re.split(r"\n(?=\S)", section.strip())
    return {entry.split(" : ")[0].split("\n")[0]: entry for entry in found}


def filled(docstring: str | None, texts: Mapping[str, str]) -> str | None:
    """Return a docstring with its placeholders replaced; ``None``, as under ``python -OO``, stays."""
    return docstring and PLACEHOLDER.sub(lambda found: indent(texts[found[2]], found[1]), docstring)
