"""A run in words, for its report: model, columns, experts, settings, versions, what happened to the rows."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from iegp.cli import key_summary as by_key
from iegp.core.model import Online
from iegp.estimators.experts_table import experts_of
from iegp.preprocessing.encoder import MOST_CATEGORIES
from iegp.report import About, ExpertRow
from iegp.stream.checkpoint import Where
from iegp.stream.job import Job

_PACKAGES = ("iegp", "numpy", "scipy", "numba", "pyarrow")


def about_run(job: Job, where: Where) -> About:
    """Everything a report says besides its numbers."""
    name = "standard input" if where.source == "-" else Path(where.source).name
    return About(
        title=f"{job.plan.target} of {name}",
        source=name,
        target=job.plan.target,
        task=job.plan.task,
        model=str(where.config.get("model", "default")),
        n_columns=len(job.encoder.columns),
        experts=[] if job.learner is None else expert_rows(job.learner.model),
        config=_in_order({name: value for name, value in where.config.items() if value not in (None, (), [], {})}),
        versions=versions(),
        notes=notes(job),
    )


def _in_order(config: dict[str, Any]) -> dict[str, Any]:
    """As a model file gives it back, so that a report from there is the same."""
    ordered: dict[str, Any] = json.loads(json.dumps(config, sort_keys=True))
    return ordered


def expert_rows(model: Online) -> list[ExpertRow]:
    """Experts in the order of their weights."""
    rows = []
    for expert in experts_of(model):
        drift = "static" if expert.drift_var == 0.0 else f"{expert.drift_var:g}"
        rows.append(ExpertRow(kernel=expert.kernel.short(), drift=drift))
    return rows


def versions() -> dict[str, str]:
    return {"Python": platform.python_version()} | {name: version(name) for name in _PACKAGES}


def notes(job: Job) -> list[tuple[str, str]]:
    """What happened to rows that were not plain."""
    counters, encoder, found = job.counters, job.encoder, by_key.note(job)
    if encoder.n_filled:
        found.append(("Missing values", f"filled with the mean so far: {_by_column(encoder.n_filled)}"))
    if encoder.n_unknown:
        words = f"came after the first {encoder.n_open:,} rows, or after {MOST_CATEGORIES} others, and were not used"
        found.append(("Unknown categories or columns", f"{words}: {_by_column(encoder.n_unknown)}"))
    if counters.bad:
        found.append(("Bad records", f"{counters.bad:,} could not be used and were set aside"))
    if counters.late:
        found.append(("Late labels", f"{counters.late:,} came after their rows and were learned then"))
    if counters.duplicates:
        found.append(("Duplicate ids", f"{counters.duplicates:,} rows had an id that was there already: not learned"))
    if counters.unknown_ids:
        found.append(("Unknown ids", f"{counters.unknown_ids:,} labels belong to no row that waits: not learned"))
    if counters.unnamed:
        words = "rows had neither a label nor an id: they can never be learned; --id COLUMN says what names the rows"
        found.append(("Without a label", f"{counters.unnamed:,} {words}"))
    if job.pending.rows:
        found.append(("Waiting", f"{len(job.pending.rows):,} rows wait for their labels"))
    if job.pending.n_dropped:
        found.append(("Dropped", f"{job.pending.n_dropped:,} rows waited too long (--max-pending)"))
    return found


def _by_column(counts: dict[str, int]) -> str:
    most = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    shown = ", ".join(f"{name} {count:,}" for name, count in most[:6])
    return shown if len(most) <= 6 else f"{shown} and {len(most) - 6} more columns"


def to_config(about: About) -> dict[str, Any]:
    """Plain data, ready for JSON."""
    plain = dict(vars(about))
    plain["experts"] = [[row.kernel, row.drift] for row in about.experts]
    return plain


def from_config(config: dict[str, Any]) -> About:
    """The inverse of :func:`to_config`."""
    experts = [ExpertRow(kernel=str(kernel), drift=str(drift)) for kernel, drift in config["experts"]]
    notes = [(str(heading), str(words)) for heading, words in config["notes"]]
    about = About(**{**config, "experts": experts, "notes": notes})
    words = (about.title, about.source, about.target, about.task, about.model)
    is_good = all(isinstance(word, str) for word in words) and isinstance(about.n_columns, int)
    if not is_good or not isinstance(about.config, dict) or not isinstance(about.versions, dict):
        raise ValueError("an entry about the run is not of its kind")
    return about
