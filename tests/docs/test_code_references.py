"""Pages for contributors name files that exist, and functions and classes that are in them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["CONTRIBUTING.md", "docs/architecture.md", "docs/design.md", "docs/glossary.md", "docs/notation.md"]
# A path in code quotes, and perhaps a name after a colon.
REFERENCE = re.compile(r"`([\w/]+\.py)(?:: (\w+))?`")
# Where the pages' paths begin.
FOLDERS = ["", "src/iegp", "src/iegp/core", "src", "tests", "benchmarks"]


def files_of(path):
    """Every file that a page may mean: below one of the folders, or of this name anywhere in the core."""
    found = [ROOT / folder / path for folder in FOLDERS if (ROOT / folder / path).is_file()]
    return found or (list((ROOT / "src/iegp").rglob(path)) if "/" not in path else [])


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_what_exists(page):
    references = REFERENCE.findall((ROOT / page).read_text(encoding="utf-8"))
    missing = [
        f"{path}: {name}"
        for path, name in references
        if not any(re.search(rf"\b{name}\b", file.read_text(encoding="utf-8")) for file in files_of(path))
    ]
    assert not missing


def test_pages_do_name_files():
    assert sum(len(REFERENCE.findall((ROOT / page).read_text(encoding="utf-8"))) for page in PAGES) > 50
