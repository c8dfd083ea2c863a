"""The page: sections in order, with style and script, in one file."""

from __future__ import annotations

import json
import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from iegp.report.about import About, Timing
from iegp.report.blocks import Heading, Panel, Panels, Section, Settings, Text
from iegp.report.cards import Card, cards
from iegp.report.clock import clock_of, date_and_time
from iegp.report.panel_calibration import calibration
from iegp.report.panel_classes import mistakes, predictions_of_classes
from iegp.report.panel_numbers import predictions_of_numbers, residuals
from iegp.report.panel_rows import changes, surprises
from iegp.report.panel_scores import scores
from iegp.report.panel_tables import ListedKeys, inputs, keys
from iegp.report.panel_weights import weights
from iegp.report.text import clean, duration, setting_lines, whole
from iegp.report.verdict import target_and_unit, verdict
from iegp.storage.model_file import replace_atomically
from iegp.stream.digest import Digest, Results

# Nothing may be downloaded, whatever a label contains.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
# The live page asks the run that serves it for news.
LIVE_POLICY = f"{POLICY}; connect-src 'self'"


class Snapshot(NamedTuple):
    """What a page shows of a run: plain data, which do not change while the run continues."""

    results: Results
    about: About
    keys: ListedKeys | None

    @classmethod
    def of(cls, digest: Digest, about: About) -> Snapshot:
        return cls(digest.results(), about, None if digest.keys is None else ListedKeys.of(digest.keys))


def write_report(path: str | os.PathLike[str], digest: Digest, about: About) -> None:
    """Write the report of a run to ``path``, replacing it atomically."""
    replace_atomically(Path(path), render_report(digest, about).encode())


def render_report(digest: Digest, about: About) -> str:
    """Render the report of a run as the text of an HTML file; the same digest gives the same text."""
    return render(Snapshot.of(digest, about))


def render(shown: Snapshot, live: bool = False) -> str:
    """Render a page; with ``live`` it replaces itself while the run continues."""
    results, about, by_key = shown
    tiles = cards(results, target_and_unit(about)[1], None if by_key is None else by_key.n_keys)
    top = Top(verdict(results, about), _facts(results, about), tiles)
    return document(about, top, _sections(shown), live)


class Top(NamedTuple):
    """What a page begins with."""

    verdict: str
    facts: list[tuple[str, str]]
    cards: list[Card]


def document(about: About, top: Top, sections: list[Section], live: bool = False) -> str:
    """Render an HTML file with style and script."""
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            about=about,
            verdict=top.verdict,
            facts=top.facts,
            cards=top.cards,
            sections=sections,
            links=[(section.anchor, section.link or section.heading) for section in sections],
            live=live,
            policy=LIVE_POLICY if live else POLICY,
            style=_asset("style.css"),
            scripts=[_asset("report.js"), *([_asset("live.js")] if live else [])],
        )
    )


def _sections(shown: Snapshot) -> list[Section]:
    results, about, by_key = shown
    target = clean(about.target)
    if results.is_number:
        first, last = predictions_of_numbers(results, target, about.changes), residuals(results, target)
    else:
        first, last = predictions_of_classes(results, target, about.changes), mistakes(results)
    return [
        first,
        *([changes(about.changes)] if about.changes else []),
        surprises(results),
        scores(results, about.changes),
        *([] if by_key is None else [keys(by_key)]),
        weights(results, about.experts, by_key is not None),
        *([inputs(about.inputs, results.n_rows)] if about.inputs else []),
        calibration(results),
        last,
        _configuration(about),
    ]


def _facts(results: Results, about: About) -> list[tuple[str, str]]:
    columns = f"{about.n_columns:,} column{'' if about.n_columns == 1 else 's'}"
    facts = [("Source", about.source), ("Target", about.target), ("Task", about.task), ("Model", about.model)]
    # Before the first record they are not known.
    facts.append(("Input", columns if results.n_rows or about.n_columns else ""))
    clock, timing = clock_of(results), about.timing
    if clock is not None:
        span = f"{date_and_time(clock.time[0])} to {date_and_time(clock.time[-1])}"
        facts.append(("Period", span))
    facts += [] if timing is None else facts_of(timing)
    return [(name, text) for name, text in facts if text]


def facts_of(timing: Timing) -> list[tuple[str, str]]:
    """How long the run took, if that is known, and when its page was written."""
    facts = [("Written", f"{date_and_time(timing.written)} UTC")]
    if timing.seconds is not None:
        speed = whole(timing.n_rows / max(timing.seconds, 1e-3))
        facts.insert(0, ("Duration", f"{duration(timing.seconds)}, {speed} rows per second"))
    return facts


def _configuration(about: About) -> Section:
    made = Section("configuration", "Configuration", "Settings to repeat this run.")
    command = [Text(about.command, "command")] if about.command else []
    panels = [
        Panel("", "", [Heading(heading), Settings(setting_lines(values))])
        for heading, values in {"Settings": about.config, "Versions": about.versions}.items()
        if values
    ]
    return made.holding(*command, Panels(panels))


def _asset(name: str) -> Markup:
    return Markup(files("iegp.report").joinpath(name).read_text(encoding="utf-8"))


@cache
def _environment() -> Environment:
    """Escapes everything that a template does not say itself; text of the user is made printable first."""
    environment = Environment(
        loader=PackageLoader("iegp.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["for_script"] = _json
    environment.filters["whole"] = whole
    return environment


def _printable(value: Any) -> Any:
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _json(data: dict[str, Any]) -> Markup:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
