"""The page: panels in order, in one file."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path

from iegp.plots.report.about import About
from iegp.run.digest import Digest
from iegp.run.modelfile import replace_atomically


def write_report(path: str | os.PathLike[str], digest: Digest, about: About) -> None:
    """Write the report of a run to ``path``, replacing it atomically."""
    replace_atomically(Path(path), render_report(digest, about).encode())


def render_report(digest: Digest, about: About) -> str:
    """The report of a run, as the text of an HTML file."""
    results = digest.results()
    return f"<!doctype html><title>{escape(about.title)}</title><p>{results.n_rows} rows</p>"
