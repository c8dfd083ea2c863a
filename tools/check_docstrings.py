"""Check that every public class, method and function documents its parameters and what it returns (`make lint`).

The public API is what the modules below export, with the methods that our own code defines. The checks are numpydoc's.
An override without a docstring has that of the base class, if the parameters are the same. Names that need an optional
package are skipped where it is not installed.

python tools/check_docstrings.py
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from typing import Any

from numpydoc.validate import validate

MODULES = (
    "iegp",
    "iegp.adapters",
    "iegp.comparison",
    "iegp.datasets",
    "iegp.errors",
    "iegp.evaluate.classification",
    "iegp.evaluate.forecasts",
    "iegp.evaluate.metrics",
    "iegp.evaluate.naive",
    "iegp.evaluate.regret",
    "iegp.evaluate.runs",
    "iegp.fleet",
    "iegp.history",
    "iegp.kernels",
    "iegp.likelihoods",
    "iegp.parallel",
    "iegp.plots",
    "iegp.preprocessing",
    "iegp.presets",
)
# Docstring there; summary there; parameters documented, known, in order, described; return value documented.
CHECKS = {"GL08", "SS01", "PR01", "PR02", "PR03", "PR07", "PR10", "RT01", "RT03"}


def public_names(module_name: str) -> list[str]:
    """Return the names that a module exports; without ``__all__``, the classes and functions that it defines."""
    module = importlib.import_module(module_name)
    own = (name for name, value in vars(module).items() if getattr(value, "__module__", None) == module_name)
    return [name for name in getattr(module, "__all__", own) if not name.startswith("_")]


def exported(module_name: str) -> Iterator[tuple[str, Any]]:
    """Yield the public names of a module and what they stand for."""
    module = importlib.import_module(module_name)
    for name in public_names(module_name):
        try:
            value = getattr(module, name)
        except ImportError:
            continue
        if inspect.isclass(value) or inspect.isfunction(value):
            yield f"{value.__module__}.{value.__qualname__}", value


def own_methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the paths and functions of public methods that our code defines, inherited ones included."""
    for name, value in inspect.getmembers(cls):
        function = plain_function(value)
        if is_ours(function) and not name.startswith("_"):
            function = documented(cls, function)
            yield f"{function.__module__}.{function.__qualname__}", function


def documented(cls: type, method: Any) -> Any:
    """Return a method, or the one of a base class that it overrides if it has no docstring but the same parameters."""
    overridden = (plain_function(vars(base).get(method.__name__)) for base in cls.__mro__)
    alike = (base for base in overridden if is_ours(base) and have_same_names(base, method))
    return next((function for function in (method, *alike) if function.__doc__), method)


def have_same_names(one: Any, other: Any) -> bool:
    """Compare the names of the parameters of two functions."""
    return list(inspect.signature(one).parameters) == list(inspect.signature(other).parameters)


def is_ours(value: Any) -> bool:
    """Whether this is a function that our package defines."""
    return inspect.isfunction(value) and value.__module__.startswith("iegp")


def plain_function(value: Any) -> Any:
    """Return the function of a method, a class method or a wrapper."""
    return inspect.unwrap(getattr(value, "__func__", value))


def surface() -> dict[str, Any]:
    """Collect all public classes, functions and methods by their paths."""
    found: dict[str, Any] = {}
    for module_name in MODULES:
        for path, value in exported(module_name):
            found[path] = value
            if inspect.isclass(value):
                found.update(own_methods(value))
    return {path: value for path, value in found.items() if path.startswith("iegp") and "<locals>" not in path}


def problems(path: str, value: Any) -> list[str]:
    """List what a docstring lacks."""
    found = [f"{code}: {text}" for code, text in validate(path)["errors"] if code in CHECKS]
    # numpydoc looks for the word `return`; the annotation says whether there is a value.
    returned = getattr(inspect.unwrap(value), "__annotations__", {}).get("return")
    if inspect.isclass(value) or returned in ("None", None):
        found = [problem for problem in found if not problem.startswith("RT")]
    return found


def main() -> None:
    """Print every problem; exit with 1 if there is one."""
    public = surface()
    lines = [f"{path}: {problem}" for path in sorted(public) for problem in problems(path, public[path])]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.write(f"{len(public)} public classes, functions and methods, {len(lines)} problems\n")
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
