"""The page as one HTML file: no network, figures inside."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from importlib.resources import files

from iegp.report.text import setting_lines
from iegp_paper.pages.content import ClaimLine, Reproduction, Section, Table, summary_table, summary_words
from iegp_paper.pages.markdown import MARKS
from iegp_paper.pages.markup import escaped, settings, table
from iegp_paper.pages.markup import section as framed

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_EXTRA = "img { max-width: 100%; height: auto; } .claims li { margin: 6px 0; } td { white-space: normal; }"


def render_html(page: Reproduction, figures: Mapping[str, bytes], title: str = "The paper, reproduced") -> str:
    """Render the page; ``figures`` are PNG images by the names of experiments."""
    style = files("iegp.report").joinpath("style.css").read_text(encoding="utf-8")
    menu = "".join(f'<a href="#{own.name}">{escaped(own.title)}</a>' for own in page.sections)
    facts = "".join(
        f"<div><dt>{name}</dt><dd>{escaped(value)}</dd></div>"
        for name, value in (("Command", page.command), ("Date", page.date), ("Scale", page.scale))
    )
    body = [
        _summary(page),
        _verdicts(page),
        _protocol(page),
        *(_section(own, figures.get(own.name)) for own in page.sections),
    ]
    body.append(
        framed(
            "machine", "Machine", "Where it was measured, and with what.", settings(setting_lines(dict(page.machine)))
        )
    )
    remarks = "".join(f"<p>{escaped(remark)}</p>" for remark in page.remarks)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>{escaped(title)}</title><style>{style}{_EXTRA}</style></head><body>"
        f'<header><h1>{escaped(title)}</h1><dl class="facts">{facts}</dl>{remarks}<nav>{menu}</nav></header>'
        f"<main>{''.join(body)}</main></body></html>\n"
    )


def _summary(page: Reproduction) -> str:
    return framed("summary", "Summary", escaped(summary_words(page)), _table(summary_table(page)))


def _protocol(page: Reproduction) -> str:
    how = "What each method learns, how its inputs are scaled, and which output is scored."
    return framed("protocol", "Protocol", how, _table(page.protocol)) if page.protocol.lines else ""


def _verdicts(page: Reproduction) -> str:
    lines = [
        (
            f'<a href="#{own.name}">{escaped(own.title)}</a>',
            escaped(line.text),
            escaped(line.method),
            f"<b>{line.verdict.word}</b>",
            escaped(line.cause),
        )
        for own in page.sections
        for line in own.claims
    ]
    how = "Each claim for each method, judged by the rule that stands beside it in its section."
    heads = ("experiment", "claim", "method", "verdict", "cause")
    return framed("verdicts", "Verdicts", how, table(heads, lines, len(heads)))


def _section(own: Section, figure: bytes | None) -> str:
    image = ""
    if figure is not None:
        image = (
            f'<p><img alt="{escaped(own.title)}" src="data:image/png;base64,{base64.b64encode(figure).decode()}"></p>'
        )
    claims = "".join(_claim(own, line) for line in own.claims)
    note = f'<p class="note">{escaped(own.note)}</p>' if own.note else ""
    listed = f'<ul class="claims">{claims}</ul>' if claims else ""
    tables = "".join((f"<h3>{escaped(one.title)}</h3>" if one.title else "") + _table(one) for one in own.tables)
    source = f'<p class="note">{escaped(own.source)}</p>'
    return framed(own.name, own.title, escaped(own.paper), note, tables, source, image, listed)


def _claim(own: Section, line: ClaimLine) -> str:
    findings = "".join(
        f"<li>{escaped(own.titles.get(found.data, found.data))}: {escaped(found.words)} {MARKS[found.word]}</li>"
        for found in line.verdict.findings
    )
    why = f"<li>Cause: {escaped(line.cause)}. {escaped(line.why)}</li>" if line.cause else ""
    said = (
        f"<i>{escaped(line.text)}</i> {escaped(line.method)}: <b>{line.verdict.word}</b> (rule: {escaped(line.rule)})"
    )
    return f"<li>{said}<ul>{findings}{why}</ul></li>"


def _table(own: Table) -> str:
    return table(own.heads, [[escaped(cell) for cell in line] for line in own.lines], own.numbers_from)
