"""What an output file cannot say about its run, kept beside it for ``iegp report``: settings, experts, weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from iegp.errors import InputError
from iegp.storage.model_file import replace_atomically


def sidecar_of(out: Path) -> Path:
    return out.with_name(out.name + ".run.json")


def write_sidecar(out: Path, about: dict[str, Any]) -> None:
    """Replace the file beside ``out``."""
    replace_atomically(sidecar_of(out), (json.dumps(about, indent=1) + "\n").encode())


def read_sidecar(out: Path) -> dict[str, Any]:
    """What is known about the run of ``out``; nothing if the file is not there."""
    path = sidecar_of(out)
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged ({error}); remove it to have a report without it") from error
    if not isinstance(found, dict):
        raise InputError(f"{path} is damaged: it is no JSON object; remove it to have a report without it")
    return found
