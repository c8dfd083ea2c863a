"""A run in words, for reports, summaries and ``iegp inspect``: model, columns, experts, settings, versions, keys."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from iegp.core.changes import Change as NoticedChange
from iegp.core.model import Online
from iegp.core.relevance import input_relevance
from iegp.estimators.experts_table import experts_of
from iegp.fleet.fleet import Fleet
from iegp.fleet.keyed_learner import KeyedLearner
from iegp.preprocessing.encoder import CATEGORY, CLOCK, MOST_CATEGORIES
from iegp.report import About, Change, ExpertRow, InputRow
from iegp.report.clock import date
from iegp.stream.checkpoint import RunState
from iegp.stream.job import Job

_SHOWN = 10
# Of one key's model with --model light, however many columns there are; a test compares it.
LIGHT_BYTES = 1_090_000


def fleet_of(job: Job) -> Fleet | None:
    """The models by key, if there are any yet."""
    return job.learner.fleet if isinstance(job.learner, KeyedLearner) else None


def _size_of(fleet: Fleet) -> str:
    """Size of one key's model, which is both in memory and in the checkpoint."""
    return _mebibytes(fleet.bytes_per_key)


def fleet_message(fleet: Fleet) -> str:
    """What is said when each key gets its own model: how much memory that takes, and how to take less."""
    size, many = fleet.bytes_per_key, _short(1000 * fleet.bytes_per_key / 2**30)
    words = f"From here on one model per key: {_size_of(fleet)} per key, 1,000 keys take {many} GiB"
    return words if size < 2 * LIGHT_BYTES else f"{words}; --model light takes {_mebibytes(LIGHT_BYTES)} per key"


def _key_notes(job: Job) -> list[tuple[str, str]]:
    """One line about the keys for a summary; none if all rows have one model."""
    learner, seen = job.learner, job.digest.keys
    if not isinstance(learner, KeyedLearner) or seen is None:
        return []
    if learner.fleet is None:
        words = f"all {_keys(len(seen))} share one still; each gets its own after {learner.rows_to_share:,} more labels"
    else:
        size, shared = _size_of(learner.fleet), f"{learner.model.n_seen:,} rows that all shared"
        words = f"{_keys(len(learner.fleet))} of {size} each, started from {shared}"
    return [("Models by key", words)]


def key_facts(job: Job) -> dict[str, Any]:
    """Facts about the keys for `iegp inspect`, as numbers."""
    if job.plan.key is None:
        return {}
    fleet, seen = fleet_of(job), job.digest.keys
    found: dict[str, Any] = {"key": job.plan.key, "keys seen": 0 if seen is None else len(seen)}
    if fleet is not None:
        found |= {"models": len(fleet), "bytes per key": fleet.bytes_per_key}
    busiest = [] if seen is None else seen.busiest(_SHOWN)
    return found | {"busiest keys, rows": {entry.key: entry.rows for entry in busiest}}


def _mebibytes(size: int) -> str:
    return f"{_short(size / 2**20)} MiB"


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 10.0 else f"{number:.2g}"


def _keys(n: int) -> str:
    return f"{n:,} key{'' if n == 1 else 's'}"


_PACKAGES = ("iegp", "numpy", "scipy", "numba", "pyarrow")


def about_run(job: Job, run_state: RunState) -> About:
    """Everything a report says besides its numbers."""
    name = source_name(run_state.source, len(run_state.schema.get("files", ())))
    return About(
        title=f"{job.plan.target} of {name}",
        source=name,
        target=job.plan.target,
        task=job.plan.task,
        model=str(run_state.config.get("model", "default")),
        n_columns=len(_places(job)),
        experts=[] if job.learner is None else expert_rows(job.learner.model),
        config=_in_order(used_options(run_state)),
        versions=versions(),
        notes=notes(job),
        unit=str(run_state.config.get("unit") or ""),
        inputs=[] if job.learner is None else input_rows(job, job.learner.model),
        changes=[Change(c.row, None if c.time != c.time else c.time, c.kind, c.strength) for c in job.changes],
    )


def source_name(source: str, n_files: int = 0) -> str:
    """What a source is called, the first of ``n_files`` that were read."""
    name = "standard input" if source == "-" else Path(source).name
    return name if n_files < 2 else f"{name} and {n_files - 1} more files"


def input_rows(job: Job, model: Online) -> list[InputRow]:
    """The columns of the source that are inputs, in order, then the lags of the label if there are any."""
    relevance = input_relevance(model).tolist()
    found = [
        InputRow(name, _input_kind(job, own), _gaps(job, name, own), sum(relevance[place] for place in own))
        for name, own in _places(job).items()
    ]
    offsets = ", ".join(map(str, model.inputs.lags.offsets.tolist()))
    lags = InputRow(f"earlier values of {job.plan.target}", f"lags {offsets}", 0, sum(relevance[model.n_columns :]))
    return [*found, lags] if model.inputs.n_lags else found


def _places(job: Job) -> dict[str, list[int]]:
    """Places of the encoded columns of each column of the source."""
    places: dict[str, list[int]] = {}
    for place, column in enumerate(job.encoder.columns):
        places.setdefault(column.source, []).append(place)
    return places


def _input_kind(job: Job, places: list[int]) -> str:
    kind = job.encoder.columns[places[0]].kind
    if kind == CATEGORY:
        return f"text, {len(places)} categor{'y' if len(places) == 1 else 'ies'}"
    return "time" if kind == CLOCK else kind


def _gaps(job: Job, name: str, places: list[int]) -> int:
    """Rows without a value: of text, those of no category that was there, known or not."""
    encoder, n_rows = job.encoder, job.counters.rows
    if encoder.columns[places[0]].kind == CATEGORY:
        return max(n_rows - int(encoder.sums[places].sum()) - encoder.n_unknown.get(name, 0), 0)
    return max(n_rows - int(encoder.counts[places[0]]), 0)


def used_options(run_state: RunState) -> dict[str, Any]:
    """Options of a run that were given or have a default that is not empty."""
    return {name: value for name, value in run_state.config.items() if value not in (None, "", (), [], {})}


def _in_order(config: dict[str, Any]) -> dict[str, Any]:
    """A value as a model file gives it back, so that a report from there is the same."""
    ordered: dict[str, Any] = json.loads(json.dumps(config, sort_keys=True))
    return ordered


def expert_rows(model: Online) -> list[ExpertRow]:
    """Experts in the order of their weights."""
    return [ExpertRow(kernel=expert.kernel.short(), drift=expert.speed) for expert in experts_of(model)]


def versions() -> dict[str, str]:
    return {"Python": platform.python_version()} | {name: version(name) for name in _PACKAGES}


def _change_in_words(change: NoticedChange) -> str:
    has_time = change.time == change.time  # NaN where rows have none
    return f"{change.kind} at row {change.row:,}" + (f", {date(change.time)}" if has_time else "")


def notes(job: Job) -> list[tuple[str, str]]:
    """What happened to rows that were not plain."""
    counters, encoder, found = job.counters, job.encoder, _key_notes(job)
    if counters.changes:
        shown = "; ".join(_change_in_words(change) for change in job.changes[-_SHOWN:])
        last = "the last ones: " if counters.changes > _SHOWN else ""
        found.append(("Changes noticed", f"{counters.changes:,} ({last}{shown})"))
    if missing := _missing(job):
        found.append(("Missing values", "; ".join(missing)))
    if encoder.n_unknown:
        limits = f"{MOST_CATEGORIES} others of their column, or {encoder.most_late} others after row {encoder.n_open:,}"
        words = f"came after {limits}, and were not used"
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
        rows, they = ("row", "it") if counters.unnamed == 1 else ("rows", "they")
        words = f"had neither a label nor an id: {they} can never be learned; --id COLUMN says what names the rows"
        found.append(("Without a label", f"{counters.unnamed:,} {rows} {words}"))
    if job.pending.rows:
        found.append(("Waiting", f"{len(job.pending.rows):,} rows wait for their labels"))
    if job.pending.n_dropped:
        found.append(("Dropped", f"{job.pending.n_dropped:,} rows waited too long (--max-pending)"))
    return found


def _missing(job: Job) -> list[str]:
    """What was done about values that are not there, and how many each column has."""
    found = []
    if job.encoder.n_filled:
        found.append(f"filled with the mean so far: {_by_column(job.encoder.n_filled)}")
    text = {
        name: gaps
        for name, own in _places(job).items()
        if job.encoder.columns[own[0]].kind == CATEGORY and (gaps := _gaps(job, name, own))
    }
    return [*found, f"of text, taken as no category: {_by_column(text)}"] if text else found


def _by_column(counts: dict[str, int]) -> str:
    most = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    shown = ", ".join(f"{name} {count:,}" for name, count in most[:6])
    return shown if len(most) <= 6 else f"{shown} and {len(most) - 6} more columns"


def to_config(about: About) -> dict[str, Any]:
    """Plain data, ready for JSON."""
    plain = dict(vars(about))
    # When a run was made is no part of it.
    del plain["timing"]
    plain["experts"] = [[row.kernel, row.drift] for row in about.experts]
    return plain


def from_config(config: dict[str, Any]) -> About:
    """The inverse of :func:`to_config`."""
    experts = [ExpertRow(kernel=str(kernel), drift=str(drift)) for kernel, drift in config["experts"]]
    notes = [(str(heading), str(words)) for heading, words in config["notes"]]
    inputs = [InputRow(str(n), str(kind), int(gaps), float(share)) for n, kind, gaps, share in config["inputs"]]
    changes = [
        Change(int(row), None if time is None else float(time), str(kind), float(strength))
        for row, time, kind, strength in config["changes"]
    ]
    about = About(**{**config, "experts": experts, "notes": notes, "inputs": inputs, "changes": changes})
    words = (about.title, about.source, about.target, about.task, about.model, about.unit)
    is_good = all(isinstance(word, str) for word in words) and isinstance(about.n_columns, int)
    if not is_good or not isinstance(about.config, dict) or not isinstance(about.versions, dict):
        raise ValueError("an entry about the run is not of its kind")
    return about
