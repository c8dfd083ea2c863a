"""``iegp demo``: bike rentals and a robot arm as files through ``iegp stream`` with the untuned model; then a table."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from iegp.cli.flags import UsageError
from iegp.cli.options import StreamOptions
from iegp.cli.stream import stream
from iegp.datasets import Stream, bike_rentals, robot_arm
from iegp.datasets.bikes import hours
from iegp.estimators import IEGPRegressor
from iegp.stream import checkpoint

LEAST_ROWS = 100
COLUMNS = ("stream", "model", "nMSE", "mean log score", "95 % cover", "rows/s")


class Example(NamedTuple):
    """A stream as a file: its columns, time stamps in front if it has any, and the unit of its target."""

    data: Stream
    unit: str
    times: list[str] | None = None

    @property
    def target(self) -> str:
        return _plain_name(self.data.target_name)


class Row(NamedTuple):
    """One line of the score table."""

    stream: str
    model: str
    nmse: float
    log_score: float
    coverage: float | None
    rows_per_second: float | None


def demo(out: str, n_rows: int, seed: int) -> int:
    """Stream both, show the scores, leave answers, models and reports in the folder; the exit code."""
    if n_rows < LEAST_ROWS:
        raise UsageError(f"--rows {n_rows} is too few to say anything; give at least {LEAST_ROWS}")
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    say = Console(stderr=True, highlight=False)
    rows: list[Row] = []
    with say.status("Compiling: about a quarter of a minute the first time on a machine, then cached"):
        IEGPRegressor(n_frequencies=2, warmup=8, random_state=0).prequential(np.eye(40)[:, :2], np.arange(40.0))
    for example in (_bikes(n_rows, seed), Example(robot_arm(n_rows, noise=1.5, random_state=seed), "N m")):
        code = _through(example, folder, seed, rows)
        if code:
            return code
    _show(rows, Console(file=sys.stdout))
    (folder / "scores.md").write_text(_markdown(rows), "utf-8")
    say.print(f"Reports: {', '.join(str(path) for path in sorted(folder.glob('*.html')))}")
    return 0


def _bikes(n_rows: int, seed: int) -> Example:
    """Time stamps say the hour and the day of the week; the other columns stay."""
    data = bike_rentals(n_rows, random_state=seed)
    others = replace(data, X=data.X[:, 2:], feature_names=data.feature_names[2:])
    return Example(others, "bikes", [f"{time:%Y-%m-%d %H:%M}" for time in hours(n_rows)])


def _through(example: Example, folder: Path, seed: int, rows: list[Row]) -> int:
    """One stream as a CSV file through the command; adds its lines to the table."""
    name = example.data.name
    source, model = folder / f"{name}.csv", folder / f"{name}.model"
    _write_csv(source, example)
    options = StreamOptions(
        source=str(source),
        target=example.target,
        task="regression",
        time=None if example.times is None else "time",
        unit=example.unit,
        out=str(folder / f"{name}.jsonl"),
        save=str(model),
        report=str(folder / f"{name}.html"),
        seed=seed,
        overwrite=True,
    )
    begun = time.perf_counter()
    code = stream(options)
    seconds = time.perf_counter() - begun
    if code == 0:
        rows += _score_rows(name, model, len(example.data) / seconds)
    return code


def _write_csv(path: Path, example: Example) -> None:
    data = example.data
    names = [*map(_plain_name, data.feature_names), example.target]
    lines = [[_shortest(value) for value in line] for line in np.column_stack([data.X, data.y]).tolist()]
    if example.times is not None:
        names, lines = ["time", *names], [[at, *line] for at, line in zip(example.times, lines, strict=True)]
    path.write_text("".join(",".join(line) + "\n" for line in [names, *lines]), "utf-8")


def _shortest(value: float) -> str:
    """The shortest text that is read as the same number: 5, -0.2."""
    return str(int(value)) if value.is_integer() else repr(value)


def _plain_name(name: str) -> str:
    """A name that is easy to type: torque 1 (N m) is torque_1."""
    return "_".join(re.findall(r"[A-Za-z0-9]+", name.split("(")[0]))


def _score_rows(name: str, model: Path, rows_per_second: float) -> list[Row]:
    results = checkpoint.read(model)[0].digest.results()
    loss, log_score = results.loss, results.log_score
    return [
        Row(name, "iegp default", loss.model, log_score.model, results.coverage, rows_per_second),
        Row(name, "mean so far", loss.naive, log_score.naive, None, None),
        Row(name, "label before", loss.last, log_score.last, None, None),
    ]


def _show(rows: list[Row], console: Console) -> None:
    table = Table(
        title="Each row predicted before its label was used",
        caption="nMSE: lower is better; mean log score (log predictive density): higher is better",
    )
    for number, name in enumerate(COLUMNS):
        table.add_column(name, justify="left" if number < 2 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row))
    console.print(table)


def _cells(row: Row) -> list[str]:
    log_score = "" if np.isnan(row.log_score) else f"{row.log_score:.3f}"
    coverage = "" if row.coverage is None else f"{100 * row.coverage:.1f} %"
    speed = "" if row.rows_per_second is None else f"{row.rows_per_second:,.0f}"
    return [row.stream, row.model, f"{row.nmse:.4f}", log_score, coverage, speed]


def _markdown(rows: list[Row]) -> str:
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---|---|---:|---:|---:|---:|"]
    lines += ["| " + " | ".join(_cells(row)) + " |" for row in rows]
    return "\n".join(["# iegp demo", "", "Every row was predicted before its label was used.", "", *lines, ""])
