"""The job of ``iegp stream`` as the parts of a model file, and back; an error where parts do not fit together."""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from iegp.core.changes import KINDS, Change
from iegp.core.model import Online
from iegp.preprocessing.encoder import Encoder
from iegp.storage import ensemble_state as snapshot
from iegp.storage.memory_limit import check_bytes, describe, expected_bytes
from iegp.storage.schema import count, part_of, prefixed
from iegp.stream.counters import Counters
from iegp.stream.digest import Digest
from iegp.stream.learner import AnyLearner, Learner
from iegp.stream.pending import Clock, Pending
from iegp.stream.plan import task_of
from iegp.typing import Arrays

if TYPE_CHECKING:
    from iegp.stream.job import Job

KIND = "stream"


def to_parts(job: Job) -> tuple[dict[str, Any], Arrays]:
    """Header of a model file, and its arrays."""
    learner = job.learner
    online, arrays = (None, {}) if learner is None else snapshot.take(learner.model)
    by_key, states = (None, {}) if learner is None else learner.to_parts()
    experts = None if learner is None else learner.model.experts
    pending, waiting = job.pending.to_parts(len(job.encoder.columns), experts)
    header = {
        "estimator": KIND,
        "iegp": version("iegp"),
        "online": online,
        "settings": job.settings.to_config(),
        "plan": job.plan.to_config(),
        "given_columns": job.given_columns,
        "classes": [] if learner is None else list(learner.classes),
        "encoder": job.encoder.to_config(),
        "pending": pending,
        "clocks": [] if learner is None else [[key, *clock.to_config()] for key, clock in learner.clocks.items()],
        "counters": asdict(job.counters),
        "changes": [[*change[:1], _known(change.time), *change[2:]] for change in job.changes],
        "digest": job.digest.config(),
    }
    parts: dict[str, Arrays] = {
        "by_key": states,
        "digest": job.digest.arrays(),
        "pending": waiting,
        "encoder": {"sums": job.encoder.sums, "counts": job.encoder.counts},
    }
    for name, part in parts.items():
        arrays |= prefixed(name, part)
    return header if by_key is None else header | {"by_key": by_key}, arrays


def restore(job: Job, header: dict[str, Any], arrays: Arrays) -> None:
    """Fill a new job with what :func:`to_parts` gave."""
    job.encoder = Encoder.from_config(header["encoder"], arrays["encoder.sums"], arrays["encoder.counts"])
    model = None if header["online"] is None else snapshot.restore(header["online"], arrays)
    job.pending = Pending.from_parts(header["pending"], part_of(arrays, "pending"), model)
    job.counters = Counters(**{name: count(name, value) for name, value in header["counters"].items()})
    job.changes = [_change(entry, job.counters.rows) for entry in header.get("changes", [])]
    job.digest = Digest.restore(header["digest"], part_of(arrays, "digest"))
    job.digest.check_naive(arrays["pending.naive"])
    if model is None:
        _check_not_begun(job)
        return
    job.learner = _restored_learner(job, model, header, arrays)
    _restore_clocks(job, job.learner, header["clocks"])


def _check_not_begun(job: Job) -> None:
    """Without a model there were no rows, and it begins with the first one."""
    if job.counters.rows or job.encoder.columns:
        raise ValueError(f"it has no model, but {job.counters.rows} rows were answered")
    check_bytes(expected_bytes(job.settings), describe(job.settings))


def _restored_learner(job: Job, model: Online, header: dict[str, Any], arrays: Arrays) -> AnyLearner:
    classes = tuple(str(label) for label in header["classes"])
    _check_rows(job, model)
    _check_labels(job, model, classes)
    learner = Learner(job.plan, model, classes, job.n_threads)
    if job.plan.key is None or job.by_key is None:
        return learner
    if any(waiting.key is None for waiting in job.pending.rows.values()):
        raise ValueError("a row that waits has no key")
    return job.by_key.restore(learner, header.get("by_key"), part_of(arrays, "by_key"))


def _restore_clocks(job: Job, learner: AnyLearner, config: list[Any]) -> None:
    clocks = learner.clocks
    for key, *counts in config:
        if not isinstance(key, str | None) or (key is not None and job.plan.key is None):
            raise ValueError(f"rows are counted for {key!r:.60}, which is no key")
        clocks[key] = Clock.from_config(counts)
    for waiting in job.pending.rows.values():
        if waiting.place >= clocks.get(waiting.key, clocks[None]).rows:
            raise ValueError("a row that waits has not come yet")


def _check_rows(job: Job, model: Online) -> None:
    """Rows and columns are counted in several places, which must agree: others would follow."""
    n_rows, n_experts, waiting = job.counters.rows, model.experts.ensemble.n_experts, job.pending.rows.values()
    if job.digest.last_row >= n_rows or any(row.row >= n_rows for row in waiting):
        raise ValueError(f"rows are known beyond the {n_rows} that were answered")
    if job.digest.n_experts not in (None, n_experts):
        raise ValueError(f"{n_experts} experts in the model, {job.digest.n_experts} in the digest")
    if model.n_columns != len(job.encoder.columns):
        raise ValueError(f"{model.n_columns} columns in the model, {len(job.encoder.columns)} in the encoder")
    if any(len(row.x) != model.n_columns for row in waiting):
        raise ValueError("the rows that wait have other columns than the model")


def _check_labels(job: Job, model: Online, classes: tuple[str, ...]) -> None:
    plan = job.plan
    if task_of(model.settings.likelihood) != plan.task:
        raise ValueError(f"a model with the likelihood {model.settings.likelihood!r} is none of a {plan.task}")
    if len(set(classes)) != len(classes):
        raise ValueError("a class is there twice")
    if plan.has_classes and len(classes) > model.n_outputs:
        raise ValueError(f"{len(classes)} classes for {model.n_outputs} outputs")
    if (job.digest.task, job.pending.at_most) != (plan.task, plan.max_pending) or plan.time != job.encoder.time:
        raise ValueError("its parts belong to different runs")
    if job.digest.delay != model.settings.delay:
        raise ValueError(f"labels come {model.settings.delay} rows late, in the digest {job.digest.delay}")


def _known(time: float) -> float | None:
    return None if time != time else time


def _change(entry: Any, n_rows: int) -> Change:
    """A change out of a header, if it is one."""
    row, time, kind, strength = entry
    if kind not in KINDS or not isinstance(strength, float) or not isinstance(time, float | None):
        raise ValueError(f"{entry!r:.100} is no change")
    return Change(count("the row of a change", row, high=n_rows), np.nan if time is None else time, kind, strength)
