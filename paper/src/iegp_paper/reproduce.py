"""A reproduction from beginning to end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console

from iegp_paper import machine
from iegp_paper.cache import Cache
from iegp_paper.experiment import Experiment
from iegp_paper.pages.content import Reproduction
from iegp_paper.pages.writing import write_pages
from iegp_paper.plan import Scale, all_tasks
from iegp_paper.pool import run_all
from iegp_paper.progress import Watch
from iegp_paper.provenance import JUDGED_BY_LINES
from iegp_paper.task import Outcome, Task, written

# Score of the time a run took.
TIME = "seconds"


@dataclass(frozen=True)
class Counts:
    """Numbers of runs found in the cache and made now, and how many of both have scores."""

    cached: int
    made: int
    done: int


def reproduce(
    experiments: Sequence[Experiment],
    scale: Scale,
    out: Path,
    jobs: int,
    console: Console,
    *,
    command: str,
    date: str,
    published: Path | None = None,
    finished: bool = False,
    timed: bool = True,
    known: Mapping[str, Outcome] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> tuple[Reproduction | None, Counts]:
    """Run what is not in the cache yet, unless ``finished``, then write the pages, also into ``published``.

    Runs that are not ``timed`` have no times among their scores.

    Runs that are ``known``, by the digests of their tasks, count as made, but for those that are judged by more than
    their scores; what the cache has of them goes first.
    Return None instead of them if it was stopped.
    """
    cache = Cache(out / "cache")
    tasks = all_tasks(experiments, scale)
    outcomes = known_of(tasks, known or {})
    outcomes |= {task.digest: outcome for task in tasks if (outcome := cache.get(task)) is not None}
    missing = [] if finished else [task for task in tasks if task.digest not in outcomes]
    cached = len(outcomes)
    where = "in the cache" if known is None else "in the cache or stored"
    console.print(f"{len(tasks)} runs: {cached} {where}, {len(missing)} to make", highlight=False)
    for task, made in _made(missing, jobs, console, stopped):
        outcome = made if timed else _without_time(made)
        cache.put(task, outcome)
        outcomes[task.digest] = outcome
    counts = Counts(cached, len(missing), sum(outcome.status == "done" for outcome in outcomes.values()))
    if stopped():
        return None, counts
    return write_pages(out, experiments, scale, outcomes, command, date, published), counts


def known_of(tasks: Sequence[Task], known: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """Select the tasks that need not run: not those that are judged by lines which their table lacks."""
    found = {task.digest: (task, known[task.digest]) for task in tasks if task.digest in known}
    return {key: own for key, (task, own) in found.items() if own.lines or task.kind not in JUDGED_BY_LINES}


def _made(
    tasks: Sequence[Task], jobs: int, console: Console, stopped: Callable[[], bool]
) -> Iterator[tuple[Task, Outcome]]:
    """Run tasks; yield each with its outcome and the commit that made it."""
    version = machine.commit()
    with Watch(console, len(tasks)) as watch, closing(run_all(tasks, jobs, watch.started, stopped)) as finished:
        for task, made in finished:
            outcome = replace(made, commit=version)
            watch.finished(task, outcome)
            yield task, outcome


def _without_time(outcome: Outcome) -> Outcome:
    return replace(outcome, scores={name: value for name, value in outcome.scores.items() if name != TIME})


def recheck(tasks: Sequence[Task], known: Mapping[str, Outcome], n: int, jobs: int, console: Console) -> list[str]:
    """Make n of the known runs again, chosen at random; return what differs from them, a line per run.

    Scores agree if the digits that are stored do; times are not compared.
    """
    pool = [task for task in tasks if task.digest in known]
    order = np.random.default_rng().permutation(len(pool))[:n]
    return [
        f"{task.title}: {words}"
        for task, made in _made([pool[k] for k in order], jobs, console, lambda: False)
        if (words := _difference(known[task.digest], made))
    ]


def _difference(known: Outcome, made: Outcome) -> str:
    if made.status != "done":
        return f"{made.status}, {made.note}"
    pairs = {name: (written(value), written(made.scores[name])) for name, value in known.scores.items() if name != TIME}
    return ", ".join(f"{name} {now} instead of {was}" for name, (was, now) in pairs.items() if was != now)
