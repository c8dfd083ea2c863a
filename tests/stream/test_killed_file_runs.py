"""Runs over files, killed with SIGKILL and resumed: every byte is that of the run that was left alone."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from stream_runs import sources
from stream_runs.models import write_config
from stream_runs.process import Running, iegp


@dataclass
class Case:
    """A kind of run."""

    source: str
    out: str
    records: list[sources.Record]
    flags: tuple[str, ...] = ()
    task: str = "regression"
    spoiled: dict[int, str] = field(default_factory=dict)
    """Lines of the source to be replaced."""
    n_first: int | None = None
    """Of the records so many are in the source, and the others in more.csv."""

    def prepare(self, folder: Path) -> Path:
        folder.mkdir()
        path = folder / self.source
        sources.write(path, self.records[: self.n_first])
        if self.n_first is not None:
            sources.write(folder / "more.csv", self.records[self.n_first :])
        if self.spoiled:
            lines = path.read_text().splitlines()
            for number, text in self.spoiled.items():
                lines[number] = text
            path.write_text("\n".join(lines) + "\n")
        write_config(folder, self.task)
        return folder

    @property
    def command(self) -> list[str]:
        model = ["--config", "small.toml", "--save", "run.model"]
        files = [self.source] if self.n_first is None else [self.source, "more.csv"]
        return ["stream", *files, "--target", "y", "--out", self.out, *model, *self.flags]


def cases(n: int) -> dict[str, Case]:
    broken = {n // 4: "1,2", n // 3: "1,2,three", n // 2: "a,b,c,d", n - 5: ""}
    seldom, often = ("--checkpoint-every", "3000"), ("--checkpoint-every", "0.02s")
    waiting = ("--lags", "3,4,9", "--delay", "2", "--conformal", "online")
    elapsed = ("--time", "when", "--drift-per", "time", "--lags", "2")
    return {
        "csv to jsonl, by rows": Case("in.csv", "out.jsonl", sources.numbers(n), seldom),
        "csv to jsonl, by seconds": Case("in.csv", "out.jsonl", sources.numbers(n), often),
        "jsonl to csv": Case("in.jsonl", "out.csv", sources.numbers(n), often),
        "parquet to parquet": Case("in.parquet", "out.parquet", sources.numbers(n), often),
        "bad rows": Case("in.csv", "out.jsonl", sources.numbers(n), (*often, "--on-bad-row", "skip"), spoiled=broken),
        "classes": Case("in.csv", "out.csv", sources.classes(n // 3), often, "classification"),
        "late labels": Case("in.jsonl", "out.jsonl", sources.late(n // 4), (*often, "--max-pending", "25")),
        # More rows, because they are taken in larger blocks.
        "one model per key": Case(
            "in.csv", "out.csv", sources.keyed(4 * n), (*often, "--key", "sensor", "--jobs", "2")
        ),
        "text, time, gaps": Case("in.csv", "out.jsonl", sources.mixed(n // 2), (*often, "--time", "when")),
        "lags, a delay, a kept level": Case("in.csv", "out.parquet", sources.numbers(n // 2), (*often, *waiting)),
        "elapsed time": Case("in.csv", "out.jsonl", sources.mixed(n // 2), (*often, *elapsed)),
        "several files": Case("in.csv", "out.csv", sources.numbers(n), often, n_first=n // 3),
    }


SMALL = cases(9_000)
# What a run writes beside its source and its settings.
MADE = ("out.jsonl", "out.csv", "out.parquet", "run.model", "run.model.bad.jsonl")


def made(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in MADE if (folder / name).exists()}


def killed_run(folder: Path, command: list[str], seconds: float, n_kills: int, rng: np.random.Generator) -> int:
    """Kill it again and again, at most so often, then let it end; how many kills landed."""
    n_landed = 0
    for attempt in range(n_kills):
        again = ["--resume"] if attempt else []
        # Shares of the whole, so that the run comes forward but is not over before the last kill.
        n_landed += Running(folder, *command, *again).kill_after(rng.uniform(0.3, 1.3) / n_kills * seconds)
    done = iegp(folder, *command, "--resume")
    assert done.code == 0, done.err
    return n_landed


def check(case: Case, folder: Path, n_kills: int, seed: int) -> int:
    whole, cut = case.prepare(folder / "whole"), case.prepare(folder / "cut")
    begun = time.monotonic()
    done = iegp(whole, *case.command)
    seconds = time.monotonic() - begun
    assert done.code == 0, done.err
    n_landed = killed_run(cut, case.command, seconds, n_kills, np.random.default_rng(seed))
    assert made(cut).keys() == made(whole).keys()
    for name, content in made(whole).items():
        assert made(cut)[name] == content, f"{name} differs after {n_landed} kills"
    assert not list(cut.glob("*.partial.jsonl")), "what Parquet was collected in is gone"
    return n_landed


@pytest.fixture(scope="module", autouse=True)
def _fork_server_is_up(tmp_path_factory):
    """The process that all runs are forked from is up, so that the time of a run can be measured."""
    assert iegp(tmp_path_factory.mktemp("version"), "--version").code == 0


@pytest.mark.parametrize("name", SMALL)
def test_a_killed_run_ends_with_the_same_bytes(name, tmp_path):
    n_landed = check(SMALL[name], tmp_path, n_kills=3, seed=list(SMALL).index(name))
    assert n_landed >= 2, "no kill landed inside the run: give it more rows"


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_many_kills(name, tmp_path):
    """Of every kind of run, at least 7 kills in each."""
    n_landed = check(cases(60_000)[name], tmp_path, n_kills=10, seed=7)
    assert n_landed >= 7


def test_parquet_killed_while_it_is_written(tmp_path):
    """The model says that the run is over, but the answers are not yet where they belong."""
    case = SMALL["parquet to parquet"]
    whole, cut = case.prepare(tmp_path / "whole"), case.prepare(tmp_path / "cut")
    assert iegp(whole, *case.command).code == 0
    running = Running(cut, *case.command)
    while running.is_alive and not list(cut.glob(".out.parquet.*")):
        time.sleep(0.0005)
    running.kill_after(0.0)
    assert iegp(cut, *case.command, "--resume").code == 0
    assert made(cut) == made(whole)


def test_resuming_a_finished_run_changes_nothing(tmp_path):
    for name in ("parquet to parquet", "csv to jsonl, by rows", "bad rows"):
        case = SMALL[name]
        folder = case.prepare(tmp_path / name)
        assert iegp(folder, *case.command).code == 0
        before = made(folder)
        for _ in range(2):
            done = iegp(folder, *case.command, "--resume")
            assert done.code == 0, done.err
            assert made(folder) == before


def test_a_finished_parquet_run_without_its_answers_is_not_resumed(tmp_path):
    case = SMALL["parquet to parquet"]
    folder = case.prepare(tmp_path / "run")
    assert iegp(folder, *case.command, "--limit", "1024").code == 0
    before = (folder / "run.model").read_bytes()
    (folder / "out.parquet").unlink()
    done = iegp(folder, *case.command, "--resume")
    assert done.code == 1
    assert "out.parquet is gone, but the run has written 1,024 rows to it" in done.err
    assert (folder / "run.model").read_bytes() == before


def test_parquet_is_written_even_if_a_run_that_cannot_be_resumed_ends_early(tmp_path):
    lines = ["a,y", *(f"{i},{i % 7}.5" for i in range(30)), "1,2,3"]
    (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    write_config(tmp_path)
    done = iegp(tmp_path, "stream", "in.csv", "--target", "y", "--config", "small.toml", "--out", "out.parquet")
    assert done.code == 1
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 30


def test_a_finished_parquet_run_goes_on_with_a_higher_limit(tmp_path):
    case = SMALL["parquet to parquet"]
    whole, cut = case.prepare(tmp_path / "whole"), case.prepare(tmp_path / "cut")
    assert iegp(whole, *case.command, "--limit", "4096").code == 0
    for limit in ("1024", "2048", "4096"):
        done = iegp(cut, *case.command, "--limit", limit, "--resume")
        assert done.code == 0, done.err
    assert (cut / "out.parquet").read_bytes() == (whole / "out.parquet").read_bytes()
