"""``python -m iegp.cli.demo``: real data and a robot arm through the untuned model; a table, two figures, a report."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from iegp import IEGPRegressor
from iegp.evaluate.metrics import coverage, nmse, pnll
from iegp.evaluate.naive import running_mean
from iegp.plots import plot_run
from iegp.run.prequential import PrequentialRun
from iegp.streams import DEMO_STREAM, Stream, load_embedded, robot_arm

CHUNK = 500
# Scores start here: before, the model is still finding its scaling and hyperparameters.
SCORED_FROM = 1000
COLUMNS = ("stream", "model", "nMSE", "mean log score", "95 % cover", "rows/s")


class Row(NamedTuple):
    """One line of the score table."""

    stream: str
    model: str
    nmse: float
    log_score: float
    coverage: float
    rows_per_second: float


def stream_through(stream: Stream, model: IEGPRegressor, progress: Progress) -> tuple[PrequentialRun, float]:
    """Predict then learn every row, showing progress; returns the run and the seconds it took."""
    task = progress.add_task(stream.name, total=len(stream), score="")
    parts: list[PrequentialRun] = []
    start = time.perf_counter()
    for begin in range(0, len(stream), CHUNK):
        parts.append(model.prequential(stream.X[begin : begin + CHUNK], stream.y[begin : begin + CHUNK]))
        recent = PrequentialRun.concatenate(parts[-10:])
        progress.update(task, advance=len(parts[-1]), score=f"nMSE of the last rows {recent.nmse:.3f}")
    return PrequentialRun.concatenate(parts), time.perf_counter() - start


def score_rows(stream: Stream, run: PrequentialRun, seconds: float) -> list[Row]:
    """Our line and the naive one, over the same rows."""
    y = stream.y[SCORED_FROM:]
    start = time.perf_counter()
    naive = running_mean(stream.y, SCORED_FROM)
    naive_seconds = time.perf_counter() - start
    ours = slice(SCORED_FROM, None)
    return [
        Row(
            stream.name,
            "iegp default",
            nmse(y, run.mean[ours]),
            -pnll(run.log_score[ours]),
            coverage(y, run.lower[ours], run.upper[ours]),
            len(stream) / seconds,
        ),
        Row(
            stream.name,
            "running mean",
            nmse(y, naive.mean),
            -pnll(naive.log_score),
            coverage(y, naive.lower, naive.upper),
            len(stream) / naive_seconds,
        ),
    ]


def show(rows: list[Row], console: Console) -> None:
    table = Table(
        title=f"Scores from row {SCORED_FROM} on: each row predicted before its label was used",
        caption="nMSE: lower is better; mean log score (log predictive density): higher is better",
    )
    for number, name in enumerate(COLUMNS):
        table.add_column(name, justify="left" if number < 2 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row))
    console.print(table)


def _cells(row: Row) -> list[str]:
    speed = f"{row.rows_per_second:,.0f}" if row.rows_per_second < 1e6 else "> 1e6"
    numbers = [f"{row.nmse:.4f}", f"{row.log_score:.3f}", f"{100 * row.coverage:.1f} %", speed]
    return [row.stream, row.model, *numbers]


def draw(stream: Stream, run: PrequentialRun, model: IEGPRegressor, path: Path, zoom: tuple[int, int]) -> None:
    title, changes = f"{stream.name}: one step ahead, untuned", stream.change_points
    figure = plot_run(run, model.experts_, title=title, target=stream.target_name, changes=changes, zoom=zoom)
    figure.savefig(path, dpi=130)


def report(rows: list[Row], figures: list[Path], path: Path) -> None:
    lines = [
        "# iegp demo",
        "",
        f"Scores from row {SCORED_FROM} on; every row was predicted before its label was used.",
        "",
    ]
    lines += ["| " + " | ".join(COLUMNS) + " |", "|---|---|---:|---:|---:|---:|"]
    lines += ["| " + " | ".join(_cells(row)) + " |" for row in rows]
    lines += [""] + [f"![{figure.stem}]({figure.name})\n" for figure in figures]
    path.write_text("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/demo"), help="folder for figures and report")
    parser.add_argument("--rows", type=int, default=8000, help="rows of each stream")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.rows <= SCORED_FROM + 100:
        parser.error(f"--rows {arguments.rows}: scores start at row {SCORED_FROM}, so give more, such as 8000")
    arguments.out.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True)
    streams = [
        (load_embedded(DEMO_STREAM).head(arguments.rows), 60),
        (robot_arm(arguments.rows, noise=1.5, random_state=arguments.seed), 500),
    ]
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    rows: list[Row] = []
    figures: list[Path] = []
    with console.status("Compiling: about half a minute the first time on a machine, then cached"):
        warm = robot_arm(200, random_state=arguments.seed)
        IEGPRegressor(random_state=0).prequential(warm.X, warm.y)
    with Progress(*columns, TextColumn("{task.fields[score]}"), console=console, redirect_stdout=False) as progress:
        for stream, shown in streams:
            model = IEGPRegressor(random_state=arguments.seed, n_jobs=-1)
            run, seconds = stream_through(stream, model, progress)
            rows += score_rows(stream, run, seconds)
            middle = stream.change_points[0] if stream.change_points else len(stream) // 2
            figures.append(arguments.out / f"{stream.name}.png")
            draw(stream, run, model, figures[-1], (max(0, middle - shown), min(len(stream), middle + shown)))
    show(rows, Console(file=sys.stdout))
    report(rows, figures, arguments.out / "report.md")
    console.print(f"Report and figures: {arguments.out / 'report.md'}")


if __name__ == "__main__":
    main()
