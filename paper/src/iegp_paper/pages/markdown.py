"""The page as Markdown, figures as files beside it."""

from __future__ import annotations

from collections.abc import Mapping

from iegp_paper.pages.content import GROUPS, ClaimLine, Reproduction, Section, Table, summary_table, summary_words
from iegp_paper.pages.prose import INTRODUCTION, METHOD

MARKS = {"confirmed": "✓", "not confirmed": "✗", "too close to call": "≈", "not measured": "–"}
FEW = "fewer than six seeds"
WHERE = "Where this page was written. A package that is not installed there was used by runs that were stored before."


def render_markdown(page: Reproduction, figures: Mapping[str, str], title: str = "The paper, reproduced") -> str:
    """Render the page; ``figures`` are addresses by the names of experiments."""
    parts = [f"# {title}", INTRODUCTION, "## Summary", _about(page), summary_words(page), _table(summary_table(page))]
    parts.append("## All claims")
    for group in GROUPS:
        parts += [f"**{group.capitalize()}**", own] if (own := verdicts(page, group)) else []
    if page.protocol.lines:
        parts += ["## Protocol", _table(page.protocol)]
    parts += ["## How it is judged", METHOD]
    parts += [_section(section, figures.get(section.name)) for section in page.sections]
    parts += ["## Machine", WHERE, _settings(page.machine)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _about(page: Reproduction) -> str:
    return "\n\n".join([f"Written by `{page.command}` on {page.date}. {page.scale}", *page.remarks])


def verdicts(page: Reproduction, group: str) -> str:
    """Tabulate all claims of a group."""
    lines = [
        (f"[{section.name}](#{_anchor(section.title)})", line.text, line.method, _verdict(section, line), line.cause)
        for section in page.sections
        for line in section.claims
        if line.group == group
    ]
    return _table(Table(("experiment", "claim", "method", "verdict", "cause"), tuple(lines), 5)) if lines else ""


def _verdict(section: Section, line: ClaimLine) -> str:
    """Write the verdict, those on each data set where there are several that differ, and which rest on few seeds."""
    each = line.verdict.findings
    if len({own.word for own in each}) < 2:
        return f"**{line.verdict.word}**" + (f" ({FEW})" if any(own.rests_on_few for own in each) else "")
    return f"**{line.verdict.word}**: " + ", ".join(
        f"{section.titles.get(own.data, own.data)} {MARKS[own.word]}" + (f" ({FEW})" if own.rests_on_few else "")
        for own in each
    )


def _section(section: Section, figure: str | None) -> str:
    parts = [f"## {section.title}", section.paper, section.note]
    for table in section.tables:
        parts += [f"**{table.title}**" if table.title else "", _table(table)]
    parts.append(section.source)
    if figure is not None:
        parts.append(f"![{section.title}]({figure})")
    parts += [_claim(section, line) for line in section.claims]
    return "\n\n".join(part for part in parts if part)


def _claim(section: Section, line: ClaimLine) -> str:
    said = f"- *{line.text}* {line.method}: **{line.verdict.word}** (rule: {line.rule})"
    measured = [
        f"  - {section.titles.get(own.data, own.data)}: {own.words} {MARKS[own.word]}" for own in line.verdict.findings
    ]
    why = [f"  - Cause: {line.cause}. {line.why}".rstrip()] if line.cause else []
    return "\n".join([said, *measured, *why])


def _table(table: Table) -> str:
    rule = ["---" if i < table.numbers_from else "---:" for i in range(len(table.heads))]
    lines = [table.heads, tuple(rule), *table.lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _settings(values: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {value}" for name, value in values.items())


def _anchor(title: str) -> str:
    """Return the anchor of a heading as GitHub makes it."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")
