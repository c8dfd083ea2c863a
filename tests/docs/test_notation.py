"""The page that leads from equations to code names files that exist, and names that they define."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "notation.md").read_text("utf-8")
CODE = re.compile(r"`([^`]+)`")
WITHIN = re.compile(r"paths within `([^`]+)`")


def places() -> list[tuple[str, tuple[str, ...]]]:
    """List the files of the tables, relative to the checkout, each with the names that follow it."""
    found: list[tuple[str, list[str]]] = []
    folder = ""
    for line in PAGE.splitlines():
        if named := WITHIN.search(line):
            folder = named.group(1)
        if not (folder and line.startswith("| ")) or line.startswith("| equation"):
            continue
        # A semicolon ends what belongs to a file.
        for part in line.split("|")[2].split(";"):
            own: list[str] | None = None
            for code in CODE.findall(part):
                path, colon, name = code.partition(": ")
                if "/" in path or path.endswith(".py"):
                    own = [name] if colon else []
                    found.append((path if path.startswith("paper/") else f"{folder}{path}", own))
                elif own and code.isidentifier():
                    own.append(code)
    return [(path, tuple(names)) for path, names in found]


def defined(tree: ast.Module) -> set[str]:
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def test_tables_were_read():
    assert len(places()) > 30
    assert ("src/iegp/core/latent/embedder.py", ("choose_and_weigh",)) in places()
    assert ("src/iegp/core/expert/belief.py", ("predict_static", "static_row")) in places()


@pytest.mark.parametrize(("path", "names"), sorted(set(places())))
def test_files_exist_and_define_what_the_page_names(path, names):
    where = ROOT / path
    assert where.exists(), path
    if where.is_file():
        missing = set(names) - defined(ast.parse(where.read_text("utf-8")))
        assert not missing, f"{path} does not define {missing}"
