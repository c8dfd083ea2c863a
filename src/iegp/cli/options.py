"""What a user asked of ``iegp stream``: flags, a TOML file below them, and defaults below both."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from iegp.errors import InputError

MODELS = ("default", "light", "ie-gp", "die-gp", "sie-gp", "dsie-gp")


class UsageError(InputError):
    """The command line or the configuration file cannot be meant like that; exit code 2."""


@dataclass(frozen=True)
class StreamOptions:
    """One entry per flag; ``parameters`` are those of the model, from the configuration file alone."""

    source: str = "-"
    target: str | None = None
    task: str | None = None
    out: str | None = None
    save: str | None = None
    resume: bool = False
    overwrite: bool = False
    checkpoint_every: str = "10s"
    model: str = "default"
    seed: int = 0
    limit: int | None = None
    follow: bool = False
    format: str | None = None
    report: str | None = None
    id: str | None = None
    key: str | None = None
    time: str | None = None
    features: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    missing: str = "mean"
    max_pending: int = 10_000
    on_bad_row: str = "stop"
    level: float = 0.95
    intervals: str = "exact"
    classes: tuple[str, ...] = ()
    order: tuple[str, ...] | None = None
    jobs: int = 1
    quiet: bool = False
    parameters: dict[str, Any] = field(default_factory=dict)


_LISTS = ("features", "ignore", "classes", "order")
# What may change when a run is resumed: everything that does not touch the model or the answers.
FREE_ON_RESUME = (
    "source",
    "save",
    "resume",
    "overwrite",
    "checkpoint_every",
    "limit",
    "follow",
    "on_bad_row",
    "report",
    "quiet",
    "jobs",
)


def options_from(flags: dict[str, Any], config: str | None) -> tuple[StreamOptions, frozenset[str]]:
    """Defaults, then the file, then the flags that were given; and which were given at all."""
    given = {name: value for name, value in flags.items() if value is not None}
    stored = read_config(Path(config)) if config is not None else {}
    merged = stored | given
    for name in _LISTS:
        if name in merged:
            merged[name] = _names(name, merged[name])
    return replace(StreamOptions(), **merged), frozenset(merged)


def read_config(path: Path) -> dict[str, Any]:
    """A TOML file with the names of the flags, and a table [parameters] for the model."""
    try:
        stored = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"--config {path} cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"--config {path} is not TOML: {error}") from error
    stored = {name.replace("-", "_"): value for name, value in stored.items()}
    known = {entry.name: entry.default for entry in fields(StreamOptions)}
    for name, value in stored.items():
        if name not in known:
            raise UsageError(f"--config {path}: {name!r} is not known; use {', '.join(sorted(known))}")
        if not _fits(name, value, known[name]):
            raise UsageError(f"--config {path}: {name} = {value!r} has the wrong type; it is as the flag --{name}")
    return stored


def _fits(name: str, value: Any, default: Any) -> bool:
    if name == "parameters":
        return isinstance(value, dict)
    if name in _LISTS:
        return isinstance(value, str | list)
    if name == "checkpoint_every":
        return isinstance(value, str | int) and not isinstance(value, bool)
    if name == "level":
        return isinstance(value, float)
    if name == "limit":
        return type(value) is int
    return type(value) is type(default) if default is not None else isinstance(value, str)


def _names(flag: str, value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else list(value)
    names = tuple(str(part).strip() for part in parts)
    if not all(names):
        raise UsageError(f"--{flag} {value!r} has an empty name; separate names by single commas, as a,b,c")
    return names


_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def parse_every(text: str) -> tuple[int | None, float | None]:
    """Rows, or a time with s, m or h behind: (rows, None) or (None, seconds).

    >>> parse_every("5000"), parse_every("30s"), parse_every("0.5s"), parse_every("2m")
    ((5000, None), (None, 30.0), (None, 0.5), (None, 120.0))
    """
    text = str(text).strip()
    try:
        if text[-1:] in _SECONDS:
            seconds = float(text[:-1]) * _SECONDS[text[-1]]
            if seconds > 0.0:
                return None, seconds
        else:
            rows = int(text)
            if rows > 0:
                return rows, None
    except ValueError:
        pass
    raise UsageError(f"--checkpoint-every {text!r} must be rows, as 5000, or seconds, as 30s")
