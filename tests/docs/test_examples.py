"""Everything we show is run: doctests of every module, Python snippets of README and docs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import iegp

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    ["iegp", *(m.name for m in pkgutil.walk_packages(iegp.__path__, "iegp.") if not m.name.endswith("__main__"))]
)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
SNIPPET = re.compile(
    r"(?P<skip><!--\s*skip:\s*(?P<reason>[^>]*?)\s*-->\s*)?^```python[^\n]*\n(?P<code>.*?)^```", re.M | re.S
)


def imported(name: str):
    """A module, or a skip where it needs an extra that is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "iegp":
            raise
        pytest.skip(f"{name} needs {error.name}, which is not installed")


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    results = doctest.testmod(imported(name), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def test_doctests_are_found():
    """So that the test above cannot pass by looking at nothing."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = {name: sum(len(t.examples) for t in finder.find(imported(name))) for name in ("iegp", "iegp.presets")}
    assert all(count > 0 for count in examples.values()), examples
    assert sum(len(test.examples) for test in finder.find(imported("iegp.estimators.regressor"))) >= 5


def snippets(page: Path) -> list[tuple[int, str]]:
    """Line number and code of every Python snippet of a page that is not marked as skipped."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in SNIPPET.finditer(text):
        if match["skip"] is None:
            found.append((text.count("\n", 0, match.start("code")) + 1, match["code"]))
        else:
            assert match["reason"], f"{page.name}: a skipped snippet needs a reason"
    return found


def test_the_readme_installs_what_its_snippets_need():
    """``to_frame`` needs pandas, which is no dependency."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    install = re.search(r"^pip install (?P<what>[^#\n]*)", page, re.M)
    assert install is not None
    assert any(".to_frame()" in code for _, code in snippets(ROOT / "README.md"))
    assert "pandas" in install["what"].split()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_snippets_of_pages_run(page, tmp_path, monkeypatch):
    """In order, in one namespace, in an empty folder. Snippets with prompts are checked as doctests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for line, code in snippets(page):
        where = f"{page.name}, line {line}"
        if ">>>" in code:
            test = doctest.DocTestParser().get_doctest(code, namespace, where, str(page), line - 1)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            assert runner.run(test, clear_globs=False).failed == 0, where
            namespace.update(test.globs)
        else:
            exec(compile("\n" * (line - 1) + code, str(page), "exec"), namespace)


def test_pages_exist():
    assert (ROOT / "README.md").is_file()


def test_the_finder_of_snippets(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "text\n```python\na = 1\n```\n\n<!-- skip: needs a cluster -->\n```python\nraise SystemExit\n```\n"
        "```bash\nrm\n```\n<!-- note -->\n```python\nb = 2\n```\n"
    )
    assert snippets(page) == [(3, "a = 1\n"), (15, "b = 2\n")]
    page.write_text("<!-- skip: -->\n```python\na = 1\n```\n")
    with pytest.raises(AssertionError, match="needs a reason"):
        snippets(page)
