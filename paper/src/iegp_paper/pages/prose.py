"""Texts of the page that do not depend on results, in Markdown."""

from __future__ import annotations

from importlib.resources import files

_FOLDER = files("iegp_paper").joinpath("pages")
INTRODUCTION = _FOLDER.joinpath("introduction.md").read_text(encoding="utf-8").strip()
METHOD = _FOLDER.joinpath("method.md").read_text(encoding="utf-8").strip()
