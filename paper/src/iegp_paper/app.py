"""``iegp-paper``: the command and its flags."""

from __future__ import annotations

from typing import Annotated

import typer

from iegp._processes import limit_this_process
from iegp.cli.app import report_errors

app = typer.Typer(name="iegp-paper", rich_markup_mode="rich", pretty_exceptions_enable=False)
Given = typer.Option


# A paragraph is one line, which terminals of every width break where they must.
_HELP = """Make the paper's tables and figures again, competitors included, and judge its claims.

Finished runs are kept in OUT/cache: a reproduction that was stopped is resumed by the same command. With --stored, \
runs that were published are not made again; as their scores alone are stored, figures that need more stay as they \
were published. Data sets are read from $IEGP_DATA, or downloaded.

[bold]Examples[/bold]

  iegp-paper --list

  iegp-paper --quick

  iegp-paper nmse time --runs 11 --jobs 4 --out results

  iegp-paper --publish .

  iegp-paper --stored paper/results --check 15
"""


@app.command(help=_HELP)
def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments; all of them if none is named.")] = None,
    runs: Annotated[
        int | None, Given(help="Seeds of every method; the paper has 101 for regression, 11 for maps.")
    ] = None,
    jobs: Annotated[int, Given(help="Runs at a time, one core each.")] = 2,
    quick: Annotated[bool, Given("--quick", help="Shortened streams, few seeds: minutes instead of hours.")] = False,
    out: Annotated[str, Given("--out", "-o", help="Folder for pages, figures and finished runs.")] = "results",
    publish: Annotated[
        str | None, Given(help="A checkout of this repository: write its docs/results.md, figures and CSV files.")
    ] = None,
    finished: Annotated[
        bool, Given("--finished", help="Make no runs: write the pages from those in the cache.")
    ] = False,
    untimed: Annotated[
        bool, Given("--untimed", help="Record no times: for runs on a machine that does other work.")
    ] = False,
    check: Annotated[
        int | None, Given(help="Make so many of the stored runs again, chosen at random, and say which differ.")
    ] = None,
    stored: Annotated[
        str | None,
        Given(help="A folder of CSV files of runs, such as paper/results: those runs are not made again."),
    ] = None,
    show_list: Annotated[bool, Given("--list", help="List the experiments.")] = False,
    experiments: Annotated[str | None, Given(help="A folder of your own TOML files instead of the paper's.")] = None,
) -> None:
    from iegp_paper.command import check as run_again
    from iegp_paper.command import reproduce as run

    if check is not None:
        raise typer.Exit(run_again(check, jobs, stored, experiments))
    kept = finished, stored, not untimed
    raise typer.Exit(run(names or [], runs, jobs, quick, out, show_list, experiments, publish, *kept))


def main() -> None:
    """Run the command; print errors to standard error."""
    limit_this_process()
    report_errors(app, "iegp-paper")
