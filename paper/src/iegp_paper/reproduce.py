"""A reproduction from beginning to end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from iegp_paper import machine
from iegp_paper.cache import Cache
from iegp_paper.experiment import Experiment
from iegp_paper.pages.content import Reproduction
from iegp_paper.pages.writing import write_pages
from iegp_paper.plan import Scale, all_tasks
from iegp_paper.pool import run_all
from iegp_paper.progress import Watch
from iegp_paper.task import Outcome, Task


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
    known: Mapping[str, Outcome] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> tuple[Reproduction | None, Counts]:
    """Run what is not in the cache yet, unless ``finished``, then write the pages, also into ``published``.

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
    _run(missing, jobs, cache, outcomes, console, stopped)
    counts = Counts(cached, len(missing), sum(outcome.status == "done" for outcome in outcomes.values()))
    if stopped():
        return None, counts
    return write_pages(out, experiments, scale, outcomes, command, date, published), counts


def known_of(tasks: Sequence[Task], known: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """Select the tasks that need not run. Growth of regret is judged by lines over the rows, which are not stored."""
    judged_by_scores = [task for task in tasks if task.kind not in ("static_regret", "switching_regret")]
    return {task.digest: known[task.digest] for task in judged_by_scores if task.digest in known}


def _run(
    tasks: Sequence[Task],
    jobs: int,
    cache: Cache,
    outcomes: dict[str, Outcome],
    console: Console,
    stopped: Callable[[], bool],
) -> None:
    version = machine.commit()
    with Watch(console, len(tasks)) as watch, closing(run_all(tasks, jobs, watch.started, stopped)) as finished:
        for task, made in finished:
            outcome = replace(made, commit=version)
            cache.put(task, outcome)
            outcomes[task.digest] = outcome
            watch.finished(task, outcome)
