"""From a dataclass to a command: its fields are the flags, the entries of a configuration file, and what is recorded.

A field is declared once, as ``name: Annotated[type, typer.Option(help=...)] = default``. Fields that a class adds
come first in the help, those it inherits after them. A field without typer's annotation is no flag.
"""

from __future__ import annotations

import inspect
import os
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo, ParameterInfo

from iegp.errors import InputError

NAMES = tuple[str, ...]
"""Type of a flag that takes names separated by commas."""
FREE = "free"
"""In an annotation: a resumed run may change it, because it touches neither the model nor the answers."""


# Types of flags in the help; others are text.
_SHOWN = {bool: "", int: "NUMBER", float: "NUMBER"}


class UsageError(InputError):
    """The command line or the configuration file cannot be meant like that; exit code 2."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a user asked of a command."""

    given: frozenset[str] = frozenset()
    """What was said, on the command line or in a configuration file; the rest are defaults."""

    def recorded(self) -> dict[str, Any]:
        """What a checkpoint keeps, and a resumed run must not change."""
        return {name: value for name, value in asdict(self).items() if name in _recorded(type(self))}


T = TypeVar("T", bound=Options)
R = TypeVar("R")


def as_usage(build: Callable[[], R]) -> R:
    """What ``build`` gives; input that it refuses was a mistake on the command line."""
    try:
        return build()
    except InputError as error:
        raise UsageError(str(error)) from error


def check_choice(flag: str, value: str, *choices: str) -> None:
    """Refuse a value that is none of the choices."""
    if value not in choices:
        raise UsageError(f"--{flag} {value} is not known; use {' or '.join(choices)}")


def check_free(flag: str, path: str | Path, overwrite: bool) -> None:
    """Refuse to write over a file unless that was said."""
    if not overwrite and (Path(path).exists() or Path(path).is_symlink()):
        raise UsageError(f"--{flag} {path} exists; choose another name, or say --overwrite")


def check_outputs(sources: Sequence[str], **files: str | None) -> None:
    """Refuse files, by flag, that could not be written at the end of a run, or would replace what it reads."""
    taken: dict[str, str] = {}
    for flag, name in files.items():
        if name is None or name == "-":
            continue
        path = Path(name)
        check_name(flag, name)
        if not path.absolute().parent.is_dir():
            raise UsageError(f"--{flag} {name}: the folder {path.parent} does not exist; make it first")
        if path.is_dir():
            raise UsageError(f"--{flag} {name} is a folder; name a file in it")
        check_not_read(sources, flag, name)
        if _resolved(name) in taken:
            raise UsageError(f"--{flag} {name} is {taken[_resolved(name)]} as well; choose another name")
        taken[_resolved(name)] = f"--{flag}"


# What a report cannot be written as.
_NOT_PAGES = (".csv", ".docx", ".jpeg", ".jpg", ".json", ".jsonl", ".md", ".parquet", ".pdf", ".png", ".svg", ".xlsx")


def check_page(flag: str, name: str | None) -> None:
    """Refuse a name that promises another format than that of a report, which is HTML."""
    if name is not None and Path(name).suffix.lower() in _NOT_PAGES:
        page = Path(name).with_suffix(".html").name
        raise UsageError(f"--{flag} {name}: a report is an HTML page, to be printed from a browser; name it {page}")


# Bytes of a name, of most file systems.
_LONGEST_NAME = 255


def check_name(flag: str, name: str, *endings: str) -> None:
    """Refuse a file whose name, with the endings of those beside it if there are any, is too long."""
    most = _LONGEST_NAME - max((len(ending) for ending in endings), default=0)
    n_bytes = len(os.fsencode(Path(name).name))
    if n_bytes > most:
        others = f", and names of files beside it are longer ({', '.join(endings)})" if endings else ""
        raise UsageError(f"--{flag} {name}: the name has {n_bytes} bytes{others}; choose one of at most {most} bytes")


def check_not_read(sources: Sequence[str], flag: str, name: str) -> None:
    """Refuse a file that a flag writes to and that is, or would be when a run is resumed, among what is read."""
    from iegp.readers import would_be_read

    for source in sources:
        if would_be_read(source, name):
            same = is_same_name(source, name)
            place = "what is read as well" if same else f"among the files of {source}, which are read"
            raise UsageError(f"--{flag}: {name} is {place}; choose another {'name' if same else 'folder or name'}")


def is_same_name(one: str, other: str) -> bool:
    """Whether two names lead to one file, which need not exist."""
    return _resolved(one) == _resolved(other)


def _resolved(name: str) -> str:
    return os.path.realpath(name)


@dataclass(frozen=True)
class _Flag:
    """A field as its annotation describes it."""

    hint: Any

    @property
    def kind(self) -> Any:
        """Type of the field, without None."""
        kind = get_args(self.hint)[0] if get_origin(self.hint) is Annotated else self.hint
        return get_args(kind)[0] if get_origin(kind) is UnionType else kind

    @property
    def marks(self) -> tuple[Any, ...]:
        """What is annotated beside the type."""
        return get_args(self.hint)[1:] if get_origin(self.hint) is Annotated else ()

    @property
    def info(self) -> ParameterInfo | None:
        """Typer's description; None if the field is no flag."""
        return next((mark for mark in self.marks if isinstance(mark, ParameterInfo)), None)

    def fits(self, value: Any) -> bool:
        """Whether a value of a configuration file can be meant."""
        return (
            isinstance(value, str | list) if self.kind == NAMES else type(value) is (get_origin(self.kind) or self.kind)
        )


# By class: reading the annotations of one takes as long as many small runs.
_FLAGS: dict[type[Options], dict[str, _Flag]] = {}


def _flags(options: type[Options]) -> dict[str, _Flag]:
    """Fields by name: those that the class adds, then inherited ones."""
    if options not in _FLAGS:
        hints = get_type_hints(options, include_extras=True)
        inherited = get_type_hints(options.__base__).keys() - options.__annotations__.keys()
        names = sorted((field.name for field in fields(options)), key=lambda name: name in inherited)
        _FLAGS[options] = {name: _Flag(hints[name]) for name in names}
    return _FLAGS[options]


def _recorded(options: type[Options]) -> set[str]:
    return {name for name, flag in _flags(options).items() if FREE not in flag.marks and name != "given"}


# -- the command line --------------------------------------------------------------------------------------------------


def command(options: type[T]) -> Callable[[Callable[[T], int]], Callable[..., None]]:
    """Make a command of a function that takes ``options`` and returns the exit code."""

    def decorate(run: Callable[[T], int]) -> Callable[..., None]:
        def call(context: typer.Context, **values: Any) -> None:
            said = {name for name in values if _was_said(context, name)}
            raise typer.Exit(run(options_from(options, {name: values[name] for name in said})))

        parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
        parameters += _parameters(options)
        call.__name__, call.__doc__ = run.__name__, run.__doc__
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return call

    return decorate


def _was_said(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP")


def _parameters(options: type[Options]) -> list[inspect.Parameter]:
    """What typer reads of a function: its parameters. Names separated by commas are text to it."""
    defaults = {field.name: field.default for field in fields(options)}
    found = []
    for name, flag in _flags(options).items():
        hint, default = flag.hint, defaults[name]
        if flag.kind == NAMES:
            hint, default = Annotated[str | None, flag.info], None
        default = inspect.Parameter.empty if default is MISSING else default
        if flag.info is not None:
            _show_kind(flag)
            found.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint))
    return found


def _show_kind(flag: _Flag) -> None:
    """Let the help show what a flag takes, and nothing where it takes no value; else typer shows Python's types."""
    if isinstance(flag.info, OptionInfo) and flag.info.metavar is None:
        flag.info.metavar = _SHOWN.get(flag.kind, "TEXT")


# -- defaults, configuration file, command line ------------------------------------------------------------------------


def options_from(options: type[T], said: dict[str, Any]) -> T:
    """Defaults, then the configuration file, then what was said on the command line."""
    config = said.get("config")
    merged = ({} if config is None else _read_config(options, Path(config))) | said
    for name, flag in _flags(options).items():
        if name in merged and flag.kind == NAMES:
            merged[name] = _names(name, merged[name])
    return options(**merged, given=frozenset(merged))


def _read_config(options: type[Options], path: Path) -> dict[str, Any]:
    """A TOML file with the names of the flags, and a table [parameters] for the model."""
    try:
        stored = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"--config {path} cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--config {path} is not TOML: {error}") from error
    stored = {name.replace("-", "_"): value for name, value in stored.items()}
    if type(stored.get("checkpoint_every")) is int:
        stored["checkpoint_every"] = str(stored["checkpoint_every"])
    known = {name: flag for name, flag in _flags(options).items() if name not in ("given", "config")}
    for name, value in stored.items():
        if name not in known:
            raise UsageError(f"--config {path}: {name!r} is not known; use {', '.join(sorted(known))}")
        if not known[name].fits(value):
            raise UsageError(f"--config {path}: {name} = {value!r} has the wrong type; it is as the flag --{name}")
    return stored


def _names(flag: str, value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else list(value)
    names = tuple(str(part).strip() for part in parts)
    if not all(names):
        raise UsageError(f"--{flag} {value!r} has an empty name; separate names by single commas, as a,b,c")
    return names
