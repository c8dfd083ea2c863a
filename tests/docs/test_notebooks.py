"""Notebooks of the documentation run from top to bottom, each in one namespace and an empty folder."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = sorted((DOCS / "tutorials").glob("*.ipynb"))


def code_cells(notebook: Path) -> list[str]:
    """Sources of the cells with code."""
    content = json.loads(notebook.read_text("utf-8"))
    assert content["nbformat"] == 4
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]


def run_cell(code: str, namespace: dict[str, Any]) -> object:
    """Run a cell; what its last line is worth, if it is an expression, as a notebook shows it."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), namespace)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_run_from_top_to_bottom(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for number, code in enumerate(code_cells(notebook)):
        shown = run_cell(code, namespace)
        assert shown is None or repr(shown), f"cell {number} shows nothing"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_are_stored_without_output(notebook):
    content = json.loads(notebook.read_text("utf-8"))
    assert not any(cell.get("outputs") for cell in content["cells"])


def test_there_is_a_notebook():
    assert NOTEBOOKS


def test_the_runner_of_cells():
    namespace: dict[str, Any] = {}
    assert run_cell("a = 1", namespace) is None
    assert run_cell("b = a + 1\nb", namespace) == 2
