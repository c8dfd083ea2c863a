"""Which suffix means which format."""

from __future__ import annotations

from typing import NamedTuple

from iegp.errors import InputError

FORMATS = ("csv", "tsv", "jsonl", "parquet")
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
}
_ALIASES = {suffix[1:]: name for suffix, name in _SUFFIXES.items()}


class Format(NamedTuple):
    """What a source is written in."""

    name: str
    is_gzip: bool


def find_format(path: str, given: str | None) -> Format:
    """The format ``given``, or else the one that the suffix of ``path`` says. ``-`` is JSON lines."""
    is_gzip = path.lower().endswith(".gz")
    name = _named(given) if given is not None else _by_suffix(path, is_gzip)
    if name == "parquet" and is_gzip:
        raise InputError(f"{path!r} cannot be read: Parquet has its own compression. Try gunzip on it first.")
    return Format(name, is_gzip)


def _named(given: str) -> str:
    try:
        return _ALIASES[given.lower().removeprefix(".").removesuffix(".gz")]
    except KeyError:
        raise InputError(f"format {given!r} is not known. Try one of: {', '.join(FORMATS)}.") from None


def _by_suffix(path: str, is_gzip: bool) -> str:
    if path == "-":
        return "jsonl"
    stem = path.lower()[:-3] if is_gzip else path.lower()
    for suffix, name in _SUFFIXES.items():
        if stem.endswith(suffix):
            return name
    known = ", ".join(_SUFFIXES)
    raise InputError(
        f"The suffix of {path!r} does not say how it is written. Known are {known} (all but .parquet also with .gz"
        f" after it), and '-' for JSON lines on standard input. Otherwise say --format ({', '.join(FORMATS)})."
    )
