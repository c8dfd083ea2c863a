"""The experiments that come with the package, and those of a given folder."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from iegp.errors import InputError
from iegp.name_suggestions import closest
from iegp_paper.experiment import Experiment, experiment_from


def load_experiments(folder: Path | None = None) -> dict[str, Experiment]:
    """Load all experiments by name, in the order of their file names; without ``folder`` those of the package."""
    place = files("iegp_paper").joinpath("experiments") if folder is None else folder
    tables: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    for file in sorted(place.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".toml"):
            name = file.name.removesuffix(".toml").split("-", 1)[-1]
            if name in names:
                raise InputError(
                    f"{names[name]} and {file.name} both hold experiment {name!r}, the part after the first dash; "
                    "rename one of them"
                )
            names[name] = file.name
            try:
                tables[name] = tomllib.loads(file.read_text(encoding="utf-8"))
            except tomllib.TOMLDecodeError as error:
                raise InputError(f"{file.name} is not TOML ({error}); mend it") from error
    if not tables:
        raise InputError(f"{place} holds no experiments; they are files that end in .toml")
    return {name: experiment_from(name, table, tables, names[name]) for name, table in tables.items()}


def chosen(experiments: dict[str, Experiment], names: Sequence[str]) -> list[Experiment]:
    """Return the experiments of these names; all if there are none."""
    for name in names:
        if name not in experiments:
            raise InputError(f"{name!r} is no experiment. {closest(name, experiments)}")
    return [experiment for name, experiment in experiments.items() if not names or name in names]
