"""Constructors of River models, made from those of the estimators they wrap: the same arguments and defaults.

River reads arguments from the signature of ``__init__`` (to copy a model, to print it), and so do editors and ``help``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, Signature
from typing import Any

import numpy as np

# River's name for scikit-learn's argument.
SEED = {"random_state": "seed"}


def arguments_of(estimator: type, fixed: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[Parameter]:
    """Arguments of an estimator but those that are ``fixed``, in River's names; some have ``defaults`` of their own."""
    found = inspect.signature(estimator).parameters.values()
    return [
        own.replace(
            name=SEED.get(own.name, own.name),
            kind=Parameter.POSITIONAL_OR_KEYWORD,
            default=defaults.get(own.name, own.default),
            annotation="int | None" if own.name in SEED else own.annotation,
        )
        for own in sorted(found, key=lambda own: own.name in SEED)  # as in River the seed is the last
        if own.name not in fixed
    ]


def constructor(arguments: Iterable[Parameter]) -> Callable[..., None]:
    """An ``__init__`` with these arguments, which become attributes; then it calls ``self._start()``."""
    signature = Signature([Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *arguments])

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if name != "self":
                setattr(self, name, frozen(value))
        self._start()

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def frozen(value: Any) -> Any:
    """Lists and arrays as tuples, so that an argument cannot be changed later."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return tuple(frozen(item) for item in value) if isinstance(value, list | tuple) else value


# -- docstrings ------------------------------------------------------------------------------------------------------

_SECTION = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)


def documented(own: str | None, estimator: str | None, arguments: Iterable[Parameter]) -> str:
    """A model's docstring with a section Parameters: its own entries, then those of the estimator that it shares."""
    sections = _sections(own)
    entries = _entries(sections.get("Parameters", ""))
    wanted = {argument.name: argument.default for argument in arguments if argument.name not in entries}
    shared = _entries(_sections(estimator).get("Parameters", ""))
    for names, text in sorted(shared.items(), key=lambda entry: entry[0] in SEED):
        shown = [SEED.get(name, name) for name in names.split(", ") if SEED.get(name, name) in wanted]
        if shown:
            entries[", ".join(shown)] = _with_default(text, wanted[shown[0]])
    text = "\n".join(f"{names}{rest}" for names, rest in entries.items())
    order = {"": sections[""], "Parameters": f"{text}\n\n"} | {n: t for n, t in sections.items() if n != "Parameters"}
    return "".join(f"{name}\n{'-' * len(name)}\n{body}" if name else body for name, body in order.items())


def _sections(doc: str | None) -> dict[str, str]:
    """Text of a docstring by section; the name of the text before the first is empty."""
    first, *rest = _SECTION.split(inspect.cleandoc(doc or "") + "\n")
    return {"": first} | dict(zip(rest[::2], rest[1::2], strict=True))


def _entries(section: str) -> dict[str, str]:
    """Entries of a section by their names: type and text."""
    found = re.findall(r"^([\w, ]+?)((?: :.*)?\n(?:[ \n].*\n?)*)", section, re.MULTILINE)
    return {names: text.rstrip() for names, text in found}


def _with_default(text: str, default: Any) -> str:
    """The entry of an argument, with the default that it has here."""
    is_plain = isinstance(default, int | float)
    return re.sub(r"default=\S+$", f"default={default!r}", text, count=1, flags=re.MULTILINE) if is_plain else text
