"""Late imports: public names on first use, optional packages (with what installs them), slow modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from iegp.errors import MissingPackageError

# Optional packages, how a message calls them, and what pip is told: the packages of the extras, not the extras, whose
# name depends on where this package was installed from (an index or a checkout).
EXTRAS = {
    "matplotlib": ("matplotlib", "matplotlib"),
    "ray": ("Ray", '"ray[data]" aiohttp'),
    "pandas": ("pandas", "pandas"),
    "river": ("River", "river"),
    "torch": ("PyTorch", "torch"),
    "GPy": ("GPy", "GPy"),
}


def optional(package: str, what: str) -> Any:
    """Import an optional package that ``what`` needs.

    Parameters
    ----------
    package : str
        Name of the module, such as ``"ray"``.
    what : str
        What needs it, the beginning of the error message.

    Raises
    ------
    MissingPackageError
        If the package is not installed; the message says how to install it.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise _missing(what, error) from error


def on_demand(module: str) -> Any:
    """Import a module of a declared dependency where it is first needed, because it is slow to import.

    Parameters
    ----------
    module : str
        Its full name, such as ``"sklearn.manifold"``.
    """
    return import_module(module)


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Make a module-level ``__getattr__`` that imports public names when they are first used.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    modules : mapping of str to str
        The module that defines each name; a name that maps to itself is that submodule.
    """

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = import_module(modules[name])
        except ModuleNotFoundError as error:
            raise _missing(name, error) from error
        return module if modules[name] == f"{package}.{name}" else getattr(module, name)

    return load


def _missing(what: str, error: ModuleNotFoundError) -> ImportError:
    """Say what installs a known optional package; other failures stay what they are."""
    missing = (error.name or "").split(".")[0]
    if missing not in EXTRAS:
        return error
    title, packages = EXTRAS[missing]
    return MissingPackageError(f"{what} needs {title}, which is not installed; pip install {packages}", name=missing)
