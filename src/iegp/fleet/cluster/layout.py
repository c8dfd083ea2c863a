"""Files of a checkpoint folder.

::

    layout.json                             which generation of shards counts, and how many there are
    template.fleet                          a fleet without keys
    journal/000000000117.batch              batches that some shard may need again
    shards-0001/00003.000000000112.fleet    shard 3 as it was after batch 112
    shards-0001/00003.000000000112.answers  its last answers, which the driver may not have received

Another number of shards is another generation: it is written beside the old one, and counts from the moment that
``layout.json`` is replaced.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from iegp.errors import InputError, ModelFileError
from iegp.storage.model_file import replace_atomically

_FORMAT = 1


@dataclass(frozen=True)
class Layout:
    """How a checkpoint folder is to be read."""

    n_shards: int
    generation: int
    window: int
    """The answers to so many of the last batches are with the shards."""
    began_after: int
    """Number of the last batch before this generation; answers up to it are not with the shards."""

    def shards(self, folder: Path) -> Path:
        return folder / f"shards-{self.generation:04d}"


def journal_of(folder: Path) -> Path:
    return folder / "journal"


def template_of(folder: Path) -> Path:
    return folder / "template.fleet"


def other_generations(folder: Path, current: Layout) -> list[Path]:
    """Shards that no longer count."""
    return [path for path in folder.glob("shards-*") if path != current.shards(folder)]


def is_used(folder: Path) -> bool:
    return _file(folder).exists()


def read(folder: Path) -> Layout:
    path = _file(folder)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"{folder} holds no sharded fleet ({path.name} is missing); check the path, or begin one with RayFleet(...)"
        ) from error
    except ValueError as error:
        raise ModelFileError(f"{path} is damaged ({error}); restore it from a copy") from error
    if values.pop("format", None) != _FORMAT:
        raise ModelFileError(f"{path} is of another format than {_FORMAT}: upgrade iegp")
    return Layout(**values)


def write(folder: Path, layout: Layout) -> None:
    replace_atomically(_file(folder), json.dumps({"format": _FORMAT, **asdict(layout)}).encode())


def _file(folder: Path) -> Path:
    return folder / "layout.json"
