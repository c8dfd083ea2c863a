"""``iegp demo``: real data and a robot arm as files through ``iegp stream`` with the untuned model; then a table."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from iegp.cli.flags import UsageError
from iegp.cli.options import StreamOptions
from iegp.cli.stream import stream
from iegp.datasets import DEMO_STREAM, Stream, load_embedded, robot_arm
from iegp.estimators import IEGPRegressor
from iegp.stream import checkpoint

LEAST_ROWS = 100
COLUMNS = ("stream", "model", "nMSE", "mean log score", "95 % cover", "rows/s")


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
    with say.status("Compiling: about half a minute the first time on a machine, then cached"):
        IEGPRegressor(n_frequencies=2, warmup=8, random_state=0).prequential(np.eye(40)[:, :2], np.arange(40.0))
    for data in (load_embedded(DEMO_STREAM).head(n_rows), robot_arm(n_rows, noise=1.5, random_state=seed)):
        code = _through(data, folder, seed, rows)
        if code:
            return code
    _show(rows, Console(file=sys.stdout))
    (folder / "scores.md").write_text(_markdown(rows), "utf-8")
    say.print(f"Reports: {', '.join(str(path) for path in sorted(folder.glob('*.html')))}")
    return 0


def _through(data: Stream, folder: Path, seed: int, rows: list[Row]) -> int:
    """One stream as a CSV file through the command; adds its lines to the table."""
    source, model = folder / f"{data.name}.csv", folder / f"{data.name}.model"
    target = _plain_name(data.target_name)
    _write_csv(source, data, target)
    options = StreamOptions(
        source=str(source),
        target=target,
        task="regression",
        out=str(folder / f"{data.name}.jsonl"),
        save=str(model),
        report=str(folder / f"{data.name}.html"),
        seed=seed,
        overwrite=True,
    )
    begun = time.perf_counter()
    code = stream(options)
    seconds = time.perf_counter() - begun
    if code == 0:
        rows += _score_rows(data.name, model, len(data) / seconds)
    return code


def _write_csv(path: Path, data: Stream, target: str) -> None:
    names = [_plain_name(name) for name in data.feature_names]
    table = np.column_stack([data.X, data.y])
    np.savetxt(path, table, delimiter=",", header=",".join([*names, target]), comments="", fmt="%.17g")


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
