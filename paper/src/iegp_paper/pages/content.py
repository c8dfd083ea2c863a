"""Content of a reproduction as plain text and tables, before it becomes Markdown or HTML."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iegp_paper.cell import Cell
from iegp_paper.checks import CAUSES, PROTOCOL
from iegp_paper.experiment import Claim, Data, Experiment
from iegp_paper.results import Cells
from iegp_paper.rules import Verdict, Word, judge

WORDS: tuple[Word, ...] = ("confirmed", "too close to call", "not confirmed", "not measured")
PAPER, OWN = "Methods of the paper", "Models and settings that the paper does not have"
OF_PAPER, SENSITIVITY, OF_LIBRARY = GROUPS = ("the paper's claims", "the same with other choices", "not in the paper")


@dataclass(frozen=True)
class Table:
    heads: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    numbers_from: int = 2
    title: str = ""


@dataclass(frozen=True)
class ClaimLine:
    """A claim, judged for one method."""

    text: str
    method: str
    rule: str
    verdict: Verdict
    cause: str
    why: str
    group: str
    """One of ``GROUPS``."""


@dataclass(frozen=True)
class Section:
    """One experiment."""

    name: str
    title: str
    paper: str
    note: str
    tables: tuple[Table, ...]
    claims: tuple[ClaimLine, ...]
    titles: Mapping[str, str]
    """Of data sets."""
    source: str
    """Command, commits and file of the runs."""
    lowest: str = ""
    """Which method of the paper is ahead, on each data set."""


@dataclass(frozen=True)
class Reproduction:
    """Content of a page without its figures."""

    command: str
    date: str
    scale: str
    machine: Mapping[str, str]
    sections: tuple[Section, ...]
    protocol: Table
    remarks: tuple[str, ...] = ()


def section_of(experiment: Experiment, cells: Cells, file: str = "") -> Section:
    """Make the section of an experiment; ``file`` has its runs one by one."""
    return Section(
        experiment.name,
        experiment.title,
        experiment.paper,
        experiment.note,
        tables_of(experiment, cells),
        tuple(line for claim in experiment.claims for line in claim_lines(experiment, claim, cells)),
        _titles(experiment),
        source_of(experiment, cells, file),
        lowest_of(experiment, cells),
    )


def claim_lines(experiment: Experiment, claim: Claim, cells: Cells) -> list[ClaimLine]:
    """Judge a claim once for each of its methods."""
    lines = []
    for method in claim.rule.ours:
        verdict = judge(claim.rule, method, cells)
        examined = verdict.word in ("not confirmed", "too close to call")
        cause = CAUSES.get(claim.cause, "not examined") if examined else ""
        own = claim.text, method, claim.rule.in_words(), verdict, cause, claim.why if examined else ""
        lines.append(ClaimLine(*own, group=_group(experiment, method)))
    return lines


def _group(experiment: Experiment, method: str) -> str:
    if method in experiment.extra:
        return OF_LIBRARY
    return SENSITIVITY if experiment.sensitivity_of else OF_PAPER


def source_of(experiment: Experiment, cells: Cells, file: str) -> str:
    """Say with which command and at which commits the runs were made."""
    commits: Counter[str] = Counter()
    for cell in cells.values():
        commits.update(cell.commits)
    listed = ", ".join(f"{name} ({count} runs)" for name, count in commits.most_common())
    where = f"; every seed in `{file}`" if file else ""
    return f"Command `iegp-paper {experiment.name}`; commit {listed or 'not recorded'}{where}."


def lowest_of(experiment: Experiment, cells: Cells) -> str:
    """Name the method of the paper with the lowest median of the first score, on each data set."""
    score, found = experiment.shows[0], []
    for data in experiment.data:
        own = {
            method: cell.scores[score]
            for (name, method), cell in cells.items()
            if name == data.name and method not in experiment.extra and score in cell.scores
        }
        if len(own) > 1:
            best = min(own, key=lambda method: own[method])
            found.append(f"{data.title}: {best} {number(own[best])}")
    return f"lowest {score}: {'; '.join(found)}" if found else ""


def tables_of(experiment: Experiment, cells: Cells) -> tuple[Table, ...]:
    """Tabulate the methods of the paper, and apart from them those that it does not have."""
    if experiment.kind == "statistics":
        return (statistics_table(experiment, cells),)
    # A method that ran and has none of these scores cannot have them.
    shown = {key: cell for key, cell in cells.items() if not cell.scores or set(experiment.shows) & set(cell.scores)}
    of_paper = {key: cell for key, cell in shown.items() if key[1] not in experiment.extra}
    own = {key: cell for key, cell in shown.items() if key[1] in experiment.extra}
    if not own:
        return (scores_table(experiment, of_paper),)
    return scores_table(experiment, of_paper, PAPER), scores_table(experiment, own, OWN)


def scores_table(experiment: Experiment, cells: Cells, title: str = "") -> Table:
    """Tabulate scores, a line per data set and method: medians with their intervals."""
    heads = ("data set", "method", "rows", "runs", *experiment.shows)
    lines = [(_titles(experiment)[data], method, *_line(experiment, cell)) for (data, method), cell in cells.items()]
    return Table(heads, tuple(lines), title=title)


def _line(experiment: Experiment, cell: Cell) -> list[str]:
    runs = f"{cell.n_done}" if cell.n_done == cell.n_runs else f"{cell.n_done} of {cell.n_runs}"
    found = ["all" if cell.rows is None else f"{cell.rows:,}", runs]
    # A method that ran and lacks a score cannot have it.
    missing = cell.note or "–" if not cell.scores else "–"
    return found + [with_interval(cell, score) if score in cell.scores else missing for score in experiment.shows]


def with_interval(cell: Cell, score: str) -> str:
    """Write a median with its interval; a range, of fewer than six runs, with ``to``."""
    own = cell.intervals.get(score)
    if own is None or own.n == 1:
        return number(cell.scores[score])
    between = " to " if own.is_range else ", "
    return f"{number(own.centre)} [{number(own.low)}{between}{number(own.high)}]"


def statistics_table(experiment: Experiment, cells: Cells) -> Table:
    """Tabulate the paper's sizes of data sets beside the measured ones."""
    lines = []
    for data in experiment.data:
        for (name, _), cell in cells.items():
            if name == data.name:
                lines.append((data.title, *(_beside(data, cell, key) for key in ("T", "d", "D"))))
    return Table(("data set", "T (paper / here)", "d (paper / here)", "D (paper / here)"), tuple(lines), 1)


def protocol_table(experiments: Sequence[Experiment]) -> Table:
    """Tabulate what each method learns, how its inputs are scaled and which output is scored."""
    heads = ("experiment", "method", "learns the warm-up rows", "inputs", "scored output")
    lines = [
        (own.title.partition(":")[0], method, *(words[key] for key in PROTOCOL))
        for own in experiments
        for method, words in own.protocol.items()
    ]
    return Table(heads, tuple(lines), len(heads))


def summary_table(page: Reproduction) -> Table:
    """Count the verdicts on the paper's claims, experiment by experiment."""
    lines = []
    for section in page.sections:
        counts = Counter(line.verdict.word for line in section.claims if line.group == OF_PAPER)
        if counts:
            lines.append((section.title, section.lowest, *(str(counts[word] or "–") for word in WORDS)))
    return Table(("experiment", "what was measured", *WORDS), tuple(lines))


def summary_words(page: Reproduction) -> str:
    """Say in one paragraph how the paper's claims fared, and why those that failed did."""
    lines = [line for section in page.sections for line in section.claims if line.group == OF_PAPER]
    counts = Counter(line.verdict.word for line in lines)
    causes = Counter(line.cause for line in lines if line.verdict.word == "not confirmed")
    said = ", ".join(f"{counts[word]} {word}" for word in WORDS if counts[word])
    blamed = ", ".join(f"{cause} {count}" for cause, count in causes.most_common())
    why = f" Causes of those not confirmed: {blamed}." if blamed else ""
    return f"{len(lines)} claims of the paper, counted once for each method that they name: {said}.{why}"


def _beside(data: Data, cell: Cell, key: str) -> str:
    ours = f"{cell.scores[key]:.0f}" if key in cell.scores else (cell.note or "–")
    return f"{data.paper.get(key, '–')} / {ours}"


def number(value: float) -> str:
    """Format a number with three significant digits, without powers of ten where they can be avoided."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else str(value)
    if abs(value) >= 1e3:
        return f"{value:,.0f}" if abs(value) < 1e6 else f"{value:.2e}"
    return f"{value:.3g}" if abs(value) >= 1e-4 or value == 0.0 else f"{value:.2e}"


def _titles(experiment: Experiment) -> dict[str, str]:
    return {data.name: data.title for data in experiment.data}
