"""Print the oldest version of every dependency that pyproject.toml allows, as pins for ``pip install --constraint``.

    python tools/oldest.py > oldest.txt
    pip install ".[plot,river]" --group test --constraint oldest.txt

Only lower bounds are read: a requirement without one stops the script, because it promises what was never tried.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)(?:\[[^]]*\])?>=(?P<version>[0-9.]+)$")


def pins(project: dict[str, Any]) -> Iterator[str]:
    """Give one ``name==version`` per requirement of the package, its extras and the group ``test``."""
    extras = project["project"]["optional-dependencies"].values()
    lists = [project["project"]["dependencies"], *extras, project["dependency-groups"]["test"]]
    for requirement in dict.fromkeys(requirement for names in lists for requirement in names):
        found = REQUIREMENT.match(requirement)
        if found is None:
            raise SystemExit(f"{requirement!r} has no lower bound of the form name>=version; add the oldest that works")
        yield f"{found['name']}=={found['version']}"


if __name__ == "__main__":
    sys.stdout.write("\n".join(pins(tomllib.loads(PROJECT.read_text()))) + "\n")
