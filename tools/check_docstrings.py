"""Check that every public class, method and function documents its parameters and what it returns (`make lint`).

The public surface is what the modules below export; methods count where our own code defines them. The checks are
numpydoc's. An optional package that is absent leaves its names out.

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
    "iegp.datasets",
    "iegp.errors",
    "iegp.evaluate",
    "iegp.evaluate.regret",
    "iegp.fleet",
    "iegp.history",
    "iegp.kernels",
    "iegp.likelihoods",
    "iegp.parallel",
    "iegp.plots",
    "iegp.presets",
)
# Docstring there; summary there; parameters documented, known, in order, described; return value documented.
CHECKS = {"GL08", "SS01", "PR01", "PR02", "PR03", "PR07", "PR10", "RT01", "RT03"}


def exported(module_name: str) -> Iterator[tuple[str, Any]]:
    """Yield the public names of a module and what they stand for."""
    module = importlib.import_module(module_name)
    for name in getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")]):
        try:
            value = getattr(module, name)
        except ImportError:
            continue
        if inspect.isclass(value) or inspect.isfunction(value):
            yield f"{value.__module__}.{value.__qualname__}", value


def own_methods(cls: type) -> Iterator[str]:
    """Yield the paths of public methods that our code defines, inherited ones included."""
    for name, value in inspect.getmembers(cls):
        function = inspect.unwrap(getattr(value, "__func__", value))
        is_ours = inspect.isfunction(function) and function.__module__.startswith("iegp")
        if is_ours and not name.startswith("_"):
            yield f"{function.__module__}.{function.__qualname__}"


def surface() -> set[str]:
    """Collect the paths of all public classes, functions and methods."""
    paths: set[str] = set()
    for module_name in MODULES:
        for path, value in exported(module_name):
            paths.add(path)
            if inspect.isclass(value):
                paths.update(own_methods(value))
    return {path for path in paths if path.startswith("iegp") and "<locals>" not in path}


def problems(path: str) -> list[str]:
    """Say what a docstring lacks."""
    found = [f"{code}: {text}" for code, text in validate(path)["errors"] if code in CHECKS]
    # Those that return nothing are told by their annotation; numpydoc looks for the word `return` alone.
    target: Any = importlib.import_module
    module_name = path
    while True:
        module_name = module_name.rpartition(".")[0]
        try:
            target = importlib.import_module(module_name)
            break
        except ModuleNotFoundError:
            continue
    for part in path[len(module_name) + 1 :].split("."):
        target = inspect.getattr_static(target, part)
    annotation = getattr(inspect.unwrap(getattr(target, "__func__", target)), "__annotations__", {}).get("return")
    if annotation in ("None", None) or isinstance(target, property) or inspect.isclass(target):
        found = [problem for problem in found if not problem.startswith("RT")]
    return found


def main() -> None:
    """Print every problem; exit with 1 if there is one."""
    paths = sorted(surface())
    lines = [f"{path}: {problem}" for path in paths for problem in problems(path)]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.write(f"{len(paths)} public classes, functions and methods, {len(lines)} problems\n")
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
