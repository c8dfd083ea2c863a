"""What we know of a published data set before we have it: names, traps, checksums, and where a copy is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from iegp.typing import Arrays

Task = Literal["regression", "binary classification", "multi-class classification"]
Parser = Callable[[Path], Arrays]


@dataclass(frozen=True, eq=False)
class Remote:
    """One file on the web. ``sha256`` is None where copies may differ in bytes and yet agree in content."""

    url: str
    filename: str
    sha256: str | None = None


@dataclass(frozen=True, eq=False)
class Source:
    """Files to fetch into one folder, and the function that makes arrays of that folder."""

    files: tuple[Remote, ...]
    parse: Parser


@dataclass(frozen=True, eq=False)
class Dataset:
    """One data set of the paper or of follow-up work.

    ``sha256`` is the checksum of our own ``.npz`` file. ``content`` holds a checksum for each array that a public copy
    yields (see :func:`iegp.datasets.integrity.content_digest`): any correct copy is accepted, any other refused.
    ``digits`` is set where public copies differ in the last printed digit: content is then compared to that many
    significant digits. ``notes`` are traps worth knowing before a result is believed.
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
    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()
    digits: int | None = None

    @property
    def filename(self) -> str:
        """Name of the file in a data folder."""
        return f"{self.name}.npz"


def files(base: str, *paths: str) -> tuple[Remote, ...]:
    """Files below one address, each to be saved under the last part of its path.

    >>> files("https://example.org/", "data/a.csv")[0].filename
    'a.csv'
    """
    return tuple(Remote(base + path, path.rpartition("/")[2]) for path in paths)


def numbered(prefix: str, n: int) -> tuple[str, ...]:
    """Names for columns that have none.

    >>> numbered("x", 3)
    ('x1', 'x2', 'x3')
    """
    return tuple(f"{prefix}{j}" for j in range(1, n + 1))
