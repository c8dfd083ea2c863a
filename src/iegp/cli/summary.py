"""After a run: Parquet, the file beside the answers, the report, and a summary in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console

from iegp.cli import about as abouts
from iegp.cli import key_summary as by_key
from iegp.cli.options import StreamOptions
from iegp.cli.progress import scores
from iegp.estimators.experts_table import experts_of
from iegp.report import write_report
from iegp.stream.checkpoint import Where
from iegp.stream.job import Job
from iegp.stream.parquet_out import finish_parquet, spool_of
from iegp.stream.sidecar import write_sidecar


def finish(options: StreamOptions, job: Job, where: Where) -> None:
    """Write what can only be written at the end of a run."""
    about = abouts.about_run(job, where)
    if where.out not in (None, "-"):
        out = Path(where.out or "")
        # A run that cannot be resumed is over, whatever ended it.
        if where.is_finished or options.save is None:
            finish_parquet(out, job.plan.key_field)
        weights = job.digest.results().weights
        kept = {"rows": weights.row.tolist(), "step": weights.step, "values": np.round(weights.values, 6).tolist()}
        beside = {"about": abouts.to_config(about), "level": job.plan.level, "weights": kept}
        write_sidecar(out, beside | ({} if job.plan.key is None else {"key": job.plan.key_field}))
    if options.report is not None:
        write_report(options.report, job.digest, about)


def _answers_of(options: StreamOptions) -> str | None:
    """Where the answers lie: Parquet is written when the run is over."""
    if options.out in (None, "-") or Path(options.out or "").exists():
        return options.out
    return f"{spool_of(Path(options.out or ''))} until the run is over"


def top_expert(job: Job) -> str:
    """The most trusted expert in a few words; how many keys there are, if each has its own."""
    if job.learner is None:
        return "no expert yet"
    fleet = by_key.fleet_of(job)
    if fleet is not None:
        return f"{len(fleet):,} keys"
    best = max(experts_of(job.learner.model), key=lambda expert: expert.weight)
    drift = "static" if best.drift_var == 0.0 else f"drift {best.drift_var:g}"
    return f"{best.kernel.short()} {drift} {100 * best.weight:.0f} %"


def print_summary(options: StreamOptions, job: Job, say: Console, was_stopped: bool) -> None:
    """What was done, and where it lies."""
    counters = job.counters
    verb = "Stopped after" if was_stopped else "Done:"
    say.print(", ".join([f"{verb} {counters.rows:,} rows", f"{counters.learned:,} learned", *scores(job)]))
    for heading, words in abouts.notes(job):
        say.print(f"{heading}: {words}")
    places = [("Answers", _answers_of(options)), ("Model", options.save), ("Report", options.report)]
    for what, place in places:
        if place not in (None, "-"):
            say.print(f"{what}: {place}")
    if was_stopped and options.save is not None:
        say.print("Go on with the same command and --resume")
