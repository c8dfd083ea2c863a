"""The page: panels in order, with style and script, in one file."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from iegp.report.about import About
from iegp.report.cards import cards
from iegp.report.panel_calibration import calibration
from iegp.report.panel_classes import mistakes, predictions_of_classes
from iegp.report.panel_keys import keys
from iegp.report.panel_numbers import predictions_of_numbers, residuals
from iegp.report.panel_scores import scores
from iegp.report.panel_weights import weights
from iegp.report.sections import section, settings
from iegp.report.text import clean, esc
from iegp.storage.model_file import replace_atomically
from iegp.stream.digest import Digest, KeyScores, Results

# Nothing may be downloaded, whatever a label contains.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def write_report(path: str | os.PathLike[str], digest: Digest, about: About) -> None:
    """Write the report of a run to ``path``, replacing it atomically."""
    replace_atomically(Path(path), render_report(digest, about).encode())


def render_report(digest: Digest, about: About) -> str:
    """Render the report of a run as the text of an HTML file; the same digest gives the same text."""
    results = digest.results()
    panels = _panels(results, about, digest.keys)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{esc(about.title)}</title><style>{_asset('style.css')}</style></head><body>"
        f"{_header(about, results, digest.keys is not None)}"
        f"<main>{cards(results, about.experts, digest.keys)}{_notes(about)}{''.join(panels)}</main>"
        f"{_footer(about)}<script>{_asset('report.js')}</script></body></html>\n"
    )


def _panels(results: Results, about: About, by_key: KeyScores | None) -> list[str]:
    target = clean(about.target)
    if results.is_number:
        first, last = predictions_of_numbers(results, target), residuals(results, target)
    else:
        first, last = predictions_of_classes(results, target), mistakes(results)
    middle = [scores(results, about.changes), weights(results, about.experts, by_key is not None), calibration(results)]
    if by_key is not None:
        middle.insert(1, keys(by_key))
    return [first, *middle, last, _configuration(about)]


def _header(about: About, results: Results, has_keys: bool) -> str:
    columns = f"{about.n_columns:,} column{'' if about.n_columns == 1 else 's'}"
    facts = [
        ("Source", about.source),
        ("Target", about.target),
        ("Task", about.task),
        ("Model", about.model),
        ("Input", columns),
    ]
    listed = "".join(f"<div><dt>{name}</dt><dd>{esc(value)}</dd></div>" for name, value in facts)
    links = [
        ("predictions", "Predictions"),
        ("scores", "Scores"),
        *([("keys", "Keys")] if has_keys else []),
        ("experts", "Experts"),
        ("calibration", "Calibration"),
    ]
    links += [("residuals", "Residuals") if results.is_number else ("mistakes", "Mistakes")]
    links += [("configuration", "Configuration")]
    menu = "".join(f'<a href="#{anchor}">{text}</a>' for anchor, text in links)
    return f'<header><h1>{esc(about.title)}</h1><dl class="facts">{listed}</dl><nav>{menu}</nav></header>'


def _notes(about: About) -> str:
    items = "".join(f"<li><b>{esc(heading)}</b> {esc(text)}</li>" for heading, text in about.notes)
    return f'<ul class="notes">{items}</ul>' if items else ""


def _configuration(about: About) -> str:
    command = f'<pre tabindex="0">{esc(about.command)}</pre>' if about.command else ""
    config = f"<h3>Settings</h3>{settings(about.config)}" if about.config else ""
    versions = f"<h3>Versions</h3>{settings(about.versions)}" if about.versions else ""
    columns = f'<div class="panels"><div class="panel">{config}</div><div class="panel">{versions}</div></div>'
    return section("configuration", "Configuration", "Settings to repeat this run.", command, columns)


def _footer(about: About) -> str:
    version = about.versions.get("iegp", "")
    return f"<footer>Written by iegp {esc(version)}. One file, no network: it can be mailed and archived.</footer>"


def _asset(name: str) -> str:
    return files("iegp.report").joinpath(name).read_text(encoding="utf-8")
