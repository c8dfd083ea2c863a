"""The page as Markdown, figures as files beside it."""

from __future__ import annotations

from collections.abc import Mapping

from iegp_paper.pages.content import Reproduction, Section, Table


def render_markdown(page: Reproduction, figures: Mapping[str, str], title: str = "The paper, reproduced") -> str:
    """Render the page; ``figures`` are addresses by the names of experiments."""
    parts = [f"# {title}", _about(page), "## Verdicts", verdicts(page)]
    parts += [_section(section, figures.get(section.name)) for section in page.sections]
    parts += ["## Machine", _settings(page.machine)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _about(page: Reproduction) -> str:
    lines = [f"Written by `{page.command}` on {page.date}. {page.scale}", *page.remarks]
    return "\n\n".join(lines)


def verdicts(page: Reproduction) -> str:
    """Tabulate all claims."""
    lines = []
    for section in page.sections:
        for text, _, verdict in section.claims:
            lines.append((f"[{section.title}](#{_anchor(section.title)})", text, f"**{verdict.word}**"))
    return _table(Table(("experiment", "the paper's claim", "verdict"), tuple(lines), 3)) if lines else ""


def _section(section: Section, figure: str | None) -> str:
    parts = [f"## {section.title}", section.paper, section.note, _table(section.table)]
    if figure is not None:
        parts.append(f"![{section.title}]({figure})")
    for text, rule, verdict in section.claims:
        measured = [
            f"  - {section.titles.get(own.data, own.data)}: {own.words}{_mark(own.holds)}" for own in verdict.findings
        ]
        parts.append("\n".join([f"- *{text}* — **{verdict.word}** (rule: {rule})", *measured]))
    return "\n\n".join(part for part in parts if part)


def _mark(holds: bool | None) -> str:
    return "" if holds is None else (" ✓" if holds else " ✗")


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
