"""The options of every command, one field per flag; see :mod:`iegp.cli.flags` for what is made of them.

To add a flag, add a field here and use it where the command runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from typer import Argument, Option

from iegp.cli.flags import FREE, NAMES, Options, UsageError

MODELS = ("default", "light", "ie-gp", "die-gp", "sie-gp", "dsie-gp")

Format = Annotated[str | None, Option(help="csv, tsv, jsonl or parquet, if the suffix does not say.")]
Features = Annotated[NAMES | None, Option(help="Use these columns only: a,b,c.")]
Ignore = Annotated[NAMES, Option(help="Do not use these columns: a,b,c.")]
Seed = Annotated[int, Option(help="Of the random features.")]
GuardFormulas = Annotated[
    bool, Option("--guard-formulas", help="In CSV answers, a ' before text that a spreadsheet would calculate.")
]
NaValues = Annotated[NAMES, Option(help="More words for missing values: -,n/a,-999.")]
Decimal = Annotated[str, Option(help="The decimal point of numbers in text: . or ,")]
TimeFormat = Annotated[str | None, Option(help="How it is written, as '%d.%m.%Y %H:%M'.")]
Thousands = Annotated[str, Option(help="The sign between thousands in text, as , in 1,234.")]
Overwrite = Annotated[bool, Option("--overwrite", help="Start anew even if files exist."), FREE]
Quiet = Annotated[bool, Option("--quiet", "-q", help="No progress, errors only."), FREE]


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """What runs over a source have in common: they can be stopped, and resumed from what they saved."""

    source: Annotated[str, Argument(help="A file, or - for JSON lines on standard input."), FREE]
    save: Annotated[str | None, Option(help="The model and how far the run has come, in one file."), FREE] = None
    resume: Annotated[bool, Option("--resume", help="Continue where --save left off."), FREE] = False
    overwrite: Overwrite = False
    checkpoint_every: Annotated[str, Option(help="Rows, as 5000, or seconds, as 30s."), FREE] = "10s"
    limit: Annotated[int | None, Option(help="Stop after so many rows."), FREE] = None
    quiet: Quiet = False

    @property
    def skips_bad(self) -> bool:
        """Whether records that cannot be used are set aside; else the first of them ends the run."""
        return False


@dataclass(frozen=True, kw_only=True)
class StreamOptions(RunOptions):
    """Options of ``iegp stream``; ``parameters`` are those of the model, from the configuration file alone."""

    source: Annotated[str, Argument(help="A file, a folder, a quoted pattern, or - for JSON lines from a pipe."), FREE]
    more: Annotated[list[str] | None, Argument(help="Further files, read in this order."), FREE] = None
    target: Annotated[str | None, Option("--target", "-t", help="The column to predict.")] = None
    task: Annotated[str | None, Option(help="regression, classification, count or ordinal; found if not said.")] = None
    out: Annotated[str | None, Option("--out", "-o", help="Answers: .jsonl, .csv, .parquet, or -.")] = None
    report: Annotated[str | None, Option(help="An HTML page about the run."), FREE] = None
    live: Annotated[int | None, Option(help="Serve that page on this port during the run; 0: any."), FREE] = None
    live_host: Annotated[str, Option(help="Where --live listens; 0.0.0.0 lets other machines in."), FREE] = "127.0.0.1"
    start_from: Annotated[str | None, Option(help="Continue with this model, of `iegp fit-history` or Python.")] = None
    unit: Annotated[str | None, Option(help="Unit of the target in the report, as bikes.")] = None
    model: Annotated[str, Option(help=f"{', '.join(MODELS)}.")] = "default"
    config: Annotated[str | None, Option(help="A TOML file with these options; flags win."), FREE] = None
    seed: Seed = 0
    follow: Annotated[bool, Option("--follow", help="Keep reading a growing file."), FREE] = False
    format: Format = None
    id: Annotated[str | None, Option(help="The column that names a row. [dim]\\[id, if there is one][/dim]")] = None
    key: Annotated[str | None, Option(help="One model per value of this column: a sensor, a customer.")] = None
    time: Annotated[str | None, Option(help="A column of time stamps: time of day, day of week, trend.")] = None
    time_format: TimeFormat = None
    na_values: NaValues = ()
    decimal: Decimal = "."
    thousands: Thousands = ""
    drift_per: Annotated[str, Option(help="row, or time: models drift with the time between rows.")] = "row"
    features: Features = None
    ignore: Ignore = ()
    missing: Annotated[str, Option(help="mean fills gaps with the mean so far; error refuses them.")] = "mean"
    max_pending: Annotated[int, Option(help="Rows that may wait for labels.")] = 10_000
    delay: Annotated[int, Option(help="Later rows (of the key) predicted before a row's label is known.")] = 0
    lags: Annotated[
        str | None,
        Option(help="Earlier labels as inputs: 3 (the newest), 1,2,24 (rows back), auto (seasons), none."),
    ] = None
    on_bad_row: Annotated[str, Option(help="stop, or skip and set aside."), FREE] = "stop"
    level: Annotated[float, Option(help="Of the intervals.")] = 0.95
    intervals: Annotated[str, Option(help="exact, or normal: mean ± z std, cheaper.")] = "exact"
    conformal: Annotated[str | None, Option(help="online: long-run coverage of --level, on any stream.")] = None
    classes: Annotated[NAMES, Option(help="Labels known beforehand: a,b,c.")] = ()
    classes_limit: Annotated[int, Option(help="Most classes of a target.")] = 50
    order: Annotated[NAMES | None, Option(help="Ordinal labels from lowest to highest: a,b,c.")] = None
    guard_formulas: GuardFormulas = False
    alarm: Annotated[str | None, Option(help="A file that gets a line of JSON per change of the stream."), FREE] = None
    alarm_command: Annotated[
        NAMES, Option(help="A command that gets these lines, at most once a minute: program,argument,..."), FREE
    ] = ()
    jobs: Annotated[int, Option(help="Threads."), FREE] = 1
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def skips_bad(self) -> bool:
        return self.on_bad_row == "skip"

    @property
    def sources(self) -> tuple[str, ...]:
        """All that is to be read, in order."""
        return (self.source, *(self.more or ()))


@dataclass(frozen=True, kw_only=True)
class EmbedOptions(RunOptions):
    """Options of ``iegp embed``."""

    source: Annotated[str, Argument(help="Rows of numbers: .csv, .tsv, .parquet, .jsonl, or .npz with an X."), FREE]
    out: Annotated[str, Option("--out", "-o", help="Where each row lies on the map: .csv, .parquet or .npz."), FREE]
    figure: Annotated[str | None, Option(help="A picture of the map: .png, .svg or .pdf (extra plot)."), FREE] = None
    label: Annotated[str | None, Option(help="A column that colours the picture; not learned. In .npz: y.")] = None
    features: Features = None
    ignore: Ignore = ()
    checkpoint_every: Annotated[str, Option(help="Rows, as 5000, or seconds, as 30s."), FREE] = "30s"
    components: Annotated[int | None, Option(help="Dimensions of the map. [dim]\\[2][/dim]")] = None
    warmup: Annotated[int | None, Option(help="Rows that are laid out together. [dim]\\[500][/dim]")] = None
    frequencies: Annotated[int | None, Option(help="Random frequencies per expert.")] = None
    init: Annotated[str | None, Option(help="Initial map of the warm-up rows: tsne or pca.")] = None
    max_stored: Annotated[int | None, Option(help="Most rows that are remembered. [dim]\\[all][/dim]")] = None
    stitched: Annotated[
        bool, Option("--stitched", help="The paper's map: each row from the best expert then."), FREE
    ] = False
    seed: Seed = 0


@dataclass(frozen=True, kw_only=True)
class PredictOptions(Options):
    """Options of ``iegp predict``."""

    model: Annotated[str, Argument(help="A model of `iegp stream --save`.")]
    source: Annotated[str, Argument(help="Records as in `iegp stream`; labels are not needed.")]
    more: Annotated[list[str] | None, Argument(help="Further files, read in this order.")] = None
    out: Annotated[str, Option("--out", "-o", help="Answers: .jsonl, .csv, .parquet, or -.")] = "-"
    format: Format = None
    overwrite: Annotated[bool, Option("--overwrite", help="Replace --out if it exists.")] = False
    on_bad_row: Annotated[str, Option(help="stop, or skip.")] = "stop"
    guard_formulas: GuardFormulas = False


@dataclass(frozen=True, kw_only=True)
class ForecastOptions(Options):
    """Options of ``iegp forecast``."""

    source: Annotated[str, Argument(help="Rows in order: .csv, .tsv, .jsonl or .parquet, or - for JSON lines.")]
    target: Annotated[str, Option("--target", "-t", help="The column to forecast, a number.")]
    horizon: Annotated[int, Option(help="How many rows ahead.")] = 24
    season: Annotated[str | None, Option(help="Rows per season: 24, or 24,168.")] = None
    time: Annotated[str | None, Option(help="A column of time stamps: time of day and day of week.")] = None
    time_format: TimeFormat = None
    decimal: Decimal = "."
    thousands: Thousands = ""
    key: Annotated[str | None, Option(help="One series per value of this column.")] = None
    level: Annotated[float, Option(help="Of the intervals.")] = 0.95
    out: Annotated[str, Option("--out", "-o", help="The forecasts as CSV, or -.")] = "-"
    report: Annotated[str | None, Option(help="An HTML page: forecasts, scores by horizon.")] = None
    guard_formulas: GuardFormulas = False
    format: Format = None
    seed: Seed = 0
    overwrite: Annotated[bool, Option("--overwrite", help="Replace --out and --report if they exist.")] = False
    quiet: Quiet = False


@dataclass(frozen=True, kw_only=True)
class HistoryOptions(Options):
    """Options of ``iegp fit-history``."""

    source: Annotated[str, Argument(help="Parquet files: a folder or a quoted pattern.")]
    target: Annotated[str, Option("--target", "-t", help="The column to predict, a number.")]
    save: Annotated[str, Option(help="The model; `iegp.load` brings it back.")]
    engine: Annotated[str, Option(help="local: processes on this machine; ray: a Ray cluster.")] = "local"
    workers: Annotated[int | None, Option(help="How many. [dim]\\[one per core][/dim]")] = None
    features: Features = None
    ignore: Ignore = ()
    live: Annotated[bool, Option("--live", help="Save a model that follows changes from here on.")] = False
    seed: Seed = 0
    overwrite: Annotated[bool, Option("--overwrite", help="Replace --save if it exists.")] = False
    quiet: Quiet = False


@dataclass(frozen=True, kw_only=True)
class InspectOptions(Options):
    """Options of ``iegp inspect``."""

    model: Annotated[str, Argument(help="A model of `iegp stream --save`, or saved from Python.")]
    as_json: Annotated[bool, Option("--json", help="As JSON, for programs.")] = False


@dataclass(frozen=True, kw_only=True)
class ReportOptions(Options):
    """Options of ``iegp report``."""

    run: Annotated[str, Argument(help="Answers of a run (.jsonl, .csv, .parquet), or its model.")]
    out: Annotated[str | None, Option("--out", "-o", help="The page; RUN with .html if not said.")] = None


@dataclass(frozen=True, kw_only=True)
class DemoOptions(Options):
    """Options of ``iegp demo``."""

    out: Annotated[str, Option("--out", "-o", help="Folder for figures and reports.")] = "runs/demo"
    rows: Annotated[int, Option(help="Rows of each stream.")] = 8000
    seed: Annotated[int, Option(help="Of the random features and the simulations.")] = 0


_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def parse_every(text: str) -> tuple[int | None, float | None]:
    """Rows, or a time with s, m or h behind: (rows, None) or (None, seconds).

    >>> parse_every("5000"), parse_every("30s"), parse_every("0.5s"), parse_every("2m")
    ((5000, None), (None, 30.0), (None, 0.5), (None, 120.0))
    """
    text = text.strip()
    try:
        if text[-1:] in _SECONDS:
            seconds = float(text[:-1]) * _SECONDS[text[-1]]
            if seconds > 0.0:
                return None, seconds
        else:
            rows = int(text)
            if rows > 0:
                return rows, None
    except ValueError:
        pass
    raise UsageError(f"--checkpoint-every {text!r} must be rows, as 5000, or seconds, as 30s")
