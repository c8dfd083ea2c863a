"""Write outcomes to files: ``results.md`` with a folder of figures, ``results.html``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

from iegp.storage.model_file import replace_atomically
from iegp_paper import machine
from iegp_paper.experiment import Experiment
from iegp_paper.pages.content import Reproduction, section_of
from iegp_paper.pages.html import render_html
from iegp_paper.pages.markdown import render_markdown
from iegp_paper.plan import Scale
from iegp_paper.results import Cells, collect
from iegp_paper.task import Outcome

FIGURES = "figures"
METHOD = (
    "Scores are those of the median run; times are processor seconds of one core, hyperparameters included, and the "
    "median over runs. Every verdict is computed from the table by the rule beside it."
)


def write_pages(
    out: Path,
    experiments: Sequence[Experiment],
    scale: Scale,
    outcomes: Mapping[str, Outcome],
    command: str,
    date: str,
) -> Reproduction:
    """Write both pages and the figures; return their content."""
    sections, figures = [], {}
    for experiment in experiments:
        cells = collect(experiment, scale, outcomes)
        sections.append(section_of(experiment, cells))
        image = _drawn(experiment, cells)
        if image is not None:
            figures[experiment.name] = image
    page = Reproduction(command, date, _in_words(scale), machine.describe(), tuple(sections), (METHOD,))
    (out / FIGURES).mkdir(parents=True, exist_ok=True)
    for name, image in figures.items():
        replace_atomically(out / FIGURES / f"{name}.png", image)
    addresses = {name: f"{FIGURES}/{name}.png" for name in figures}
    replace_atomically(out / "results.md", render_markdown(page, addresses).encode())
    replace_atomically(out / "results.html", render_html(page, figures).encode())
    return page


def _drawn(experiment: Experiment, cells: Cells) -> bytes | None:
    from iegp_paper.figures import draw  # noqa: PLC0415  needs an extra

    figure = draw(experiment, cells)
    if figure is None:
        return None
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    return buffer.getvalue()


def _in_words(scale: Scale) -> str:
    runs = "each experiment's own number of runs" if scale.runs is None else f"{scale.runs} runs of every method"
    return f"{'Quick: shortened streams' if scale.quick else 'All rows'}, {runs}; the tables say how many."
