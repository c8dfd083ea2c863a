"""Made-up answers to digest: as a run would give them, without running one."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from iegp.core.predictions import Predictions
from iegp.stream.answers import Answers, predictions_of
from iegp.stream.digest import Digest

CLASSES = ("ant", "bee", "cat")
TASKS = ("regression", "count", "classification", "ordinal")


def answers(task: str, n: int, *, seed: int = 0, unlabelled: float = 0.0, experts: int = 4) -> Answers:
    rng = np.random.default_rng(seed)
    made = _numbers(task, n, rng) if task in ("regression", "count") else _classes(n, rng)
    made = made.predicting(weights=rng.dirichlet(np.ones(experts), n) if n else np.zeros((0, experts)))
    return without_labels(made, rng.random(n) < unlabelled)


def _numbers(task, n, rng):
    mean = 5.0 + np.sin(np.arange(n) / 30.0) + rng.normal(size=n) * 0.1
    y = mean + rng.standard_t(5, n)
    y = rng.poisson(mean).astype(np.float64) if task == "count" else y
    std = rng.uniform(0.8, 2.5, n)
    log_score = -0.5 * ((y - mean) / std) ** 2 - np.log(std) - 0.9
    pit = rng.uniform(size=n) if task == "regression" else None
    return numbers(np.arange(n), y, log_score, mean, std, mean - 2 * std, mean + 2 * std, pit)


def numbers(row, label, log_score, mean, std, lower, upper, pit=None, **known) -> Answers:
    """Answers of numbers, column by column."""
    predicted = predictions_of(log_score, mean=mean, std=std, lower=lower, upper=upper, pit=pit)
    return Answers(predicted, row, label, **known)


def classes(row, label, log_score, *, proba, classes, weights=None) -> Answers:
    """Answers of classes, column by column."""
    return Answers(predictions_of(log_score, proba=proba, weights=weights), row, label, classes)


def _classes(n, rng):
    proba = rng.dirichlet(np.ones(len(CLASSES)), n)
    index = np.array([rng.choice(len(CLASSES), p=p) for p in proba], dtype=np.int64)
    labels = np.array([CLASSES[i] for i in index], dtype=object)
    return classes(np.arange(n), labels, np.log(proba[np.arange(n), index]), proba=proba, classes=CLASSES)


def without_labels(made: Answers, hidden) -> Answers:
    label = made.label.copy()
    label[hidden] = None if label.dtype == object else np.nan
    made = replace(made, label=label).predicting(log_score=np.where(hidden, np.nan, made.predictions.log_score))
    pit = made.number("pit")
    return made if pit is None else made.predicting(pit=np.where(hidden, np.nan, pit))


def part(made: Answers, which) -> Answers:
    """Some rows."""
    predicted = Predictions(*(values[which] if len(values) else values for values in made.predictions))
    return replace(made, predictions=predicted, row=made.row[which], label=made.label[which])


def digested(task: str, made: Answers, cuts=()) -> Digest:
    digest = Digest(task)
    ends = [0, *sorted(cuts), len(made)]
    for begin, end in pairwise(ends):
        digest.add(part(made, slice(begin, end)))
    return digest


def same_bits(a: Digest, b: Digest) -> bool:
    mine, other = a.arrays(), b.arrays()
    return (
        a.config() == b.config()
        and mine.keys() == other.keys()
        and all(
            mine[name].dtype == other[name].dtype
            and mine[name].shape == other[name].shape
            and mine[name].tobytes() == other[name].tobytes()
            for name in mine
        )
    )
