"""Texts that several docstrings share: a parameter that means the same in many places is described once.

A line of a docstring that holds only a name in braces stands for the entry of that name in a table of texts, with the
indentation of the line. ``{parameters}`` stands for the whole section, with an entry for each parameter in the order of
the signature; texts named behind a colon, as in ``{parameters: X_or_none}``, replace those of the parameters that they
begin with.

>>> @fill_docstrings(entries("X : array-like (n, d)\\n    Rows."))
... def learn(X):
...     '''Learn rows.
...
...     {parameters}
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

PLACEHOLDER = re.compile(r"^( *)\{(\w+)(?:: (\w+(?:, \w+)*))?\}$", re.MULTILINE)


def fill_docstrings(texts: Mapping[str, str]) -> Callable[[Documented], Documented]:
    """Make a decorator that fills the placeholders in the docstring of a function, or of a class and its methods."""

    def fill(value: Documented) -> Documented:
        members = vars(value).values() if inspect.isclass(value) else ()
        functions = (getattr(member, "__func__", member) for member in members)  # those of class methods too
        documented: list[Any] = [value, *filter(inspect.isfunction, functions)]
        for item in documented:
            item.__doc__ = filled(item.__doc__, texts, item)
        return value

    return fill


def entries(section: str) -> dict[str, str]:
    """Split the text of a numpydoc section into its entries, by the names of the parameters."""
    found = re.split(r"\n(?=\S)", section.strip())
    return {name: entry for entry in found for name in _names(entry)}


def filled(docstring: str | None, texts: Mapping[str, str], documented: Any = None) -> str | None:
    """Return a docstring with its placeholders replaced; ``None``, as under ``python -OO``, stays."""

    def text_of(found: re.Match[str]) -> str:
        indentation, name, variants = found.groups()
        is_section = name == "parameters"
        text = _parameters(documented, texts, variants.split(", ") if variants else []) if is_section else texts[name]
        return indent(text, indentation)

    return docstring and PLACEHOLDER.sub(text_of, docstring)


def _parameters(documented: Any, texts: Mapping[str, str], variants: list[str]) -> str:
    """Section of the parameters of a function or a class; several that share an entry have it once."""
    own = dict(texts) | {name: texts[variant] for variant in variants for name in _names(texts[variant])}
    names = [name for name in inspect.signature(documented).parameters if name not in ("self", "cls")]
    return "\n".join(["Parameters", "----------", *dict.fromkeys(own[name] for name in names)])


def _names(entry: str) -> list[str]:
    """Names of the parameters that an entry describes."""
    return entry.split("\n")[0].split(" : ")[0].split(", ")
