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
from iegp.cli.flags import UsageError, command
from iegp.cli.options import (
    DemoOptions,
    EmbedOptions,
    ForecastOptions,
    HistoryOptions,
    InspectOptions,
    PredictOptions,
    ReportOptions,
    StreamOptions,
)
from iegp.cli.printable import printable
from iegp.errors import IegpError

app = typer.Typer(
    name="iegp",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    help="Gaussian processes that learn from a stream: every row predicted before its label is used.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"iegp {version('iegp')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", metavar="", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del version


# A paragraph is one line, which terminals of every width break where they must.
_STREAM_HELP = """Predict every record of SOURCE, then learn it.

SOURCE is a .csv, .tsv (plain or .gz), .parquet or .jsonl file, a folder or a quoted pattern of such files, several of \
them, which are read in order, or - for JSON lines on standard input. Answers go to --out, one line per row; progress \
and messages to standard error. With --save a run can be stopped or killed at any time and continued with --resume: no \
row is lost and none learned twice.

[bold]Examples[/bold]

  iegp stream sensors.csv --target power --out answers.jsonl --report report.html

  iegp stream sensors.csv --target power --time when --ignore serial --save power.model --out answers.csv

  iegp stream sensors.csv --target power --save power.model --out answers.csv --resume

  iegp stream sensors.csv --target power --key sensor --model light --save fleet.model --out answers.csv

  tail -f log.jsonl | iegp stream - --target latency --task regression --save latency.model --out -

A row without its label is answered and remembered if it has an id; a later {"id": 7, "power": 3.2} completes it.
"""


@app.command(help=_STREAM_HELP)
@command(StreamOptions)
def stream(options: StreamOptions) -> int:
    from iegp.cli.stream import stream

    return stream(options)


@app.command()
@command(PredictOptions)
def predict(options: PredictOptions) -> int:
    """Predict records with a saved model, which learns nothing and stays as it is.

    [bold]Example[/bold]

      iegp predict power.model tomorrow.csv --out tomorrow-answers.csv
    """
    from iegp.cli.predict import predict

    return predict(options)


@app.command()
@command(ForecastOptions)
def forecast(options: ForecastOptions) -> int:
    """Forecast the next rows of a series, or of many, and score the forecasts from every earlier row.

    [bold]Examples[/bold]

      iegp forecast power.csv --target load --time when --horizon 24 --season 24,168 --report forecast.html

      iegp forecast shops.csv --target sales --key shop --horizon 14 --season 7 --out next.csv
    """
    from iegp.cli.forecast import forecast

    return forecast(options)


@app.command()
@command(InspectOptions)
def inspect(options: InspectOptions) -> int:
    """Say what a model file holds: task, rows seen, columns, experts with weights, settings, format.

    [bold]Example[/bold]

      iegp inspect power.model
    """
    from iegp.cli.inspect_model import inspect

    return inspect(options.model, options.as_json)


@app.command()
@command(ReportOptions)
def report(options: ReportOptions) -> int:
    """Write the report of a run again, from its answers or from its model.

    [bold]Example[/bold]

      iegp report answers.jsonl --out report.html
    """
    from iegp.cli.report import report

    return report(options.run, options.out)


@app.command(name="fit-history")
@command(HistoryOptions)
def fit_history(options: HistoryOptions) -> int:
    """Learn years of Parquet files in parallel, exactly as if one process had read them in order.

    The model is static; with --live it then becomes one that follows a stream, started from all that was learned.

    [bold]Examples[/bold]

      iegp fit-history 'history/*.parquet' --target power --save power.model

      iegp fit-history history --target power --engine ray --live --save power.model
    """
    from iegp.cli.fit_history import learn_history

    return learn_history(options)


@app.command()
@command(EmbedOptions)
def embed(options: EmbedOptions) -> int:
    """Lay the rows of SOURCE out on a map that keeps learning (IE-GPLVM), one row after the other.

    [bold]Examples[/bold]

      iegp embed readings.csv --label machine --out map.csv --figure map.png --save map.model

      iegp embed digits.npz --label y --out digits.parquet --figure digits.png
    """
    from iegp.cli.embed import embed

    return embed(options)


@app.command()
@command(DemoOptions)
def demo(options: DemoOptions) -> int:
    """Stream hourly bike rentals and a robot arm that picks up a load through the untuned model; both are simulated.

    [bold]Example[/bold]

      iegp demo
    """
    from iegp.cli.demo import demo

    return demo(options.out, options.rows, options.seed)


@app.command(name="compile")
def compile_functions() -> None:
    """Compile everything for this machine, with progress: first calls are then quick. For images and CI.

    Compiled code is kept beside the package, or in the folder NUMBA_CACHE_DIR.

    [bold]Example[/bold]

      iegp compile
    """
    from iegp.cli.compiling import compile_all

    raise typer.Exit(compile_all())


_CONTINUE = "continue with the same command and --resume if the run has a --save"
_NO_SPACE = f"; free some space, then {_CONTINUE}"
_REMEDIES = {
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
    errno.EFBIG: _NO_SPACE,
    errno.EACCES: "; choose another place, or change its permissions",
    errno.EROFS: "; choose another place",
    errno.EIO: f"; the disk or the network may be at fault: once it works again, {_CONTINUE}",
    errno.EINTR: f"; {_CONTINUE}",
    errno.EBADF: "; standard input or output was closed when the command started",
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
        _fail(name, "standard output was closed", 1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(name, f"{where}{error.strerror or error}{_REMEDIES.get(error.errno or 0, '')}", 1)


def _fail(name: str, message: str, code: int) -> None:
    sys.stderr.write(f"{name}: {printable(message)}\n")
    try:
        sys.stdout.flush()
    except OSError:
        # Its reader is gone, or the disk is full: what is left cannot be written, and must not be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
