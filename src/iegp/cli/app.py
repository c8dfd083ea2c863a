"""``iegp``: the commands and their flags.

Each command imports its module when it is called: the models are slow to import, and ``--help`` should not be.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated

import typer

from iegp._processes import limit_this_process
from iegp.cli.options import MODELS, UsageError, options_from
from iegp.errors import IegpError

app = typer.Typer(
    name="iegp",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Gaussian processes that learn from a stream: every row predicted before its label is used.",
)

Given = typer.Option


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"iegp {version('iegp')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, Given("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del version


_STREAM_HELP = """Predict every record of SOURCE, then learn it.

SOURCE is a .csv, .tsv (plain or .gz), .parquet or .jsonl file, or - for JSON lines on standard input. Answers go to
--out, one line per row; progress and messages to standard error. With --save a run can be stopped or killed at any time
and continued with --resume: no row is lost and none learned twice.

[bold]Examples[/bold]

  iegp stream sensors.csv --target power --out answers.jsonl --report report.html

  iegp stream sensors.csv --target power --time when --ignore serial --save power.model --out answers.csv

  iegp stream sensors.csv --target power --save power.model --out answers.csv --resume

  iegp stream sensors.csv --target power --key sensor --model light --save fleet.model --out answers.csv

  tail -f log.jsonl | iegp stream - --target latency --task regression --save latency.model --out -

A row without its label is answered and remembered if it has an id; a later line {"id": 7, "power": 3.2} teaches it.
"""


@app.command(help=_STREAM_HELP)
def stream(
    source: Annotated[str, typer.Argument(help="A file, or - for JSON lines on standard input.")],
    target: Annotated[str | None, Given("--target", "-t", help="The column to predict.")] = None,
    task: Annotated[str | None, Given(help="regression, classification, count or ordinal; found if not said.")] = None,
    out: Annotated[str | None, Given("--out", "-o", help="Answers: .jsonl, .csv, .parquet, or -.")] = None,
    save: Annotated[str | None, Given(help="The model and how far the run has come, in one file.")] = None,
    resume: Annotated[bool | None, Given("--resume", help="Go on where --save left off.")] = None,
    overwrite: Annotated[bool | None, Given("--overwrite", help="Start anew even if files exist.")] = None,
    checkpoint_every: Annotated[str | None, Given(help="Rows, as 5000, or seconds, as 30s. [dim]\\[10s][/dim]")] = None,
    model: Annotated[str | None, Given(help=f"{', '.join(MODELS)}. [dim]\\[default][/dim]")] = None,
    config: Annotated[str | None, Given(help="A TOML file with these options; flags win.")] = None,
    seed: Annotated[int | None, Given(help="Of the random features. [dim]\\[0][/dim]")] = None,
    limit: Annotated[int | None, Given(help="Stop after so many rows.")] = None,
    follow: Annotated[bool | None, Given("--follow", help="Keep reading a growing file.")] = None,
    format: Annotated[str | None, Given(help="csv, tsv, jsonl or parquet, if the suffix does not say.")] = None,
    report: Annotated[str | None, Given(help="An HTML page about the run.")] = None,
    id: Annotated[str | None, Given(help="The column that names a row. [dim]\\[id, if there is one][/dim]")] = None,
    key: Annotated[str | None, Given(help="One model per value of this column: a sensor, a customer.")] = None,
    time: Annotated[str | None, Given(help="A column of time stamps: time of day, day of week, trend.")] = None,
    features: Annotated[str | None, Given(help="Use these columns only: a,b,c.")] = None,
    ignore: Annotated[str | None, Given(help="Do not use these columns: a,b,c.")] = None,
    missing: Annotated[str | None, Given(help="mean fills gaps with the mean so far; error refuses them.")] = None,
    max_pending: Annotated[int | None, Given(help="Rows that may wait for labels. [dim]\\[10000][/dim]")] = None,
    on_bad_row: Annotated[str | None, Given(help="stop, or skip and set aside. [dim]\\[stop][/dim]")] = None,
    level: Annotated[float | None, Given(help="Of the intervals. [dim]\\[0.95][/dim]")] = None,
    intervals: Annotated[str | None, Given(help="exact, or normal: mean ± z std, cheaper.")] = None,
    classes: Annotated[str | None, Given(help="Labels known beforehand: a,b,c.")] = None,
    order: Annotated[str | None, Given(help="Ordinal labels from lowest to highest: a,b,c.")] = None,
    jobs: Annotated[int | None, Given(help="Threads. [dim]\\[1][/dim]")] = None,
    quiet: Annotated[bool | None, Given("--quiet", "-q", help="No progress, errors only.")] = None,
) -> None:
    flags = {name: value for name, value in locals().items() if name not in ("config", "flags")}
    options, given = options_from(flags, config)
    from iegp.cli.stream import stream as run

    raise typer.Exit(run(options, given))


@app.command()
def predict(
    model: Annotated[str, typer.Argument(help="A model of `iegp stream --save`.")],
    source: Annotated[str, typer.Argument(help="Records as in `iegp stream`; labels are not needed.")],
    out: Annotated[str, Given("--out", "-o", help="Answers: .jsonl, .csv, .parquet, or -.")] = "-",
    format: Annotated[str | None, Given(help="csv, tsv, jsonl or parquet, if the suffix does not say.")] = None,
    overwrite: Annotated[bool, Given("--overwrite", help="Replace --out if it exists.")] = False,
    on_bad_row: Annotated[str, Given(help="stop, or skip.")] = "stop",
) -> None:
    """Predict records with a saved model, which learns nothing and stays as it is.

    [bold]Example[/bold]

      iegp predict power.model tomorrow.csv --out tomorrow-answers.csv
    """
    from iegp.cli.predict import predict as run

    raise typer.Exit(run(model, source, out, format, overwrite, on_bad_row))


@app.command()
def inspect(
    model: Annotated[str, typer.Argument(help="A model of `iegp stream --save`, or saved from Python.")],
    as_json: Annotated[bool, Given("--json", help="As JSON, for programs.")] = False,
) -> None:
    """Say what a model file holds: task, rows seen, columns, experts with weights, settings, format.

    [bold]Example[/bold]

      iegp inspect power.model
    """
    from iegp.cli.inspect_model import inspect as run

    raise typer.Exit(run(model, as_json))


@app.command()
def report(
    run: Annotated[str, typer.Argument(help="Answers of a run (.jsonl, .csv, .parquet), or its model.")],
    out: Annotated[str | None, Given("--out", "-o", help="The page; RUN with .html if not said.")] = None,
) -> None:
    """Write the report of a run again, from its answers or from its model.

    [bold]Example[/bold]

      iegp report answers.jsonl --out report.html
    """
    from iegp.cli.report import report as write

    raise typer.Exit(write(run, out))


@app.command(name="fit-history")
def fit_history(
    source: Annotated[str, typer.Argument(help="Parquet files: a folder or a quoted pattern.")],
    target: Annotated[str, Given("--target", "-t", help="The column to predict, a number.")],
    save: Annotated[str, Given(help="The model; `iegp.load` brings it back.")],
    engine: Annotated[str, Given(help="local: processes on this machine; ray: a Ray cluster.")] = "local",
    workers: Annotated[int | None, Given(help="How many. [dim]\\[one per core][/dim]")] = None,
    features: Annotated[str | None, Given(help="Use these columns only: a,b,c.")] = None,
    ignore: Annotated[str | None, Given(help="Do not use these columns: a,b,c.")] = None,
    live: Annotated[bool, Given("--live", help="Save a model that follows changes from here on.")] = False,
    seed: Annotated[int, Given(help="Of the random features.")] = 0,
    overwrite: Annotated[bool, Given("--overwrite", help="Replace --save if it exists.")] = False,
    quiet: Annotated[bool, Given("--quiet", "-q", help="No progress, errors only.")] = False,
) -> None:
    """Learn years of Parquet files in parallel, exactly as if one process had read them in order.

    The model is static; with --live it then becomes one that follows a stream, started from all that was learned.

    [bold]Examples[/bold]

      iegp fit-history 'history/*.parquet' --target power --save power.model

      iegp fit-history history --target power --engine ray --live --save power.model
    """
    flags = dict(locals())
    from iegp.cli.fit_history import HistoryOptions, learn_history

    raise typer.Exit(learn_history(HistoryOptions(**flags)))


@app.command()
def embed(
    source: Annotated[str, typer.Argument(help="Rows of numbers: .csv, .tsv, .parquet, .jsonl, or .npz with an X.")],
    out: Annotated[str, Given("--out", "-o", help="Where each row lies on the map: .csv, .parquet or .npz.")],
    figure: Annotated[str | None, Given(help="A picture of the map: .png, .svg or .pdf (extra plot).")] = None,
    label: Annotated[str | None, Given(help="A column that colours the picture; not learned. In .npz: y.")] = None,
    features: Annotated[str | None, Given(help="Use these columns only: a,b,c.")] = None,
    ignore: Annotated[str | None, Given(help="Do not use these columns: a,b,c.")] = None,
    save: Annotated[str | None, Given(help="The model and how far it has come; iegp.load reads it.")] = None,
    resume: Annotated[bool, Given("--resume", help="Go on where --save left off.")] = False,
    overwrite: Annotated[bool, Given("--overwrite", help="Start anew even if files exist.")] = False,
    checkpoint_every: Annotated[str, Given(help="Rows, as 5000, or seconds, as 30s.")] = "30s",
    components: Annotated[int | None, Given(help="Dimensions of the map. [dim]\\[2][/dim]")] = None,
    warmup: Annotated[int | None, Given(help="Rows that are laid out together. [dim]\\[500][/dim]")] = None,
    frequencies: Annotated[int | None, Given(help="Random frequencies per expert.")] = None,
    init: Annotated[str | None, Given(help="First picture of the warm-up rows: tsne or pca.")] = None,
    max_stored: Annotated[int | None, Given(help="Most rows that are remembered. [dim]\\[all][/dim]")] = None,
    stitched: Annotated[bool, Given("--stitched", help="The paper's map: each row from the best expert then.")] = False,
    limit: Annotated[int | None, Given(help="Stop after so many rows.")] = None,
    seed: Annotated[int, Given(help="Of the random features.")] = 0,
    quiet: Annotated[bool, Given("--quiet", "-q", help="No progress, errors only.")] = False,
) -> None:
    """Lay the rows of SOURCE out on a map that keeps learning (IE-GPLVM), one row after the other.

    [bold]Examples[/bold]

      iegp embed readings.csv --label machine --out map.csv --figure map.png --save map.model

      iegp embed digits.npz --label y --out digits.parquet --figure digits.png
    """
    flags = dict(locals())
    from iegp.cli.embed import EmbedOptions
    from iegp.cli.embed import embed as run

    raise typer.Exit(run(EmbedOptions(**flags)))


@app.command()
def demo(
    out: Annotated[str, Given("--out", "-o", help="Folder for figures and reports.")] = "runs/demo",
    rows: Annotated[int, Given(help="Rows of each stream.")] = 8000,
    seed: Annotated[int, Given(help="Of the random features and the robot.")] = 0,
) -> None:
    """Stream real data and a robot arm that picks up a load through the untuned model; nothing to download.

    [bold]Example[/bold]

      iegp demo
    """
    from iegp.cli.demo import demo as run

    raise typer.Exit(run(out, rows, seed))


_GO_ON = "go on with the same command and --resume if the run has a --save"
_NO_SPACE = f"; make room, then {_GO_ON}"
_REMEDIES = {
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
    errno.EFBIG: _NO_SPACE,
    errno.EACCES: "; choose another place, or change its permissions",
    errno.EROFS: "; choose another place",
    errno.EIO: f"; the disk or the network may be at fault: once it works again, {_GO_ON}",
    errno.EINTR: f"; {_GO_ON}",
}


def main() -> None:
    """Run the command; errors are words on standard error."""
    limit_this_process()
    report_errors(app, "iegp")


def report_errors(command: Callable[[], object], name: str) -> None:
    """Run a command with errors in words instead of tracebacks: exit code 2 for usage, 1 for a run that failed."""
    try:
        command()
    except UsageError as error:
        _fail(name, str(error), 2)
    except IegpError as error:
        _fail(name, str(error), 1)
    except BrokenPipeError:
        # The reader of standard output is gone; nothing more can be written there, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _fail(name, "standard output was closed", 1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(name, f"{where}{error.strerror or error}{_REMEDIES.get(error.errno or 0, '')}", 1)


def _fail(name: str, message: str, code: int) -> None:
    sys.stderr.write(f"{name}: {message}\n")
    sys.exit(code)
