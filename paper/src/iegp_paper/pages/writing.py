"""Write outcomes to files: ``results.md`` with figures and a CSV of every seed, ``results.html``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from iegp.storage.model_file import replace_atomically
from iegp_paper import machine
from iegp_paper.experiment import Experiment
from iegp_paper.pages.content import Reproduction, protocol_table, section_of
from iegp_paper.pages.html import render_html
from iegp_paper.pages.markdown import render_markdown
from iegp_paper.plan import Scale, all_tasks
from iegp_paper.provenance import files_of, per_seed_csv
from iegp_paper.results import Cells, collect
from iegp_paper.task import Outcome


class Places(NamedTuple):
    """Where the parts of a page go: the page, its figures (an address relative to it), and the CSV files."""

    page: Path
    figures: str
    runs: Path
    runs_name: str
    """Of the folder of CSV files, as the page writes it."""


def beside(out: Path) -> Places:
    """Return the places of a page with all its parts in one folder."""
    return Places(out / "results.md", "figures", out / "runs", "runs")


def in_repository(root: Path) -> Places:
    """Return the places in a checkout of this repository."""
    return Places(root / "docs" / "results.md", "images/results", root / "paper" / "results", "paper/results")


def write_pages(
    out: Path,
    experiments: Sequence[Experiment],
    scale: Scale,
    outcomes: Mapping[str, Outcome],
    command: str,
    date: str,
    published: Path | None = None,
) -> Reproduction:
    """Write both pages, the figures and the runs, also into the repository ``published``; return the content."""
    places = beside(out) if published is None else in_repository(published)
    names, sections, figures, earlier = files_of(list(experiments)), [], dict[str, bytes](), list[str]()
    for experiment in experiments:
        cells = collect(experiment, scale, outcomes)
        sections.append(section_of(experiment, cells, f"{places.runs_name}/{names[experiment.name]}"))
        image = _published(experiment, cells, places)
        earlier += [] if image is None else [experiment.title]
        image = image or _drawn(experiment, cells)
        if image is not None:
            figures[experiment.name] = image
    page = Reproduction(
        command,
        date,
        _in_words(scale),
        machine.describe(),
        tuple(sections),
        protocol_table(experiments),
        _missing(experiments, scale, outcomes) + _earlier(earlier),
    )
    _write(page, figures, places)
    places.runs.mkdir(parents=True, exist_ok=True)
    for experiment in experiments:
        if names[experiment.name] == f"{experiment.name}.csv":
            text = per_seed_csv(experiment, scale, outcomes)
            replace_atomically(places.runs / names[experiment.name], text.encode())
    replace_atomically(out / "results.html", render_html(page, figures).encode())
    return page


def _write(page: Reproduction, figures: Mapping[str, bytes], places: Places) -> None:
    folder = places.page.parent / places.figures
    folder.mkdir(parents=True, exist_ok=True)
    for name, image in figures.items():
        replace_atomically(folder / f"{name}.png", image)
    addresses = {name: f"{places.figures}/{name}.png" for name in figures}
    replace_atomically(places.page, render_markdown(page, addresses).encode())


def _drawn(experiment: Experiment, cells: Cells) -> bytes | None:
    from iegp_paper.figures import draw  # noqa: PLC0415  needs an extra

    figure = draw(experiment, cells)
    if figure is None:
        return None
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    return buffer.getvalue()


def _published(experiment: Experiment, cells: Cells, places: Places) -> bytes | None:
    """Return the figure that is there already, where some runs are known by their scores only."""
    from iegp_paper.figures import is_whole  # noqa: PLC0415  needs an extra

    path = places.page.parent / places.figures / f"{experiment.name}.png"
    return path.read_bytes() if not is_whole(experiment, cells) and path.exists() else None


def _earlier(titles: Sequence[str]) -> tuple[str, ...]:
    """Say which figures were not drawn again."""
    if not titles:
        return ()
    named = "; ".join(titles)
    words = f"Scores alone are stored of runs that were made earlier, so these figures are of those: {named}."
    return (f"{words} What was added or run again since is in the tables only.",)


def _missing(experiments: Sequence[Experiment], scale: Scale, outcomes: Mapping[str, Outcome]) -> tuple[str, ...]:
    """Say how many of the planned runs are missing."""
    planned = all_tasks(experiments, scale)
    n_missing = sum(task.digest not in outcomes for task in planned)
    if not n_missing:
        return ()
    made = f"{len(planned) - n_missing:,} of {len(planned):,} planned runs are made"
    return (f"**{made}**; the same command without `--finished` makes the others and writes the page again.",)


def _in_words(scale: Scale) -> str:
    runs = "each experiment's own number of runs" if scale.runs is None else f"{scale.runs} runs of every method"
    return f"{'Quick: shortened streams' if scale.quick else 'All rows'}, {runs}; the tables say how many."
