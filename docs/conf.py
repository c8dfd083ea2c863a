"""Settings of the documentation site (`make docs`): pages, API reference, command line, gallery."""

from __future__ import annotations

import ast
import html
import inspect
import json
import re
import subprocess
import sys
import tempfile
from contextlib import chdir
from importlib.metadata import version as installed_version
from itertools import accumulate
from pathlib import Path
from typing import Any
from weakref import WeakSet

from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx_gallery.scrapers import figure_rst

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tools"))

from check_docstrings import MODULES, public_names  # noqa: E402 - a script beside this folder

# -- project ----------------------------------------------------------------------------------------------------------

project = "iegp"
author = "The iegp developers"
project_copyright = author
version = release = installed_version("iegp")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
# Notebooks of the gallery and templates are no pages.
exclude_patterns = ["_templates", "**/*.ipynb"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
# Links such as design.md#exact-blocks work here as they do on a forge.
myst_heading_anchors = 4
# Some pages put a fourth level under a second one; sphinx-gallery's settings hold a function, which is not cached.
suppress_warnings = ["config.cache", "myst.header"]
smartquotes = False  # they would turn the -- of flags into dashes

# -- look -------------------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"iegp {release}"
html_static_path = ["_static"]
html_css_files = ["iegp.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
}

# -- API reference ----------------------------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections name the types
autodoc_mock_imports = ["ray", "torch", "triton"]  # large, and not needed to read docstrings
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # the template of a class lists them

# Modules have pages of their own, and are left out where another exports them.
PAGES = {part for entry in MODULES for part in accumulate(entry.split("."), "{}.{}".format)}


def names_of(module: str) -> list[str]:
    """Return the public names of a module, sorted."""
    return sorted((name for name in public_names(module) if f"{module}.{name}" not in PAGES), key=str.lower)


PUBLIC = {module: names_of(module) for module in MODULES}
# For the templates: the names of each module, and those that ``iegp`` exports too, which are indexed there.
autosummary_context = {
    "public": PUBLIC,
    "again": [f"{module}.{name}" for module in MODULES[1:] for name in PUBLIC[module] if name in PUBLIC["iegp"]],
}


def skip_member(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out methods that scikit-learn, River or Python define: their documentation has them."""
    del app, what, name, skip, options
    function = inspect.unwrap(getattr(obj, "__func__", getattr(obj, "fget", obj)) or obj)
    origin = getattr(function, "__module__", None)
    return True if isinstance(origin, str) and not origin.startswith("iegp") else None


def link_pages(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn the names of pages in docstrings, such as ``docs/scale.md``, into links."""
    del app, what, name, obj, options
    lines[:] = [re.sub(r"(?:``)?docs/([a-z/-]+)\.md(?:``)?", r":doc:`/\1`", line) for line in lines]


# -- command line -----------------------------------------------------------------------------------------------------


def write_command_line(app: Sphinx) -> None:
    """Write the page of every command and flag, from the program."""
    del app
    page = DOCS / "reference" / "generated" / "command-line.md"
    page.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "typer", "iegp.cli.app", "utils", "docs", "--name", "iegp"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    text = re.sub(r"^# `iegp`", "# Command line", text)
    text = re.sub(r"<span[^>]*bold[^>]*>(.*?)</span>", r"**\1**:", text)
    text = re.sub(r"<span[^>]*>(.*?)</span>", r"\1", text)
    # Its summaries are cut short; the headings of the page are enough.
    text = re.sub(r"\*\*Commands\*\*:\n\n(?:\* .*\n)+", "", text)
    # Examples are indented by two, with empty lines between them.
    text = re.sub(r"(?:^  \S.*\n\n?)+", as_snippet, text, flags=re.MULTILINE)
    page.write_text(text, encoding="utf-8")


def as_snippet(lines: re.Match[str]) -> str:
    """Return indented commands as one block of code."""
    # Markdown takes the entities of HTML that Typer writes for quotes literally in code.
    commands = html.unescape("\n".join(line.strip() for line in lines[0].splitlines() if line.strip()))
    return f"```sh\n{commands}\n```\n\n"


# -- notebook ---------------------------------------------------------------------------------------------------------


def write_notebook(app: Sphinx) -> None:
    """Run the notebook of the tutorials, and write its cells and what they show for its page to include."""
    del app
    folder = DOCS / "reference" / "generated"
    folder.mkdir(exist_ok=True)
    cells = json.loads((DOCS / "tutorials" / "bike_rentals.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    parts: list[str] = []
    with tempfile.TemporaryDirectory() as place, chdir(place):
        # The page has a title and an introduction of its own.
        for number, cell in enumerate(cells[1:]):
            source = "".join(cell["source"])
            if cell["cell_type"] == "code":
                source = f"```python\n{source}\n```\n\n{run_cell(source, names, folder / f'notebook-{number}.png')}"
            parts.append(source)
    (folder / "notebook.txt").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def run_cell(source: str, names: dict[str, Any], figure: Path) -> str:
    """Run a cell; return the value of its last line as Markdown, "" if there is none."""
    lines = ast.parse(source).body
    last = lines.pop() if isinstance(lines[-1], ast.Expr) else None
    exec(compile(ast.Module(lines, []), figure.stem, "exec"), names)
    if not isinstance(last, ast.Expr):
        return ""
    value = eval(compile(ast.Expression(last.value), figure.stem, "eval"), names)
    if not isinstance(value, Figure):
        return f"```none\n{value}\n```"
    value.savefig(figure, dpi=110)
    return f"![Figure of the cell above](/reference/generated/{figure.name})"


# -- gallery ----------------------------------------------------------------------------------------------------------


SAVED: WeakSet[Figure] = WeakSet()


def figures_shown(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figure that a block of an example ends with. It need not be one of pyplot."""
    del block
    shown = block_vars["example_globals"].get("___")  # what the last block that ended with an expression showed
    if not isinstance(shown, Figure) or shown in SAVED:
        return ""
    SAVED.add(shown)
    path = next(block_vars["image_path_iterator"])
    shown.savefig(path, dpi=110)
    return str(figure_rst([path], gallery_conf["src_dir"]))


sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "copyfile_regex": "",
    "image_scrapers": (figures_shown,),
    "ignore_repr_types": r"Figure",
    "first_notebook_cell": "%matplotlib inline",
    "abort_on_example_error": True,
    "min_reported_time": 1e9,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
    "reference_url": {},
    "remove_config_comments": True,
    "plot_gallery": "True",
}


def setup(app: Sphinx) -> None:
    """Register what Sphinx calls while it builds."""
    app.connect("builder-inited", write_command_line, priority=100)
    app.connect("builder-inited", write_notebook, priority=100)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("autodoc-process-docstring", link_pages, priority=900)
