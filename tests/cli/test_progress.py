"""Progress: plain lines now and then where there is no terminal, a live line where there is one, nothing if quiet."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from stream_runs import sources
from stream_runs.jobs import absorb, job_of

from iegp.cli import progress
from iegp.cli.progress import Watcher, scores
from iegp.cli.stream import top_expert
from iegp.stream.counters import Counters


class Source:
    bytes_read, size = 5, 10


def shown(monkeypatch, terminal, quiet=False):
    job = job_of()
    absorb(job, sources.numbers(80))
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=200, markup=False)
    watcher = Watcher(job.counters, lambda: [*scores(job), top_expert(job)], quiet, console)
    monkeypatch.setattr(progress, "_PLAIN_SECONDS", 0.0)
    monkeypatch.setattr(progress, "_TERMINAL_SECONDS", 0.0)
    with watcher:
        watcher(Source())
    return text.getvalue()


def test_plain_lines_where_there_is_no_terminal(monkeypatch):
    line = shown(monkeypatch, terminal=False)
    assert line.startswith("80 rows, ")
    for words in ("rows/s", "nMSE", "95 % covers", "best expert", "RBF"):
        assert words in line
    assert "\x1b" not in line
    assert line.count("\n") == 1


def test_a_live_line_on_a_terminal(monkeypatch):
    assert "50 %" in shown(monkeypatch, terminal=True)


@pytest.mark.parametrize(("rows", "words"), [(0, "fitting settings to the first rows"), (500, "reading")])
def test_what_takes_long_before_the_first_block_is_named(rows, words):
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=80, markup=False)
    with Watcher(Counters(rows=rows), list, False, console):
        pass
    assert words in text.getvalue()


def test_nothing_if_quiet(monkeypatch):
    assert shown(monkeypatch, terminal=True, quiet=True) == ""


def test_bar_percentage_and_time_are_there_on_80_columns(monkeypatch):
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=80, markup=False)
    words = ["nMSE 0.1234", "95 % covers 95.1 %", "Matern32(length_scale=1.25) + Linear + Constant drift fast 38 %"]
    watcher = Watcher(Counters(rows=1_234_567), lambda: words, False, console)
    monkeypatch.setattr(progress, "_TERMINAL_SECONDS", 0.0)
    with watcher:
        watcher(Source())
    last = [line for line in text.getvalue().splitlines() if "50 %" in line][-1]
    for shown in ("━", "0:00:0", "1,234,567 rows", "rows/s"):
        assert shown in last
    assert "…" not in last
