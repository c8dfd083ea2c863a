"""``iegp report``: the page of a run again, from its answers or from its model."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from iegp.cli.about import about_run, from_config, versions
from iegp.cli.flags import check_outputs, check_page
from iegp.cli.printable import printable
from iegp.errors import InputError
from iegp.fleet.keyed_learner import Fleets
from iegp.readers import is_missing
from iegp.report import About, Timing, write_report
from iegp.storage.schema import count
from iegp.stream import checkpoint
from iegp.stream.answer_reader import read_answers, read_sidecar
from iegp.stream.answer_writer import SUFFIXES
from iegp.stream.answers import Answers
from iegp.stream.digest import Digest
from iegp.stream.job import LATE
from iegp.typing import Bool, Float


def report(run: str, out: str | None) -> int:
    """Write the page; the exit code."""
    path = Path(run)
    page = Path(out) if out is not None else path.with_name(path.name + ".html")
    check_page("out", out)
    check_outputs((run,), out=str(page))
    if not path.is_file():
        raise InputError(f"{run} is not a file; name the answers of a run (--out) or its model (--save)")
    is_answers = path.suffix.lower() in SUFFIXES
    digest, about = _from_answers(path) if is_answers else _from_model(path)
    write_report(page, digest, replace(about, timing=Timing.now()))
    sys.stderr.write(f"Report: {printable(str(page))}\n")
    return 0


def _from_model(path: Path) -> tuple[Digest, About]:
    job, run_state = checkpoint.read(path, by_key=Fleets())
    return job.digest, about_run(job, run_state)


def _from_answers(path: Path) -> tuple[Digest, About]:
    """Every answer again; settings and weights from the file beside them, if it is there."""
    beside = read_sidecar(path)
    try:
        about = from_config(beside["about"]) if beside else None
        weights = _Weights(beside["weights"]) if beside else None
        times = {int(row): float(time) for row, time in beside.get("times", [])}
        level, delay = float(beside.get("level", 0.95)), count("delay", beside.get("delay", 0))
        key_field = None if beside.get("key") is None else str(beside["key"])
    except (LookupError, TypeError, ValueError) as error:
        raise InputError(f"the file beside {path} is damaged ({error!r}); remove it to do without it") from error
    digest: Digest | None = None
    known: dict[int, Float] = {}
    task = None if about is None else about.task
    for answers in read_answers(path, key_field, is_guarded=beside.get("guarded") is True):
        if digest is None:
            task = task or ("classification" if answers.has_classes else "regression")
            digest = Digest(task, level, delay)
        if times:
            seconds = np.array([times.get(row, np.nan) for row in answers.row.tolist()])
            answers = replace(answers, time=seconds)
        for part in _with_weights(answers, weights):
            _add(digest, part, known)
    task = task or "regression"
    about = about or About(f"Run of {path.name}", path.name, "label", task, "unknown", 0, versions=versions())
    return digest or Digest(task, level), about


def _add(digest: Digest, answers: Answers, known: dict[int, Float]) -> None:
    """Add answers; ``known`` holds what naive forecasts knew of the rows that have no label yet."""
    if answers.note == LATE:
        then = [known.pop(row, None) for row in answers.row.tolist()]
        # A file may have been cut at its beginning.
        naive = np.array(then) if all(values is not None for values in then) else None
        digest.add(replace(answers, naive=naive), late=True)
        return
    is_open = np.asarray(is_missing(answers.label)) & (answers.note == "")
    for start, stop in _runs(is_open):
        part = answers.part(start, stop)
        if is_open[start]:
            known.update(zip(part.row.tolist(), digest.naive(part), strict=True))
        digest.add(part)


def _runs(flags: Bool) -> list[tuple[int, int]]:
    """Begin and end of consecutive equal flags."""
    edges = [0, *(np.flatnonzero(flags[1:] != flags[:-1]) + 1).tolist(), len(flags)]
    return [(start, stop) for start, stop in pairwise(edges) if stop > start]


class _Weights:
    """Expert weights at every so many rows."""

    def __init__(self, kept: dict[str, Any]) -> None:
        self.places = {int(row): place for place, row in enumerate(kept["rows"])}
        values = np.array(kept["values"], dtype=np.float64)
        # A run without rows has no weights, and the number of experts is unknown.
        self.values = values.reshape(len(self.places), -1) if self.places else np.empty((0, 0))


def _with_weights(answers: Answers, weights: _Weights | None) -> Iterator[Answers]:
    """The answers, cut so that rows with known weights have them."""
    if weights is None or answers.note:
        yield answers
        return
    known = [index for index, row in enumerate(answers.row.tolist()) if row in weights.places]
    start = 0
    for index in known:
        if index > start:
            yield answers.part(start, index)
        place = weights.places[int(answers.row[index])]
        yield answers.part(index, index + 1, weights.values[place : place + 1])
        start = index + 1
    if start < len(answers):
        yield answers.part(start, len(answers))
