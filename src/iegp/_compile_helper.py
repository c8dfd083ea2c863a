"""What the second compiling process runs, and the plans that say what it compiles (:mod:`iegp._compile_ahead`).

A plan is a list of functions with the types of their arguments, in the order in which a call needs them first. Types
are text and lists: ``"float64"``, ``"float64:2C"`` (dimensions and layout), ``["named", "module:Class", types]`` and
``["tuple", types]``; a whole number is a place in the list of such types. ``python benchmarks/compile_plan.py`` writes
the file.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from importlib import import_module, resources
from typing import Any

from iegp import _compile

types: Any = getattr(_compile, "types", None)
PLANS = resources.files("iegp") / "compile_plan.json"
Described = str | int | list[Any]


def compile_backwards(plan: str) -> None:
    """Compile what the plan names, the last first, but for what the first process names on standard input."""
    # An interruption from the terminal is for the first process, at the end of which the input ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    taken: set[str] = set()
    threading.Thread(target=_listen, args=(taken,), daemon=True).start()
    for entry, signature in reversed(read_plan(plan)):
        files = files_of(entry)
        name = files.name_of(signature, entry.targetctx)
        if name not in taken and not files.has(signature, entry.targetctx):
            _say(f"begin {name}")
            entry.compile(signature)
            _say(f"done {name}")


def _listen(taken: set[str]) -> None:
    for line in sys.stdin:
        taken.add(line.strip())
    os._exit(0)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def files_of(entry: Any) -> Any:
    """What is on disk of an entry."""
    if isinstance(entry._cache, _compile._Cache):
        _compile._keep_on_disk(entry, entry.py_func, entry.py_func)
    return entry._cache


def read_plan(name: str) -> list[tuple[Any, tuple[Any, ...]]]:
    """Entries and their signatures."""
    plans = json.loads(PLANS.read_text())
    found: list[Any] = []
    for described in plans["types"]:
        found.append(_type_of(described, found))
    return [(_named(entry), tuple(_type_of(one, found) for one in signature)) for entry, signature in plans[name]]


def _named(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def _type_of(described: Described, found: list[Any]) -> Any:
    if isinstance(described, int):
        return found[described]
    if isinstance(described, str):
        scalar, _, form = described.partition(":")
        kind = getattr(types, scalar, None)
        return types.Array(kind, int(form[0]), form[1]) if form else kind
    parts = [_type_of(one, found) for one in described[-1]]
    if described[0] == "tuple":
        return types.Tuple(parts)
    named = _named(described[1])
    if len(set(parts)) == 1:
        return types.NamedUniTuple(parts[0], len(parts), named)
    return types.NamedTuple(parts, named)


def describe(kind: Any) -> Described:
    """The type as a plan may have it; ValueError if there is no way to write it."""
    if isinstance(kind, (types.NamedTuple, types.NamedUniTuple)):
        return ["named", path_of(kind.instance_class), [describe(one) for one in kind]]
    if isinstance(kind, types.BaseTuple):
        return ["tuple", [describe(one) for one in kind]]
    text = f"{kind.dtype}:{kind.ndim}{kind.layout}" if isinstance(kind, types.Array) else str(kind)
    text = text.replace("bool", "boolean")
    if _type_of(text, []) != kind:
        raise ValueError(f"{kind} has no description")
    return text


def path_of(thing: Any) -> str:
    """How a plan names a function or a class."""
    return f"{thing.__module__}:{thing.__qualname__}"
