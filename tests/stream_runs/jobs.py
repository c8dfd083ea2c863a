"""A job fed with records directly, as if they had come through a pipe."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from iegp.cli.models import settings_of
from iegp.fleet.keyed_learner import Fleets
from iegp.preprocessing.encoder import Problem
from iegp.readers import Batch
from iegp.storage import ensemble_state as snapshot
from iegp.stream.answers import Answers
from iegp.stream.job import Job
from iegp.stream.plan import Plan
from stream_runs.models import MODELS
from stream_runs.sources import Record


def job_of(
    task: str = "regression",
    given_columns: bool = False,
    seed: int = 0,
    parameters: dict[str, Any] | None = None,
    **plan: Any,
) -> Job:
    """A job with a small model, some of its parameters changed; the target is y, the id id."""
    settings = settings_of("default", task, seed, MODELS[task] | (parameters or {}))
    return Job(Plan(**{"target": "y", "task": task, "id": "id"} | plan), settings, given_columns, Fleets())


def absorb(job: Job, records: list[Record], size: int = 1000) -> list[Answers]:
    """Batches of this size, as a reader would give them: a column is known once it has come."""
    answers: list[Answers] = []
    kinds: dict[str, bool] = {}
    for start in range(0, len(records), size):
        some = records[start : start + size]
        absorb_batch(job, some, kinds, answers)
    return answers


def absorb_batch(job: Job, records: list[Record], kinds: dict[str, bool], answers: list[Answers]) -> None:
    """One batch; ``kinds`` remembers which columns are text."""
    for record in records:
        for name, value in record.items():
            kinds.setdefault(name, name == "id" or isinstance(value, str))
    columns = {name: _column([record.get(name) for record in records], text) for name, text in kinds.items()}
    lines = np.arange(len(records))
    job.absorb(Batch(columns, lines), answers.append, refuse)


def refuse(index: int, problem: Problem) -> None:
    raise AssertionError(f"record {index}: {problem}")


def _column(values: list[Any], is_text: bool) -> NDArray[Any]:
    if not is_text:
        return np.array(values, dtype=np.float64)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def model_bits(job: Job) -> dict[str, NDArray[Any]]:
    """Every number of the model."""
    assert job.learner is not None
    return dict(snapshot.take(job.learner.model)[1])


def table(answers: list[Answers]) -> dict[str, NDArray[Any]]:
    """All answers as columns; probabilities by class, NaN before it was known."""
    found: dict[str, Any] = {"row": np.concatenate([a.row for a in answers])}
    has_classes = answers[0].has_classes
    for name in ("log_score", *(() if has_classes else ("mean", "std", "lower", "upper"))):
        found[name] = np.concatenate([a.number(name) for a in answers])
    if not has_classes:
        return found
    for label in answers[-1].classes:
        columns = [
            a.predictions.proba[:, a.classes.index(label)] if label in a.classes else np.full(len(a), np.nan)
            for a in answers
        ]
        found[f"p({label})"] = np.concatenate(columns)
    return found
