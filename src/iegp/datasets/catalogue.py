"""Catalogue of published data sets: names, known pitfalls, checksums, and where to download a copy.

The entries are in ``catalogue.toml``. A new set is an entry there and, if its format is new, a function in
:mod:`iegp.datasets.parsers`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from inspect import signature
from pathlib import Path
from typing import Any, Literal, get_args

from iegp.datasets.parsers import PARSERS
from iegp.errors import DatasetError
from iegp.typing import Arrays

Task = Literal["regression", "binary classification", "multi-class classification"]


@dataclass(frozen=True, eq=False)
class Source:
    """Files below one address, and the parser that reads them, with its arguments."""

    base: str
    files: tuple[str, ...]
    format: str
    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.format not in PARSERS:
            raise ValueError(f"format {self.format!r} is unknown; choose one of {', '.join(PARSERS)}")
        signature(PARSERS[self.format]).bind(*self.files, **self.options)

    def parse(self, paths: Sequence[Path]) -> Arrays:
        """Parse the files, given in the order of ``files``, into arrays."""
        return PARSERS[self.format](*paths, **self.options)


@dataclass(frozen=True, eq=False)
class Dataset:
    """One data set of the paper or of follow-up work.

    ``sha256`` is the checksum of the package's own ``.npz`` file. ``content`` holds a checksum for each array that a
    public copy yields (see :func:`iegp.datasets.download.content_digest`): any correct copy is accepted, any other
    raises. ``digits`` is set where public copies differ in the last printed digit: content is then compared to that
    many significant digits. ``notes`` are pitfalls to know before interpreting a result. ``delay`` is the number of
    later rows that come before the label of a row is known.
    """

    name: str
    title: str
    task: Task
    description: str
    feature_names: tuple[str, ...]
    target_name: str
    published: str
    sha256: str
    content: Mapping[str, str]
    sources: tuple[Source, ...]
    notes: tuple[str, ...] = ()
    digits: int | None = None
    delay: int = 0

    def __post_init__(self) -> None:
        if self.task not in get_args(Task):
            raise ValueError(f"task {self.task!r} is unknown; choose one of {', '.join(get_args(Task))}")
        if type(self.delay) is not int or self.delay < 0:
            raise ValueError(f"delay {self.delay!r} is no number of rows; 0 means that labels are known at once")
        if not {"X", "y"} <= self.content.keys():
            raise ValueError("content has no checksum for X, or none for y")
        for digest in (self.sha256, *self.content.values()):
            if not re.fullmatch("[0-9a-f]{64}", digest):
                raise ValueError(f"{digest!r} is not a SHA-256 checksum: 64 digits of 0-9 and a-f")

    @property
    def filename(self) -> str:
        """Name of the file in a data folder."""
        return f"{self.name}.npz"


def read_entry(name: str, entry: Mapping[str, Any]) -> Dataset:
    """Make a data set from its table in the catalogue.

    Raises
    ------
    DatasetError
        If a key is missing, unknown or has an invalid value; the message names the set.
    """
    rest = dict(entry)
    try:
        features, notes, sources = rest.pop("features"), rest.pop("notes", ()), rest.pop("sources")
        return Dataset(
            name=name,
            feature_names=_feature_names(features),
            sources=tuple(_source(**source) for source in sources),
            notes=tuple(notes),
            **rest,
        )
    except (KeyError, TypeError, ValueError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise DatasetError(f"catalogue.toml, entry {name!r}: {what}") from error


def _source(base: str, files: Sequence[str], format: str, **options: Any) -> Source:
    return Source(base, tuple(files), format, options)


def _feature_names(features: Sequence[str] | Mapping[str, Any]) -> tuple[str, ...]:
    """Return names as they are listed, or every prefix with every number from the first to the last.

    >>> _feature_names({"prefixes": ["q", "qd"], "numbers": [1, 2]})
    ('q1', 'q2', 'qd1', 'qd2')
    """
    if not isinstance(features, Mapping):
        return tuple(features)
    first, last = features["numbers"]
    return tuple(f"{prefix}{number}" for prefix in features["prefixes"] for number in range(first, last + 1))


CATALOGUE = {
    name: read_entry(name, entry)
    for name, entry in tomllib.loads(
        files("iegp.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8")
    ).items()
}
