"""Content of a reproduction as plain text and tables, before it becomes Markdown or HTML."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from iegp_paper.experiment import Data, Experiment
from iegp_paper.results import Cell, Cells
from iegp_paper.rules import Verdict, judge


@dataclass(frozen=True)
class Table:
    heads: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    numbers_from: int = 2


@dataclass(frozen=True)
class Section:
    """One experiment."""

    name: str
    title: str
    paper: str
    note: str
    table: Table
    claims: tuple[tuple[str, str, Verdict], ...]
    """The paper's words, the rule's words, the verdict."""
    titles: Mapping[str, str]
    """Of data sets."""


@dataclass(frozen=True)
class Reproduction:
    """Content of a page without its figures."""

    command: str
    date: str
    scale: str
    machine: Mapping[str, str]
    sections: tuple[Section, ...]
    remarks: tuple[str, ...] = field(default_factory=tuple)


def section_of(experiment: Experiment, cells: Cells) -> Section:
    """Make the section of an experiment."""
    scores = {key: cell.scores for key, cell in cells.items() if cell.scores}
    short = {key: f"{cell.n_done} of {cell.n_runs} runs" for key, cell in cells.items() if cell.n_done < cell.n_runs}
    claims = tuple((claim.text, claim.rule.in_words(), judge(claim.rule, scores, short)) for claim in experiment.claims)
    table = statistics_table(experiment, cells) if experiment.kind == "statistics" else scores_table(experiment, cells)
    titles = {data.name: data.title for data in experiment.data}
    return Section(experiment.name, experiment.title, experiment.paper, experiment.note, table, claims, titles)


def scores_table(experiment: Experiment, cells: Cells) -> Table:
    """Tabulate scores, a line per data set and method; the metric with its range over runs."""
    heads = ["data set", "method", "rows", "runs"]
    for score in experiment.shows:
        heads.append(score)
        if score == experiment.metric:
            heads.append("lowest to highest")
    lines = [(_titles(experiment)[data], method, *_line(experiment, cell)) for (data, method), cell in cells.items()]
    return Table(tuple(heads), tuple(lines))


def _line(experiment: Experiment, cell: Cell) -> list[str]:
    found = ["all" if cell.rows is None else f"{cell.rows:,}", f"{cell.n_done} of {cell.n_runs}"]
    for score in experiment.shows:
        found.append(number(cell.scores[score]) if score in cell.scores else (cell.note or "–"))
        if score == experiment.metric:
            found.append(f"{number(cell.lowest)} to {number(cell.highest)}" if cell.n_done > 1 else "–")
    return found


def statistics_table(experiment: Experiment, cells: Cells) -> Table:
    """Tabulate the paper's sizes of data sets beside the measured ones."""
    lines = []
    for data in experiment.data:
        for (name, _), cell in cells.items():
            if name == data.name:
                lines.append((data.title, *(_beside(data, cell, key) for key in ("T", "d", "D"))))
    return Table(("data set", "T (paper / here)", "d (paper / here)", "D (paper / here)"), tuple(lines), 1)


def _beside(data: Data, cell: Cell, key: str) -> str:
    ours = f"{cell.scores[key]:.0f}" if key in cell.scores else (cell.note or "–")
    return f"{data.paper.get(key, '–')} / {ours}"


def number(value: float) -> str:
    """Format a number with three significant digits, without powers of ten where they can be avoided."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else str(value)
    return f"{value:.3g}" if 1e-4 <= abs(value) < 1e4 or value == 0.0 else f"{value:.2e}"


def _titles(experiment: Experiment) -> dict[str, str]:
    return {data.name: data.title for data in experiment.data}
