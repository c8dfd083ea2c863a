"""The command ``iegp-paper``: run the paper's experiments, judge its claims and write the pages."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from datetime import date
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.table import Table

from iegp.cli.flags import UsageError
from iegp.cli.running import StopSignals
from iegp_paper.catalogue import chosen, load_experiments
from iegp_paper.experiment import Experiment
from iegp_paper.pages.content import Reproduction
from iegp_paper.plan import Scale, all_tasks
from iegp_paper.provenance import stored_runs
from iegp_paper.reproduce import recheck
from iegp_paper.reproduce import reproduce as run


def reproduce(
    names: Sequence[str],
    runs: int | None,
    jobs: int,
    quick: bool,
    out: str,
    show_list: bool,
    experiments: str | None,
    publish: str | None = None,
    finished: bool = False,
    stored: str | None = None,
    timed: bool = True,
) -> int:
    """Run a reproduction and return the exit code."""
    known = load_experiments(None if experiments is None else Path(experiments))
    scale = Scale(quick, runs)
    if runs is not None and runs < 1:
        raise UsageError(f"--runs {runs} leaves nothing to run; give at least 1")
    if jobs < 1:
        raise UsageError(f"--jobs {jobs}: give the number of runs at a time, at least 1")
    if publish is not None and not (Path(publish) / "docs").is_dir():
        raise UsageError(f"--publish {publish} has no folder docs; name the root of a checkout")
    if publish is not None and (quick or names or runs is not None):
        raise UsageError("--publish writes the whole page; leave out --quick, --runs and names of experiments")
    if show_list:
        _show_list(list(known.values()), scale)
        return 0
    if find_spec("matplotlib") is None:
        raise UsageError('figures need matplotlib: pip install "iegp[plot]"')
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    say = Console(stderr=True, highlight=False, soft_wrap=True)
    command = shlex.join(["iegp-paper", *sys.argv[1:]])
    with StopSignals() as stop:
        page, counts = run(
            chosen(known, names),
            scale,
            folder,
            jobs,
            say,
            command=command,
            date=f"{date.today():%Y-%m-%d}",
            published=None if publish is None else Path(publish),
            finished=finished,
            timed=timed,
            known=None if stored is None else stored_runs(Path(stored)),
            stopped=stop,
        )
        code = stop.exit_code
    if page is None:
        say.print("Stopped; the same command resumes with what is missing")
        return code
    _show_verdicts(page)
    markdown = folder / "results.md" if publish is None else Path(publish) / "docs" / "results.md"
    say.print(f"Pages: {markdown}, {folder / 'results.html'}")
    if counts.done == 0:
        say.print("No run succeeded, so nothing was judged; the lines above and the tables of the pages say why")
        return 1
    return 0


def check(n: int, jobs: int, stored: str | None, experiments: str | None) -> int:
    """Make some stored runs again and return the exit code: 1 if any of them differs."""
    if stored is None:
        raise UsageError("--check compares with stored runs: name their folder, --stored paper/results")
    if n < 1:
        raise UsageError(f"--check {n} leaves nothing to run; give at least 1")
    known = stored_runs(Path(stored))
    say = Console(stderr=True, highlight=False, soft_wrap=True)
    tasks = all_tasks(list(load_experiments(None if experiments is None else Path(experiments)).values()), Scale())
    differing = recheck(tasks, known, n, jobs, say)
    for line in differing:
        say.print(line)
    say.print(f"{n - len(differing)} of {n} runs agree with {stored} in every digit")
    return 1 if differing else 0


def _show_list(experiments: list[Experiment], scale: Scale) -> None:
    table = Table(title="Experiments")
    table.add_column("name", no_wrap=True)  # to be typed: whole in a terminal of any width
    for head in ("what", "data sets", "methods", "runs"):
        table.add_column(head)
    for own in experiments:
        sets = ", ".join(data.name for data in own.data)
        table.add_row(own.name, own.title, sets, str(len(own.methods)), str(len(all_tasks([own], scale))))
    Console(file=sys.stdout).print(table)


def _show_verdicts(page: Reproduction) -> None:
    table = Table(title="Verdicts on the paper's claims")
    for head in ("experiment", "claim", "method", "verdict"):
        table.add_column(head)
    for section in page.sections:
        for line in section.claims:
            table.add_row(section.name, line.text, line.method, line.verdict.word)
    if table.rows:
        Console(file=sys.stdout).print(table)
